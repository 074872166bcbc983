//! Story: a deletion removes what is proved to be the Tenant's own, and never touches what only has its name (T3).

use std::collections::HashMap;

use e2e::bed::openbao::MOUNT;
use e2e::bed::postgres::quote_identifier;
use e2e::world::tenancy::World;
use serde_json::json;

use super::extras::{delete, gone, merge, superuser, traces};

const DELETE: &str = "deletionPolicy: Delete";
const TENANT_UID: &str = "database.ddupan.top/tenant-uid";

#[tokio::test]
async fn t3_a_foreign_external_secret_survives_the_deletion_and_the_rest_goes() {
    let world = World::shared("foreign-es").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let name = world.secret_name("app");
    let foreign = json!({"metadata": {"annotations": {TENANT_UID: "somebody-elses"}}});
    let before = merge(&world.external_secrets(), &name, foreign)
        .await
        .unwrap();
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    assert_eq!(
        traces(&world, "app").await.unwrap(),
        ["ExternalSecret", "Secret"]
    );
    let after = world.external_secrets().get(&name).await.unwrap();
    assert_eq!(after.metadata.uid, before.metadata.uid);
    assert_eq!(after.metadata.deletion_timestamp, None);
    assert_eq!(after.data["spec"], before.data["spec"]);
}

#[tokio::test]
async fn t3_a_foreign_entry_in_openbao_survives_the_deletion_and_the_rest_goes() {
    let world = World::shared("foreign-bao").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let (root, path) = (world.bed.openbao().root().unwrap(), world.entry_path("app"));
    vaultrs::kv2::delete_metadata(&root, MOUNT, &path)
        .await
        .unwrap();
    let values = HashMap::from([("password", "somebody else's")]);
    vaultrs::kv2::set(&root, MOUNT, &path, &values)
        .await
        .unwrap();
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    let (version, data) = world.entry("app").await.unwrap();
    assert_eq!(
        (version, data["password"].as_str(), data.len()),
        (1, "somebody else's", 1)
    );
    assert!(!world.has_database(&world.identifier("app")).await.unwrap());
    assert!(!world.has_role(&world.identifier("app")).await.unwrap());
}

#[tokio::test]
async fn t3_a_role_and_a_database_made_by_hand_under_the_same_names_survive_the_deletion() {
    let world = World::shared("foreign-pg").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let name = quote_identifier(&world.identifier("app"));
    superuser(
        &world,
        "postgres",
        &[
            &format!("DROP DATABASE {name} WITH (FORCE)"),
            &format!("DROP ROLE {name}"),
            &format!("CREATE ROLE {name} LOGIN"),
            &format!("CREATE DATABASE {name} OWNER {name}"),
        ],
    )
    .await
    .unwrap();
    let oids = format!(
        "SELECT d.oid || ' ' || r.oid || ' ' || r.rolcanlogin FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba \
         WHERE d.datname = '{0}' AND r.rolname = '{0}'",
        world.identifier("app")
    );
    let before = world.superuser("postgres", &oids).await.unwrap();
    assert!(before.is_some());
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    assert_eq!(world.superuser("postgres", &oids).await.unwrap(), before);
    assert_eq!(
        traces(&world, "app")
            .await
            .unwrap()
            .iter()
            .filter(|what| **what == "entry" || **what == "row")
            .count(),
        0
    );
}

#[tokio::test]
async fn t3_a_database_that_was_given_to_another_role_holds_the_deletion_until_it_is_given_back() {
    let world = World::shared("foreign-owner").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let name = world.identifier("app");
    let owner = |owner: &str| format!("ALTER DATABASE \"{name}\" OWNER TO \"{owner}\"");
    superuser(&world, "postgres", &[&owner("postgres")])
        .await
        .unwrap();
    delete(&world, "app").await.unwrap();
    let said = world.tenant_reason("app", "Conflict").await.unwrap();
    assert!(
        said.message
            .contains(&format!("give it back to role {name}")),
        "{}",
        said.message
    );
    assert!(world.has_database(&name).await.unwrap());
    superuser(&world, "postgres", &[&owner(&name)])
        .await
        .unwrap();
    // A `Conflict` is looked at again after a minute; a person who cured it wakes the Tenant with any edit.
    merge(
        &world.tenants(),
        "app",
        json!({"metadata": {"labels": {"cured": "yes"}}}),
    )
    .await
    .unwrap();
    super::extras::nothing_left(&world, "app").await.unwrap();
}
