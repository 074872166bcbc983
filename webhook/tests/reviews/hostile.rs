//! Hostile values in a review: an HTTP error or a denial, never a crash and never `allowed: true`.

use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use serde_json::{Value, json};
use webhook::{Limits, Route};

use crate::world::{Cluster, World, fixture, post, remove, set, with};

/// The text of a review whose object has `inner` as the value of an annotation-like field.
fn holding(place: &str, inner: &str) -> String {
    with("tenant-create", place, json!("HERE"))
        .to_string()
        .replace("\"HERE\"", inner)
}

#[tokio::test]
async fn h9_depth_numbers_and_broken_strings_are_denied_anywhere_in_an_object() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let hostile = [
        nested(127),
        nested(128),
        nested(10_000),
        "{\"a\":".repeat(10_000) + "1" + &"}".repeat(10_000),
        "1e400".to_owned(),
        "9".repeat(100_000),
        "\"\\ud800\"".to_owned(),
        "\"\\udc00x\"".to_owned(),
        "\"\\uZZZZ\"".to_owned(),
    ];
    let world = World::empty();
    for place in [
        "/request/object/metadata/x",
        "/request/object/spec/x",
        "/request/object/status",
        "/request/object/x",
    ] {
        for inner in &hostile {
            let reply = world.post(Route::Tenant, holding(place, inner)).await;
            assert!(!reply.allows(), "{place} {}", &inner[..inner.len().min(20)]);
            assert!(
                reply.status == StatusCode::OK || reply.status == StatusCode::BAD_REQUEST,
                "{}",
                reply.text
            );
        }
    }
    world
        .post(
            Route::Tenant,
            holding("/request/object/metadata/x", &nested(100)),
        )
        .await
        .assert_allowed();
    for inner in [
        "18446744073709551616",
        "-0",
        "1e999",
        "\"\\u0000\"",
        "123456789012345678901234567890",
    ] {
        let body = with(
            "instance-create",
            "/request/object/spec/endpoint/port",
            json!("HERE"),
        )
        .to_string();
        let reply = world
            .post(Route::Instance, body.replace("\"HERE\"", inner))
            .await;
        assert!(!reply.allows(), "{inner}");
    }
}

#[tokio::test]
async fn h9_a_million_short_strings_are_refused_quickly() {
    let strings = format!("[{}\"a\"]", "\"a\",".repeat(1_000_000));
    let world = World::empty();
    let reply = world
        .post(
            Route::Tenant,
            holding("/request/object/spec/extensions", &strings),
        )
        .await;
    reply.assert_invalid(&["spec"]);
    world
        .post(
            Route::Tenant,
            holding("/request/object/metadata/x", &strings),
        )
        .await
        .assert_allowed();
}

#[tokio::test]
async fn h20_texts_of_the_request_reach_the_answer_without_control_characters() {
    let name = "a\u{1b}[31m\n%s${x}{{y}}\u{202e}";
    let mut review = with(
        "tenant-create",
        "/request/object/metadata/name",
        json!(name),
    );
    set(&mut review, "/request/name", json!(name));
    remove(&mut review, "/request/object/spec/database");
    let reply = World::empty().ask(&review).await;
    let status = reply.response()["status"].clone();
    let texts = format!(
        "{}{}",
        status["message"].as_str().unwrap(),
        status["details"]["name"].as_str().unwrap()
    );
    assert!(
        !texts.chars().any(|c| c.is_control() || c == '\u{202e}'),
        "{texts:?}"
    );
    assert!(texts.contains("%s${x}{{y}}"), "{texts}");
}

#[tokio::test]
async fn h7_a_panic_in_a_judge_is_a_500_without_detail_and_the_next_request_is_fine() {
    let world = World::knowing(Cluster {
        panics_for: Some("cursed"),
        ..Cluster::default()
    });
    let cursed = with(
        "tenant-create",
        "/request/object/spec/instanceRef",
        json!("cursed"),
    );
    for _ in 0..3 {
        let reply = world.ask(&cursed).await;
        assert_eq!(
            (reply.status.as_u16(), reply.text.as_str()),
            (500, "internal error")
        );
        world.ask(&fixture("tenant-create")).await.assert_allowed();
    }
}

#[tokio::test]
async fn h7_an_observer_that_panics_is_a_500_as_well() {
    struct Broken;
    impl webhook::Decisions for Broken {
        fn begun(&self, _: Route) {}
        fn decided(&self, _: &webhook::Decision) {
            panic!("a bug that the test planted");
        }
    }
    let router = webhook::router(webhook::Admission {
        cluster: std::sync::Arc::new(Cluster::default()),
        addresses: domain::tenancy::endpoint::AddressPolicy::default(),
        applications: None,
        decisions: std::sync::Arc::new(Broken),
        limits: Limits::default(),
    });
    let request = post(Route::Tenant, fixture("tenant-create").to_string());
    let response = tower::ServiceExt::oneshot(router, request).await.unwrap();
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn h42_a_dry_run_gets_the_same_verdict() {
    let world = World::empty();
    for database in ["netbox", "postgres"] {
        let mut review = with(
            "tenant-create",
            "/request/object/spec/database",
            json!(database),
        );
        let wet = world.ask(&review).await;
        set(&mut review, "/request/dryRun", json!(true));
        assert_eq!(world.ask(&review).await, wet);
    }
}

#[tokio::test]
async fn h44_a_replayed_review_gets_the_same_verdict_and_leaves_nothing() {
    let world = World::empty();
    for name in ["tenant-update-created", "instance-update"] {
        let review: Value = fixture(name);
        let first = world.ask(&review).await;
        for _ in 0..3 {
            assert_eq!(world.ask(&review).await, first);
        }
    }
    // Reads of the caches, one for each review, are all that a review does outside itself.
    assert_eq!(world.cluster.asked.load(Ordering::SeqCst), 8);
}
