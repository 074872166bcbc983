//! `PostgreSQLTenant`: each field right and wrong, warnings, and how a refusal reads.

use serde_json::{Value, json};

use crate::world::{Cluster, World, assert_each_is_refused, fixture, remove, set, with};

const SPEC: &str = "/request/object/spec";

#[tokio::test]
async fn a_valid_tenant_is_allowed_with_and_without_its_optional_fields() {
    for name in [
        "tenant-create",
        "tenant-create-defaults",
        "tenant-update-created",
    ] {
        let reply = World::empty().ask(&fixture(name)).await;
        assert_eq!(reply.assert_allowed(), Vec::<String>::new(), "{name}");
        assert_eq!(reply.response()["uid"], fixture(name)["request"]["uid"]);
    }
}

#[tokio::test]
async fn each_field_of_a_tenant_is_refused_with_its_path_and_a_remedy() {
    assert_each_is_refused("tenant-create", "refused-tenant-fields").await;
}

#[tokio::test]
async fn null_on_an_optional_field_counts_as_absent() {
    let world = World::empty();
    for field in [
        "database",
        "loginRole",
        "extensions",
        "credential",
        "credential/secretName",
        "deletionPolicy",
    ] {
        world
            .ask(&with(
                "tenant-create",
                &format!("{SPEC}/{field}"),
                Value::Null,
            ))
            .await
            .assert_allowed();
    }
}

#[tokio::test]
async fn a_refusal_reads_like_the_api_servers_own_field_errors_and_lists_every_cause() {
    let mut review = with(
        "tenant-create",
        &format!("{SPEC}/database"),
        json!("postgres"),
    );
    let world = World::empty();
    let status = world.ask(&review).await.assert_invalid(&["spec.database"]);
    let one = "spec.database: Forbidden: postgres is reserved; choose another name for database";
    assert_eq!(
        status["message"],
        format!("PostgreSQLTenant.database.ddupan.top \"netbox\" is invalid: {one}")
    );
    assert_eq!(
        status["details"],
        json!({"group": "database.ddupan.top", "kind": "PostgreSQLTenant", "name": "netbox", "causes": [{
            "field": "spec.database", "reason": "FieldValueForbidden",
            "message": "Forbidden: postgres is reserved; choose another name for database"}]})
    );
    set(
        &mut review,
        &format!("{SPEC}/deletionPolicy"),
        json!("Never"),
    );
    let status = world
        .ask(&review)
        .await
        .assert_invalid(&["spec.database", "spec.deletionPolicy"]);
    let two = "spec.deletionPolicy: Unsupported value: must be Retain or Delete";
    assert_eq!(
        status["message"],
        format!("PostgreSQLTenant.database.ddupan.top \"netbox\" is invalid: [{one}, {two}]")
    );
}

#[tokio::test]
async fn c8_a_name_that_cannot_be_the_default_is_refused_with_what_to_set() {
    let mut review = fixture("tenant-create-defaults");
    set(&mut review, "/request/name", json!("my-app"));
    set(
        &mut review,
        "/request/object/metadata/name",
        json!("my-app"),
    );
    let world = World::empty();
    let status = world
        .ask(&review)
        .await
        .assert_invalid(&["spec.database", "spec.loginRole"]);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("set spec.loginRole"),
        "{status}"
    );
    set(&mut review, &format!("{SPEC}/database"), json!("my_app"));
    set(&mut review, &format!("{SPEC}/loginRole"), json!("my_app"));
    world.ask(&review).await.assert_allowed();
}

#[tokio::test]
async fn a_create_with_a_generated_name_is_judged_by_the_objects_own_name() {
    let mut review = fixture("tenant-create");
    remove(&mut review, "/request/name");
    let world = World::empty();
    world.ask(&review).await.assert_allowed();
    set(&mut review, &format!("{SPEC}/database"), json!(""));
    let status = world.ask(&review).await.assert_invalid(&["spec.database"]);
    assert_eq!(status["details"]["name"], "netbox");
}

#[tokio::test]
async fn d2_the_management_database_is_refused_once_the_store_knows_it() {
    let review = with(
        "tenant-create",
        &format!("{SPEC}/database"),
        json!("registry"),
    );
    let knowing = |unsynced, name| Cluster {
        unsynced,
        management: Some((name, "registry")),
        ..Cluster::default()
    };
    let status = World::knowing(knowing(false, "shared"))
        .ask(&review)
        .await
        .assert_invalid(&["spec.database"]);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("management database"),
        "{status}"
    );
    World::knowing(knowing(false, "another"))
        .ask(&review)
        .await
        .assert_allowed();
}

#[tokio::test]
async fn d2_without_a_synced_store_only_the_rule_that_needs_it_is_skipped() {
    let review = with(
        "tenant-create",
        &format!("{SPEC}/database"),
        json!("registry"),
    );
    let world = World::knowing(Cluster {
        unsynced: true,
        management: Some(("shared", "registry")),
        ..Cluster::default()
    });
    world.ask(&review).await.assert_allowed();
    let reserved = with(
        "tenant-create",
        &format!("{SPEC}/database"),
        json!("postgres"),
    );
    world
        .ask(&reserved)
        .await
        .assert_invalid(&["spec.database"]);
}

#[tokio::test]
async fn a_spec_over_its_size_is_refused_as_a_whole() {
    let many: Vec<String> = (0..20_000).map(|n| format!("x{n}")).collect();
    let reply = World::empty()
        .ask(&with(
            "tenant-create",
            &format!("{SPEC}/extensions"),
            json!(many),
        ))
        .await;
    reply.assert_invalid(&["spec"]);
}

#[tokio::test]
async fn h19_a_long_list_of_violations_is_cut_and_says_so() {
    let many = vec!["A"; 1000];
    let reply = World::empty()
        .ask(&with(
            "tenant-create",
            &format!("{SPEC}/extensions"),
            json!(many),
        ))
        .await;
    let status = reply.response()["status"].clone();
    assert_eq!(
        status["details"]["causes"].as_array().unwrap().len(),
        webhook::CAUSES_MAX
    );
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .ends_with("and 901 more"),
        "{status}"
    );
}

#[tokio::test]
async fn deletion_policy_delete_is_allowed_with_a_warning_that_fits() {
    let reply = World::empty()
        .ask(&with(
            "tenant-create",
            &format!("{SPEC}/deletionPolicy"),
            json!("Delete"),
        ))
        .await;
    let warnings = reply.assert_allowed();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("destroys database netbox")
            && warnings[0].len() <= webhook::WARNING_MAX
    );
}
