//! `PostgreSQLTenant`: what may be edited, and until when.

use serde_json::{Value, json};

use crate::world::{World, fixture, set};

const SPEC: &str = "/request/object/spec";
const OLD: &str = "/request/oldObject";

fn edit(changes: &[(&str, Value)]) -> Value {
    let mut review = fixture("tenant-update-created");
    review["request"]["object"]["spec"] = review["request"]["oldObject"]["spec"].clone();
    for (field, value) in changes {
        set(&mut review, &format!("{SPEC}/{field}"), value.clone());
    }
    review
}

fn edit_in_phase(phase: &str, changes: &[(&str, Value)]) -> Value {
    let mut review = edit(changes);
    set(&mut review, &format!("{OLD}/status/phase"), json!(phase));
    review
}

#[tokio::test]
async fn m1_m4_identifying_fields_are_frozen_once_created() {
    let world = World::empty();
    for (field, value, paths) in [
        (
            "instanceRef",
            "other",
            &["spec.instanceRef", "spec.credential.secretName"][..],
        ),
        ("database", "other", &["spec.database"]),
        ("loginRole", "other", &["spec.loginRole"]),
        (
            "credential/secretName",
            "other",
            &["spec.credential.secretName"],
        ),
    ] {
        let status = world
            .ask(&edit(&[(field, json!(value))]))
            .await
            .assert_invalid(paths);
        let message = status["details"]["causes"][0]["message"].as_str().unwrap();
        assert!(
            message.starts_with("Forbidden: may not change once created"),
            "{message}"
        );
        for phase in ["", "Pending", "Planned", "Whatever"] {
            world
                .ask(&edit_in_phase(phase, &[(field, json!(value))]))
                .await
                .assert_allowed();
        }
        for phase in [
            "CredentialCreated",
            "DatabaseCreated",
            "CredentialProjected",
        ] {
            world
                .ask(&edit_in_phase(phase, &[(field, json!(value))]))
                .await
                .assert_invalid(paths);
        }
    }
}

#[tokio::test]
async fn d3_spelling_the_default_out_and_going_back_to_the_recorded_value_pass() {
    let world = World::empty();
    let spelled = [
        ("database", json!("netbox")),
        ("loginRole", json!("netbox")),
        ("credential/secretName", json!("shared-netbox-postgresql")),
    ];
    world.ask(&edit(&spelled)).await.assert_allowed();
    let mut back = edit(&[("database", json!("netbox"))]);
    set(
        &mut back,
        &format!("{OLD}/spec/database"),
        json!("slipped_in"),
    );
    world.ask(&back).await.assert_allowed();
}

#[tokio::test]
async fn m2_extensions_only_grow_except_while_one_is_not_installable() {
    let world = World::empty();
    world
        .ask(&edit(&[(
            "extensions",
            json!(["hstore", "uuid-ossp", "pg_trgm"]),
        )]))
        .await
        .assert_allowed();
    for shorter in [json!(["pg_trgm"]), json!([]), json!(null)] {
        let mut review = edit(&[("extensions", shorter)]);
        let status = world.ask(&review).await.response()["status"].clone();
        assert!(
            status["message"]
                .as_str()
                .unwrap()
                .contains("uuid-ossp may not be removed"),
            "{status}"
        );
        set(
            &mut review,
            &format!("{OLD}/status/conditions/0/status"),
            json!("False"),
        );
        set(
            &mut review,
            &format!("{OLD}/status/conditions/0/reason"),
            json!("InvalidSpec"),
        );
        world.ask(&review).await.assert_allowed();
    }
}

#[tokio::test]
async fn m3_the_deletion_policy_may_change_until_deletion_begins() {
    let world = World::empty();
    let mut review = edit(&[("deletionPolicy", json!("Delete"))]);
    world.ask(&review).await.assert_allowed();
    for object in ["object", "oldObject"] {
        let place = format!("/request/{object}/metadata/deletionTimestamp");
        set(&mut review, &place, json!("2026-11-30T11:00:00Z"));
    }
    world.ask(&review).await.assert_invalid(&["spec"]);
    world
        .ask(&edit_in_phase(
            "Deleting",
            &[("deletionPolicy", json!("Delete"))],
        ))
        .await
        .assert_invalid(&["spec"]);
}

#[tokio::test]
async fn d4_h32_a_label_edit_of_an_invalid_legacy_object_passes_and_its_spec_edit_does_not() {
    let mut review = fixture("tenant-update-legacy-label");
    let world = World::empty();
    world.ask(&review).await.assert_allowed();
    set(&mut review, &format!("{SPEC}/database"), json!("netbox"));
    world.ask(&review).await.assert_invalid(&["spec.loginRole"]);
}

#[tokio::test]
async fn d4_a_deleting_object_may_lose_its_finalizer() {
    let mut review = edit(&[]);
    for object in ["object", "oldObject"] {
        let place = format!("/request/{object}/metadata/deletionTimestamp");
        set(&mut review, &place, json!("2026-11-30T11:00:00Z"));
    }
    set(
        &mut review,
        "/request/object/metadata/finalizers",
        json!([]),
    );
    World::empty().ask(&review).await.assert_allowed();
}
