//! Story: rows and marks that someone forged where ownership is proved (H30): what is unclear is a `Conflict`, and nobody
//! else's role or database is touched.

use std::collections::HashMap;

use e2e::bed::openbao::MOUNT;
use e2e::world::tenancy::World;
use vaultrs::api::kv2::requests::SetSecretMetadataRequest;

use super::outside::{Names, outside};
use super::scene::{application_says, ready_again, refused, says, sql, wake};

#[tokio::test]
async fn h30_a_forged_row_of_another_cluster_holds_the_name_and_is_not_touched() {
    let world = World::shared("forgedrow").await.unwrap();
    let names = Names::of(&world, "app");
    let insert = format!(
        "INSERT INTO tenantry.claim (tenant_uid, cluster_uid, instance_uid, namespace, name, database, role, secret_name, secret_path)
         VALUES ('forged', 'another-cluster', 'forged', 'elsewhere', 'app', '{}', 'forged', 'forged', 'tenantry/forged')",
        names.database
    );
    sql(&world, &world.management_database(), &insert).await;
    refused(
        &world,
        &names,
        &world.tenant_manifest("app", ""),
        "another cluster's tenant elsewhere/app",
    )
    .await;
    sql(
        &world,
        &world.management_database(),
        "DELETE FROM tenantry.claim",
    )
    .await;
    ready_again(&world, "app").await;
}

#[tokio::test]
async fn h30_a_row_forged_for_our_uid_over_a_foreign_role_and_database_alters_neither() {
    let world = World::shared("forgedours").await.unwrap();
    let names = Names::of(&world, "app");
    sql(
        &world,
        "postgres",
        &format!("CREATE ROLE {} LOGIN PASSWORD 'theirs'", names.role),
    )
    .await;
    sql(
        &world,
        "postgres",
        &format!("CREATE DATABASE {} OWNER {}", names.database, names.role),
    )
    .await;
    let (before, _) = refused(
        &world,
        &names,
        &world.tenant_manifest("app", ""),
        &names.role,
    )
    .await;

    let tenant = world.tenants().get("app").await.unwrap();
    let instance = world.instances().get(&world.instance).await.unwrap();
    let cluster = e2e::world::objects::all(world.namespace.client(), "v1", "Namespace")
        .get("kube-system")
        .await
        .unwrap();
    let insert = format!(
        "INSERT INTO tenantry.claim (tenant_uid, cluster_uid, instance_uid, namespace, name, database, role, secret_name, secret_path)
         VALUES ('{}', '{}', '{}', '{}', 'app', '{}', '{}', '{}', '{}')",
        tenant.metadata.uid.unwrap(),
        cluster.metadata.uid.unwrap(),
        instance.metadata.uid.unwrap(),
        world.namespace.name,
        names.database,
        names.role,
        names.secret,
        world.entry_path("app"),
    );
    sql(&world, &world.management_database(), &insert).await;
    wake(&world, "app").await;
    // A name in the row proves nothing; the walk ends where the role is judged.
    super::scene::phase(&world, "app", "CredentialCreated").await;
    let said = world.tenant_reason("app", "Conflict").await.unwrap();
    assert!(
        said.message.contains("its OID is not the recorded one"),
        "{said:?}"
    );
    let after = outside(&world, &names).await;
    for part in ["database", "role", "external secret", "secret"] {
        assert_eq!(after[part], before[part], "{part}");
    }
}

#[tokio::test]
async fn h30_an_entry_whose_mark_names_another_uid_is_a_conflict_and_its_password_stays_in_use() {
    let world = World::shared("forgedmark").await.unwrap();
    let names = Names::of(&world, "app");
    let ready = world.ready_tenant("app", "").await.unwrap();
    let uid = ready.metadata.uid.unwrap();
    let path = world.entry_path("app");
    mark(&world, &path, "11111111-2222-3333-4444-555555555555").await;
    let before = outside(&world, &names).await;
    says(
        &world,
        "app",
        "Conflict",
        &[&path, "does not carry this tenant's UID"],
    )
    .await;
    assert_eq!(outside(&world, &names).await, before);
    application_says(&world, "app", "SELECT 1").await;

    mark(&world, &path, &uid).await;
    ready_again(&world, "app").await;
    assert_eq!(outside(&world, &names).await["role"], before["role"]);
}

async fn mark(world: &World, path: &str, uid: &str) {
    let mut request = SetSecretMetadataRequest::builder();
    request.custom_metadata(HashMap::from([("tenant-uid".to_owned(), uid.to_owned())]));
    let root = world.bed.openbao().root().unwrap();
    vaultrs::kv2::set_metadata(&root, MOUNT, path, Some(&mut request))
        .await
        .unwrap();
}
