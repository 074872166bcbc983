//! The client against a small double: what OpenBao itself does not do on demand (redirects, long and foreign answers, hangs).
//! What it does is tested against the real one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use domain::tenancy::facts::{EntryFact, EntryOwner};
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;
use secrecy::SecretString;
use serde_json::json;

use super::double::{Asked, Double, Reply, install_provider, json};
use super::{Auth, OpenBao, OpenBaoSettings};

const MOUNT: &str = "GET /v1/sys/internal/ui/mounts/secret";
const DATA: &str = "GET /v1/secret/data/base/ns/name";
const LOGIN: &str = "POST /v1/auth/kubernetes/login";

fn mount(version: &str) -> Reply {
    json(
        200,
        &json!({"data": {"type": "kv", "options": {"version": version}}}),
    )
}

fn nothing() -> Reply {
    json(404, &json!({"errors": []}))
}

fn login(token: &str, lease: u32) -> Reply {
    json(
        200,
        &json!({"auth": {"client_token": token, "lease_duration": lease}}),
    )
}

fn owner() -> EntryOwner {
    EntryOwner {
        tenant_uid: Uid::new("t-1"),
        instance_uid: Uid::new("i-1"),
        instance_name: "shared".to_owned(),
        database: "netbox".to_owned(),
        role: "netbox".to_owned(),
    }
}

/// A file of this test alone.
fn file(name: &str, content: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tenantry-openbao-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

fn settings(double: &Double, auth: Auth) -> OpenBaoSettings {
    install_provider();
    OpenBaoSettings {
        address: double.address.clone(),
        namespace: Some("team-a".to_owned()),
        ca_file: None,
        mount: "secret".to_owned(),
        auth,
        timeout: Duration::from_millis(500),
    }
}

fn by_token(double: &Double, name: &str) -> OpenBao {
    OpenBao::new(settings(
        double,
        Auth::Token {
            file: file(name, "s.token\n"),
        },
    ))
    .unwrap()
}

fn by_kubernetes(double: &Double, token_file: PathBuf) -> OpenBao {
    let auth = Auth::Kubernetes {
        mount: "kubernetes".to_owned(),
        role: "tenantry".to_owned(),
        token_file,
    };
    OpenBao::new(settings(double, auth)).unwrap()
}

/// A double whose mount is right, with this answer to every other request.
fn answering(reply: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Double {
    Double::start(move |asked| {
        if asked.line == MOUNT {
            Some(mount("2"))
        } else {
            reply(asked)
        }
    })
}

#[tokio::test]
async fn h34_a_redirect_is_not_followed_with_the_token() {
    let elsewhere = Double::start(|_| Some(nothing()));
    let target = elsewhere.address.clone();
    let double = answering(move |asked| {
        Some(Reply(
            307,
            format!(
                "Location: {target}{}\r\n",
                asked.line.rsplit(' ').next().unwrap()
            ),
            Vec::new(),
        ))
    });
    let failure = by_token(&double, "redirect")
        .read("base/ns/name")
        .await
        .err()
        .unwrap();
    assert_eq!(failure.class, Class::Unavailable);
    assert!(failure.text.contains("redirect"), "{failure}");
    assert!(
        elsewhere.asked().is_empty(),
        "the other host was never asked"
    );
    assert_eq!(double.count(DATA), 1);
}

#[tokio::test]
async fn h34_an_answer_of_ten_megabytes_is_not_read_to_its_end() {
    let double = answering(|_| Some(Reply(200, String::new(), vec![b' '; 10 * 1024 * 1024])));
    let failure = by_token(&double, "long")
        .read("base/ns/name")
        .await
        .err()
        .unwrap();
    assert_eq!(failure.class, Class::Unavailable);
    assert!(failure.text.contains("too long"), "{failure}");
}

#[tokio::test]
async fn h34_h38_html_and_wrong_forms_are_unavailable_and_their_text_is_not_repeated() {
    for body in [
        "<html>password=hunter2</html>",
        "{\"data\":{\"data\":{},\"metadata\":{\"version\":\"x\"}}}",
        "",
        "[]",
    ] {
        for status in [200, 404, 503] {
            let double =
                answering(move |_| Some(Reply(status, String::new(), body.as_bytes().to_vec())));
            let failure = by_token(&double, "html")
                .read("base/ns/name")
                .await
                .err()
                .unwrap();
            let class = if status == 404 {
                Class::Misconfigured
            } else {
                Class::Unavailable
            };
            assert_eq!(failure.class, class, "{status} {body}");
            assert!(
                !failure.text.contains("hunter2") && !failure.text.contains("s.token"),
                "{failure}"
            );
        }
    }
}

#[tokio::test]
async fn a_hanging_server_is_unavailable_after_the_deadline() {
    let double = answering(|_| None);
    let start = Instant::now();
    let failure = by_token(&double, "hang")
        .read("base/ns/name")
        .await
        .err()
        .unwrap();
    assert_eq!(failure.class, Class::Unavailable);
    assert!(failure.text.contains("in time"), "{failure}");
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn d9_a_kv_v1_mount_is_refused_before_anything_is_written() {
    for answer in [
        json!({"data": {"type": "kv", "options": {"version": "1"}}}),
        json!({"data": {"type": "kv", "options": null}}),
    ] {
        let double = Double::start(move |asked| {
            Some(if asked.line == MOUNT {
                json(200, &answer)
            } else {
                nothing()
            })
        });
        let bao = by_token(&double, "v1");
        let failure = bao
            .create("base/ns/name", &owner(), &SecretString::from("pw"))
            .await
            .unwrap_err();
        assert_eq!(failure.class, Class::Misconfigured);
        assert!(failure.text.contains("version 2"), "{failure}");
        assert_eq!(double.asked().len(), 1, "only the mount was asked for");
    }
}

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
async fn d9_any_400_on_the_write_means_read_back_and_a_lost_answer_is_unavailable() {
    let refused = answering(|_| Some(json(400, &json!({"errors": ["whatever a server says"]}))));
    let failure = by_token(&refused, "cas")
        .create("base/ns/name", &owner(), &SecretString::from("pw"))
        .await
        .unwrap_err();
    assert_eq!(failure.class, Class::Stale);
    let silent = answering(|_| None);
    let failure = by_token(&silent, "lost")
        .create("base/ns/name", &owner(), &SecretString::from("pw"))
        .await
        .unwrap_err();
    assert_eq!(failure.class, Class::Unavailable);
    assert_eq!(
        silent.count("POST /v1/secret/data/base/ns/name"),
        1,
        "a write is never repeated blindly"
    );
}

#[tokio::test]
async fn a_write_that_names_no_version_is_not_taken_for_one() {
    let double = answering(|_| Some(Reply(204, String::new(), Vec::new())));
    let failure = by_token(&double, "noversion")
        .create("base/ns/name", &owner(), &SecretString::from("pw"))
        .await
        .unwrap_err();
    assert_eq!(failure.class, Class::Unavailable, "{failure}");
}

#[tokio::test]
async fn path_segments_are_percent_encoded_and_folding_ones_refused() {
    let double = answering(|_| Some(nothing()));
    let bao = by_token(&double, "path");
    bao.read("base/a b?x#y%/ü").await.ok().unwrap();
    assert_eq!(
        double.asked()[1].line,
        "GET /v1/secret/data/base/a%20b%3Fx%23y%25/%C3%BC"
    );
    let before = double.asked().len();
    for path in ["", "a//b", "../sys/x", "a/./b", "a/..", "a\n"] {
        assert_eq!(
            bao.read(path).await.err().unwrap().class,
            Class::Misconfigured,
            "{path:?}"
        );
    }
    assert_eq!(double.asked().len(), before);
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

#[tokio::test]
async fn nothing_listening_is_unavailable() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let double = answering(|_| None);
    let auth = Auth::Token {
        file: file("closed", "t"),
    };
    let bao = OpenBao::new(OpenBaoSettings {
        address: format!("http://127.0.0.1:{port}"),
        ..settings(&double, auth)
    });
    let failure = bao.unwrap().read("a").await.err().unwrap();
    assert_eq!(failure.class, Class::Unavailable);
    assert!(failure.text.contains("cannot be reached"), "{failure}");
}
