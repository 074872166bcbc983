//! Logins against a small double: when one is made, with what, and what is said when it fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::tenancy::facts::EntryFact;
use domain::tenancy::failure::Class;
use secrecy::SecretString;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::double::json;
use super::fixture::{
    LOGIN, answering, by_kubernetes, by_token, file, login, nothing, owner, settings,
};
use super::{Auth, OpenBao};

#[tokio::test]
async fn every_request_carries_token_and_namespace_and_a_login_carries_no_token() {
    let double = answering(|asked| {
        Some(if asked.line == LOGIN {
            login("s.fresh", 3600)
        } else {
            nothing()
        })
    });
    let bao = by_kubernetes(&double, file("header", "jwt-1\n"));
    assert_eq!(
        bao.read("base/ns/name").await.ok().unwrap().fact,
        EntryFact::Absent
    );
    assert!(bao.token_expiry().is_some());
    for asked in double.asked() {
        assert_eq!(
            asked.header("x-vault-namespace"),
            Some("team-a"),
            "{}",
            asked.line
        );
        assert_eq!(asked.header("x-vault-request"), Some("true"));
        let token = if asked.line == LOGIN {
            None
        } else {
            Some("s.fresh")
        };
        assert_eq!(asked.header("x-vault-token"), token, "{}", asked.line);
    }
    let body: serde_json::Value = serde_json::from_str(&double.asked()[0].body).unwrap();
    assert_eq!(body, json!({"role": "tenantry", "jwt": "jwt-1"}));
}

#[tokio::test]
async fn case_40_and_41_a_refused_token_leads_to_one_login_with_the_file_as_it_is_now() {
    let path = file("rotate", "jwt-1");
    let double = answering(|asked| {
        Some(match asked.line.as_str() {
            LOGIN if asked.body.contains("jwt-1") => login("s.old", 3600),
            LOGIN => login("s.new", 3600),
            _ if asked.header("x-vault-token") == Some("s.old") => {
                json(403, &json!({"errors": ["permission denied"]}))
            }
            _ => nothing(),
        })
    });
    let bao = by_kubernetes(&double, path.clone());
    // The first login is made with the old file; its token is refused later on.
    let refused = bao.read("base/ns/name").await.err().unwrap();
    assert_eq!(refused.class, Class::Authentication);
    assert_eq!(
        double.count(LOGIN),
        2,
        "a login, and one more after the refusal"
    );
    let fresh = by_kubernetes(&double, path.clone());
    fresh.read("base/ns/name").await.err().unwrap();
    std::fs::write(&path, "jwt-2").unwrap();
    let bao = by_kubernetes(&double, path);
    assert_eq!(
        bao.read("base/ns/name").await.ok().unwrap().fact,
        EntryFact::Absent
    );
    assert_eq!(
        double.asked().last().unwrap().header("x-vault-token"),
        Some("s.new")
    );
}

#[tokio::test]
async fn case_40_a_missing_right_is_named_and_causes_no_storm_of_logins() {
    let double = answering(|asked| {
        Some(if asked.line == LOGIN {
            login("s.x", 3600)
        } else {
            json(403, &json!({"errors": ["permission denied"]}))
        })
    });
    let bao = by_kubernetes(&double, file("storm", "jwt"));
    for _ in 0..20 {
        let failure = bao.read("base/ns/name").await.err().unwrap();
        assert_eq!(failure.class, Class::Authentication);
        assert!(failure.text.contains("policy"), "{failure}");
    }
    assert_eq!(double.count(LOGIN), 2);
}

#[tokio::test]
async fn many_callers_wait_for_one_login() {
    let double = answering(|asked| {
        Some(if asked.line == LOGIN {
            login("s.x", 3600)
        } else {
            nothing()
        })
    });
    let bao = Arc::new(by_kubernetes(&double, file("many", "jwt")));
    let reads: Vec<_> = (0..50)
        .map(|_| {
            tokio::spawn({
                let bao = Arc::clone(&bao);
                async move { bao.read("base/ns/name").await.is_ok() }
            })
        })
        .collect();
    for read in reads {
        assert!(read.await.unwrap());
    }
    assert_eq!(double.count(LOGIN), 1);
}

#[tokio::test]
async fn a_login_is_renewed_before_it_ends_and_the_old_one_serves_while_renewal_fails() {
    let logins = AtomicUsize::new(0);
    let double = answering(move |asked| {
        Some(match asked.line.as_str() {
            LOGIN if logins.fetch_add(1, Ordering::SeqCst) == 0 => login("s.short", 3),
            LOGIN => json(503, &json!({"errors": ["sealed"]})),
            _ => nothing(),
        })
    });
    let bao = by_kubernetes(&double, file("renew", "jwt"));
    assert!(bao.read("base/ns/name").await.is_ok());
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert!(
        bao.read("base/ns/name").await.is_ok(),
        "two thirds are over, the login is still good"
    );
    assert_eq!(double.count(LOGIN), 2, "it was tried to renew it");
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let failure = bao.read("base/ns/name").await.err().unwrap();
    assert_eq!(failure.class, Class::Unavailable, "{failure}");
}

#[tokio::test]
async fn an_unreadable_or_illegal_token_file_is_named_and_nothing_is_sent() {
    let double = answering(|_| Some(nothing()));
    let missing = by_kubernetes(&double, PathBuf::from("/nowhere/token"))
        .read("a")
        .await
        .err()
        .unwrap();
    assert_eq!(missing.class, Class::Authentication);
    assert!(missing.text.contains("/nowhere/token"), "{missing}");
    let auth = Auth::Token {
        file: file("illegal", "line\nline"),
    };
    let illegal = OpenBao::new(settings(&double, auth))
        .unwrap()
        .read("a")
        .await
        .err()
        .unwrap();
    assert_eq!(illegal.class, Class::Authentication);
    assert!(!illegal.text.contains("line"), "{illegal}");
    assert!(double.asked().is_empty());
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn c5_h34_no_log_at_any_level_shows_a_token_a_password_or_a_servers_text() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // For the whole process: a subscriber of one thread misses what others have registered as unwanted.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let double = answering(|asked| {
        Some(match asked.line.as_str() {
            LOGIN => login("s.secret-token", 3600),
            line if line.starts_with("POST") => json(400, &json!({"errors": ["a servers text"]})),
            _ => json(
                200,
                &json!({"data": {"data": {"password": "secret-password"}, "metadata": {"version": "wrong"}}}),
            ),
        })
    });
    let bao = by_kubernetes(&double, file("log", "secret-jwt"));
    let read = bao.read("base/ns/name").await.err().unwrap();
    let created = bao
        .create(
            "base/ns/name",
            &owner(),
            &SecretString::from("secret-password"),
        )
        .await
        .unwrap_err();
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        log.contains("logged in to OpenBao"),
        "the log is caught: {log}"
    );
    for text in [log, read.text, created.text] {
        for secret in [
            "secret-token",
            "secret-password",
            "secret-jwt",
            "a servers text",
        ] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[tokio::test]
async fn the_end_of_a_token_from_a_file_is_asked_for_and_may_stay_unknown() {
    let answers = [
        (200, json!({"data": {"id": "s.token", "ttl": 3600}}), true),
        (200, json!({"data": {"id": "s.token", "ttl": 0}}), false),
        (403, json!({"errors": ["permission denied"]}), false),
    ];
    for (status, body, known) in answers {
        let double = answering(move |asked| {
            Some(if asked.line == "GET /v1/auth/token/lookup-self" {
                json(status, &body)
            } else {
                nothing()
            })
        });
        let bao = by_token(&double, "ends");
        assert_eq!(bao.token_expiry(), None, "before the first login");
        let read = bao.read("base/ns/name").await.ok().unwrap();
        assert_eq!(read.fact, EntryFact::Absent);
        assert_eq!(bao.token_expiry().is_some(), known, "{status}");
    }
}
