//! Story: the record of a Tenant that was deleted with `Retain` keeps the UID that made it; a new Tenant of the same name is
//! another UID (T4).

use e2e::world::condition::await_gone;
use e2e::world::tenancy::{SOON, World};
use kube::api::DeleteParams;
use serde_json::json;

use super::outside::{Names, outside};
use super::scene::{is_unclaimed, says, sql, until_sql};

#[tokio::test]
async fn t4_a_tenant_made_again_under_a_retained_name_is_a_conflict_and_the_record_is_marked_unmanaged()
 {
    let world = World::shared("retained").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    world
        .tenants()
        .delete("app", &DeleteParams::default())
        .await
        .unwrap();
    await_gone(&world.tenants(), "app", SOON).await.unwrap();
    let before = outside(&world, &names).await;

    world
        .apply(&world.tenant_manifest("app", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world.tenant_reason("app", "Conflict").await.unwrap();
    assert!(said.message.contains("was retained from"), "{said:?}");
    assert!(said.message.contains("adopt or release"), "{said:?}");
    let tenant = world.tenants().get("app").await.unwrap();
    assert!(is_unclaimed(&tenant), "{}", tenant.data);
    let state = "SELECT state FROM tenantry.claim";
    assert_eq!(
        world.registry(state).await.unwrap().as_deref(),
        Some("unmanaged")
    );
    let after = outside(&world, &names).await;
    for part in ["database", "role", "entry", "external secret", "secret"] {
        assert_eq!(after[part], before[part], "{part}");
    }

    // Other names do not help while the record has the Tenant's own name; a Tenant of another name does.
    let other = world.identifier("other");
    let spec = json!({"spec": {"database": other, "loginRole": other}});
    world
        .patch_tenant("app", &spec)
        .await
        .unwrap()
        .success()
        .unwrap();
    says(&world, "app", "Conflict", &["was retained from"]).await;
    world
        .tenants()
        .delete("app", &DeleteParams::default())
        .await
        .unwrap();
    await_gone(&world.tenants(), "app", SOON).await.unwrap();
    world.ready_tenant("another", "").await.unwrap();
    assert_eq!(
        outside(&world, &names).await["database"],
        before["database"]
    );
}

#[tokio::test]
async fn t4_a_tenant_that_meets_a_managed_row_of_a_dead_uid_of_this_cluster_marks_it_and_changes_nothing_else()
 {
    let world = World::shared("deadrow").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    world
        .tenants()
        .delete("app", &DeleteParams::default())
        .await
        .unwrap();
    await_gone(&world.tenants(), "app", SOON).await.unwrap();
    let state = "SELECT state FROM tenantry.claim";
    until_sql(
        &world,
        &world.management_database(),
        "the row is marked",
        state,
        "unmanaged",
    )
    .await;
    // As if nobody had seen the deletion.
    sql(
        &world,
        &world.management_database(),
        "UPDATE tenantry.claim SET state = 'managed'",
    )
    .await;
    let columns = "SELECT (to_jsonb(c) - 'updated_at')::text FROM tenantry.claim c";
    let managed = world.registry(columns).await.unwrap().unwrap();

    let other = Names::of(&world, "other");
    let manifest = world.tenant_manifest("other", &format!("database: {}", names.database));
    world.apply(&manifest).await.unwrap().success().unwrap();
    world.tenant_reason("other", "Conflict").await.unwrap();
    let unmanaged = managed.replace("\"managed\"", "\"unmanaged\"");
    assert_eq!(world.registry(columns).await.unwrap().unwrap(), unmanaged);
    assert_eq!(outside(&world, &other).await["role"], "absent");
}
