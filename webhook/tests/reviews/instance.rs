//! `PostgreSQLInstance`: each field right and wrong, and each edit rule.

use serde_json::{Value, json};

use crate::world::{Cluster, World, assert_each_is_refused, fixture, set, with};

const SPEC: &str = "/request/object/spec";

#[tokio::test]
async fn a_valid_instance_is_allowed_with_and_without_its_optional_fields() {
    for name in [
        "instance-create",
        "instance-create-defaults",
        "instance-update",
    ] {
        let reply = World::empty().ask(&fixture(name)).await;
        assert_eq!(reply.assert_allowed(), Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn d11_d17_each_field_of_an_instance_is_refused_with_its_path_and_a_remedy() {
    assert_each_is_refused("instance-create", "refused-instance-fields").await;
}

#[tokio::test]
async fn a_missing_or_mistyped_group_of_fields_is_refused() {
    let world = World::empty();
    for (field, value) in [
        ("endpoint", json!({})),
        ("endpoint", json!("x")),
        ("adminCredentialRef", json!(null)),
    ] {
        let reply = world
            .ask(&with("instance-create", &format!("{SPEC}/{field}"), value))
            .await;
        reply.assert_invalid(&[&format!("spec.{field}")]);
    }
    for spec in [json!([]), json!("x"), json!(3)] {
        world
            .ask(&with("instance-create", SPEC, spec))
            .await
            .assert_invalid(&["spec"]);
    }
}

#[tokio::test]
async fn null_on_an_optional_field_counts_as_absent() {
    let optional = ["endpoint/port", "endpoint/database", "endpoint/sslMode"];
    let world = World::empty();
    for field in optional.into_iter().chain([
        "adminCredentialRef/usernameKey",
        "adminCredentialRef/passwordKey",
    ]) {
        world
            .ask(&with(
                "instance-create",
                &format!("{SPEC}/{field}"),
                Value::Null,
            ))
            .await
            .assert_allowed();
    }
}

#[tokio::test]
async fn every_mistake_is_reported_at_once() {
    let mut review = fixture("instance-create");
    set(
        &mut review,
        SPEC,
        json!({
            "endpoint": {"host": "", "hostaddr": "", "port": 0, "database": "P", "sslMode": "prefer"},
            "adminCredentialRef": {"name": "", "usernameKey": "", "passwordKey": ""},
        }),
    );
    World::empty().ask(&review).await.assert_invalid(&[
        "spec.endpoint.host",
        "spec.endpoint.hostaddr",
        "spec.endpoint.port",
        "spec.endpoint.database",
        "spec.endpoint.sslMode",
        "spec.adminCredentialRef.name",
        "spec.adminCredentialRef.usernameKey",
        "spec.adminCredentialRef.passwordKey",
    ]);
}

#[tokio::test]
async fn an_ssl_mode_below_verify_full_is_allowed_with_a_warning() {
    let world = World::empty();
    for mode in ["verify-ca", "require", "disable"] {
        let warnings = world
            .ask(&with(
                "instance-create",
                &format!("{SPEC}/endpoint/sslMode"),
                json!(mode),
            ))
            .await
            .assert_allowed();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains(mode) && warnings[0].len() <= webhook::WARNING_MAX,
            "{warnings:?}"
        );
    }
}

#[tokio::test]
async fn d2_a_tenants_database_may_not_become_the_management_database() {
    let review = with(
        "instance-update",
        &format!("{SPEC}/endpoint/database"),
        json!("netbox"),
    );
    let claiming = |unsynced, instance| Cluster {
        unsynced,
        claimed: vec![(instance, "team-a/netbox", "netbox")],
        ..Cluster::default()
    };
    let reply = World::knowing(claiming(false, "shared")).ask(&review).await;
    let status = reply.assert_invalid(&["spec.endpoint.database"]);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("tenant team-a/netbox"),
        "{status}"
    );
    World::knowing(claiming(false, "other"))
        .ask(&review)
        .await
        .assert_allowed();
    World::knowing(claiming(true, "shared"))
        .ask(&review)
        .await
        .assert_allowed();
}

#[tokio::test]
async fn d4_h32_a_finalizer_removal_of_an_invalid_legacy_object_passes_and_its_spec_edit_does_not()
{
    let mut review = fixture("instance-update-legacy-finalizer");
    let world = World::empty();
    world.ask(&review).await.assert_allowed();
    set(
        &mut review,
        &format!("{SPEC}/endpoint/host"),
        json!("pg.home.arpa"),
    );
    world
        .ask(&review)
        .await
        .assert_invalid(&["spec.endpoint.port"]);
    // Once the new spec reads, the stored one does not: an edit that cannot be compared is refused.
    set(
        &mut review,
        SPEC,
        fixture("instance-create")["request"]["object"]["spec"].clone(),
    );
    world
        .ask(&review)
        .await
        .assert_unreadable("request.oldObject: spec.endpoint.port");
}

#[tokio::test]
async fn d4_a_deleting_instance_may_not_change_its_spec() {
    let mut review = fixture("instance-update");
    for object in ["object", "oldObject"] {
        let place = format!("/request/{object}/metadata/deletionTimestamp");
        set(&mut review, &place, json!("2026-11-30T11:00:00Z"));
    }
    World::empty().ask(&review).await.assert_invalid(&["spec"]);
}
