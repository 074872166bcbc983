//! `Application`: what is read of a review, what its answers look like, and the packages' own checks. The steps themselves are cases of
//! `domain/tests/vectors/webhook.json`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Value, json};
use webhook::{APPLICATION_SPEC_MAX, Limits, Route, WARNINGS_MAX};

use crate::packages::{Packages, application, installed, review};
use crate::world::{World, remove, set};

fn shop() -> Value {
    json!({"properties": {
        "replicas": {"type": "integer", "maximum": 5},
        "storage": {"type": "string", "x-deckhouse-immutable": true},
        "check": {"additionalProperties": true},
        "mode": {"type": "string", "enum": ["Inside", "Outside"]},
    }, "oneOf": [
        {"properties": {"mode": {"enum": ["Inside"]}}, "x-deckhouse-enum-switch-settings":
            [{"to": ["Outside"], "impact": "destructive", "messages": {"en": "Deletes the data."}}]},
        {"properties": {"mode": {"enum": ["Outside"]}}},
    ]})
}

fn world() -> World {
    Packages::of(&[("shop", shop())]).world()
}

fn checked() -> Packages {
    Packages {
        checked: vec!["shop"],
        ..Packages::of(&[("shop", shop())])
    }
}

#[tokio::test]
async fn a_wrong_setting_is_denied_with_its_path_and_what_the_denial_is_about() {
    let world = world();
    world
        .create("shop", &json!({"replicas": 3, "mode": "Inside"}))
        .await
        .assert_allowed();
    let reply = world
        .create(
            "shop",
            &json!({"replicas": 9, "mode": "Inside", "typo": true}),
        )
        .await;
    let status = reply.assert_invalid(&["spec.settings.replicas", "spec.settings.typo"]);
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "Application.deckhouse.io \"shop\" is invalid: Application team/shop (package shop, version v1.0.0): ["
        ),
        "{message}"
    );
    assert_eq!(status["details"]["group"], "deckhouse.io");
    assert_eq!(status["details"]["kind"], "Application");
}

#[tokio::test]
async fn a_process_that_serves_no_applications_denies_them_and_says_why() {
    let reply = World::empty()
        .ask(&review(&application("shop", &json!({})), None))
        .await;
    reply.assert_unreadable("request.kind: this server does not serve Applications");
}

#[tokio::test]
async fn no_application_is_judged_before_the_caches_are_filled() {
    let world = Packages {
        unsynced: true,
        ..Packages::default()
    }
    .world();
    let reply = world.create("shop", &json!({})).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.text, "the caches are not filled yet: try again");
}

#[tokio::test]
async fn an_update_without_its_old_object_or_with_a_broken_one_is_denied() {
    let world = world();
    let new = application("shop", &json!({"mode": "Inside"}));
    let good = review(&new, Some(&new));
    world.ask(&good).await.assert_allowed();
    let mut without = good.clone();
    remove(&mut without, "/request/oldObject");
    world
        .ask(&without)
        .await
        .assert_unreadable("request.oldObject: is missing");
    for (pointer, value) in [
        ("/request/oldObject", json!("gone")),
        ("/request/oldObject/metadata", json!(1)),
        ("/request/oldObject/kind", json!("Tenant")),
        ("/request/oldObject/metadata/name", json!("other")),
    ] {
        let mut broken = good.clone();
        set(&mut broken, pointer, value);
        world
            .ask(&broken)
            .await
            .assert_unreadable("request.oldObject: ");
    }
    let mut forged = good.clone();
    set(
        &mut forged,
        "/request/oldObject/status",
        json!({"lastAppliedConfiguration": "x"}),
    );
    world
        .ask(&forged)
        .await
        .assert_invalid(&["status.lastAppliedConfiguration"]);
    let mut nameless = good;
    set(&mut nameless, "/request/oldObject/spec", json!([1, 2]));
    world
        .ask(&nameless)
        .await
        .assert_invalid(&["spec.packageName"]);
}

#[tokio::test]
async fn an_application_that_is_being_deleted_is_let_go_whatever_its_settings() {
    let world = world();
    let mut new = application("gone", &json!({"x": "y".repeat(APPLICATION_SPEC_MAX)}));
    let old = new.clone();
    new["metadata"]["deletionTimestamp"] = json!("2026-11-01T10:00:00Z");
    world.ask(&review(&new, Some(&old))).await.assert_allowed();
}

#[tokio::test]
async fn s8_the_acknowledgement_is_read_from_the_annotations_of_both_objects() {
    const KEY: &str = "applications.deckhouse.io/allow-destructive-settings-switch";
    let enforcing = Packages {
        enforce: true,
        ..Packages::of(&[("shop", shop())])
    }
    .world();
    let old = installed(
        "shop",
        &json!({"mode": "Inside"}),
        &json!({"mode": "Inside"}),
    );
    let mut new = application("shop", &json!({"mode": "Outside"}));
    let reply = enforcing.ask(&review(&new, Some(&old))).await;
    reply.assert_invalid(&["spec.settings.mode"]);
    let warned = world()
        .ask(&review(&new, Some(&old)))
        .await
        .assert_allowed();
    assert!(warned.iter().any(|text| text.contains("Deletes the data.")));
    new["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/x": "y", KEY: "mode=Inside->Outside"});
    enforcing
        .ask(&review(&new, Some(&old)))
        .await
        .assert_allowed();
    let mut used = old;
    used["metadata"]["annotations"] = new["metadata"]["annotations"].clone();
    let reply = enforcing.ask(&review(&new, Some(&used))).await;
    reply.assert_invalid(&["spec.settings.mode"]);
}

#[tokio::test]
async fn the_check_of_an_installed_version_has_the_last_word_and_its_warnings_are_passed_on() {
    let packages = checked();
    let questions = Arc::clone(&packages.questions);
    let world = packages.world();
    let old = json!({"mode": "Inside"});
    let ask = async |check: Value| {
        let new = json!({"mode": "Inside", "check": check});
        world.change("shop", &old, &new).await
    };
    let warned = ask(json!({"valid": true, "warnings": ["slow"]})).await;
    assert_eq!(warned.assert_allowed(), ["slow"]);
    let status = ask(json!({"valid": false, "message": "the quota is used up"}))
        .await
        .assert_invalid(&["spec.settings"]);
    assert!(status.to_string().contains("the quota is used up"));
    let status = ask(json!({})).await.assert_invalid(&["spec.settings"]);
    assert!(
        status
            .to_string()
            .contains("the package's settings check failed: exit status 2")
    );
    let question = questions.lock().unwrap()[0].clone();
    assert_eq!(
        (question.namespace.as_str(), question.name.as_str()),
        ("team", "shop")
    );
    assert_eq!(question.version.object_name(), "local-shop-v1.0.0");
    assert_eq!(question.settings["mode"], "Inside");
    let many = vec!["w"; 2 * WARNINGS_MAX];
    let warned = ask(json!({"valid": true, "warnings": many})).await;
    assert_eq!(warned.assert_allowed().len(), WARNINGS_MAX);
}

#[tokio::test]
async fn h42_a_dry_run_asks_the_check_too() {
    let packages = checked();
    let asked = Arc::clone(&packages.asked);
    let world = packages.world();
    let old = installed(
        "shop",
        &json!({"mode": "Inside"}),
        &json!({"mode": "Inside"}),
    );
    let new = application("shop", &json!({"mode": "Inside", "check": {"valid": true}}));
    let mut review = review(&new, Some(&old));
    review["request"]["dryRun"] = true.into();
    world.ask(&review).await.assert_allowed();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn without_a_loaded_bundle_the_change_is_allowed_with_a_warning() {
    let world = world();
    let old = json!({"mode": "Inside"});
    let warnings = world
        .change("shop", &old, &json!({"mode": "Inside", "replicas": 2}))
        .await
        .assert_allowed();
    assert_eq!(
        warnings,
        ["the package's settings check will run when the settings are applied"]
    );
    assert!(
        world
            .change("shop", &old, &old)
            .await
            .assert_allowed()
            .is_empty()
    );
}

#[tokio::test]
async fn a_check_in_work_takes_no_place_of_other_reviews_and_ends_with_its_deadline() {
    let limits = Limits {
        running: 1,
        waiting: 0,
        applications: 1,
        check: Duration::from_millis(300),
        ..Limits::default()
    };
    let world = Arc::new(checked().world_within(limits));
    let slow = {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let new = json!({"mode": "Inside", "check": {"milliseconds": 60_000}});
            world.change("shop", &json!({"mode": "Inside"}), &new).await
        })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    let begun = Instant::now();
    world
        .create("shop", &json!({"mode": "Inside"}))
        .await
        .assert_allowed();
    assert!(begun.elapsed() < Duration::from_millis(150));
    let status = slow.await.unwrap().assert_invalid(&["spec.settings"]);
    assert!(
        status
            .to_string()
            .contains("it gave no answer within 300ms"),
        "{status}"
    );
}

#[tokio::test]
async fn other_routes_and_kinds_are_not_mixed_up_with_applications() {
    let world = world();
    let review = review(&application("shop", &json!({"mode": "Inside"})), None);
    let reply = world.post(Route::Tenant, review.to_string()).await;
    reply.assert_unreadable("request.kind: this webhook judges PostgreSQLTenant");
    let mut core = review;
    set(&mut core, "/request/kind/group", json!("apps.example.org"));
    world.ask(&core).await.assert_unreadable(
        "request.kind: this webhook judges Application of deckhouse.io/v1alpha1",
    );
}
