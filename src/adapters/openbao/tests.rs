//! The client against a small double: what OpenBao itself does not do on demand (redirects, long and foreign answers, hangs).
//! What it does is tested against the real one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::time::{Duration, Instant};

use domain::tenancy::failure::Class;
use secrecy::SecretString;
use serde_json::json;

use super::double::{Double, Reply, json};
use super::fixture::{DATA, MOUNT, answering, by_token, file, nothing, owner, settings};
use super::{Auth, OpenBao, OpenBaoSettings};

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
    let asked = double.count("GET /v1/secret/data/base/a%20b%3Fx%23y%25/%C3%BC");
    assert_eq!(asked, 1);
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
