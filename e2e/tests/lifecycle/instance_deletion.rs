//! Story: an Instance goes when no Tenant refers to it, and a new one of its name inherits nothing (I1, I7, I8).

use std::time::Duration;

use e2e::world::condition::{await_gone, await_object, condition};
use e2e::world::tenancy::{SOON, World};
use kube::api::DeleteParams;

use super::extras::{delete, gone, nothing_left, release, row, traces};

async fn delete_instance(world: &World) {
    world
        .instances()
        .delete(&world.instance, &DeleteParams::default())
        .await
        .unwrap();
}

/// Waits until the Instance says that it waits for so many, and gives the message.
async fn waits_for(world: &World, words: &str) -> String {
    let object = await_object(&world.instances(), &world.instance, words, SOON, |object| {
        condition(object, "Ready").is_some_and(|ready| ready.message.contains(words))
    })
    .await
    .unwrap();
    assert_eq!(object.data["status"]["phase"], "Deleting");
    condition(&object, "Ready").unwrap().message
}

#[tokio::test]
async fn bug51_i8_a_deleted_instance_says_how_many_tenants_hold_it_and_goes_with_the_last() {
    let world = World::shared("instance-held").await.unwrap();
    world
        .ready_tenant("deleted", "deletionPolicy: Delete")
        .await
        .unwrap();
    world.ready_tenant("retained", "").await.unwrap();
    delete_instance(&world).await;
    let message = waits_for(&world, "deletion waits for 2 tenants, e.g. ").await;
    assert!(
        message.contains(&format!("{}/", world.namespace.name)),
        "{message}"
    );

    delete(&world, "retained").await.unwrap();
    gone(&world, "retained").await.unwrap();
    waits_for(
        &world,
        &format!(
            "deletion waits for 1 tenant, e.g. {}/deleted",
            world.namespace.name
        ),
    )
    .await;

    delete(&world, "deleted").await.unwrap();
    nothing_left(&world, "deleted").await.unwrap();
    await_gone(&world.instances(), &world.instance, SOON)
        .await
        .unwrap();
    assert_eq!(
        row(&world, "retained", "state").await.unwrap().as_deref(),
        Some("unmanaged")
    );
    assert!(
        world
            .has_database(&world.identifier("retained"))
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn i7_a_deleting_instance_provisions_nothing() {
    let world = World::shared("instance-going").await.unwrap();
    world
        .ready_tenant("first", "deletionPolicy: Delete")
        .await
        .unwrap();
    delete_instance(&world).await;
    waits_for(&world, "1 tenant,").await;
    world
        .apply(&world.tenant_manifest("late", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world
        .tenant_reason("late", "InstanceNotReady")
        .await
        .unwrap();
    assert!(
        said.message.contains("is being deleted"),
        "{}",
        said.message
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(traces(&world, "late").await.unwrap(), [""; 0]);
    for tenant in ["late", "first"] {
        delete(&world, tenant).await.unwrap();
        gone(&world, tenant).await.unwrap();
    }
    await_gone(&world.instances(), &world.instance, SOON)
        .await
        .unwrap();
}

#[tokio::test]
async fn an_instance_that_no_tenant_refers_to_goes_at_once_and_leaves_its_registry() {
    let world = World::shared("instance-free").await.unwrap();
    delete_instance(&world).await;
    await_gone(&world.instances(), &world.instance, SOON)
        .await
        .unwrap();
    let version = world
        .registry("SELECT version::text FROM tenantry.marker")
        .await
        .unwrap();
    assert_eq!(version.as_deref(), Some("1"));
}

#[tokio::test]
async fn i1_a_new_instance_of_the_same_name_inherits_no_tenant() {
    let world = World::shared("instance-again").await.unwrap();
    let tenant = world.ready_tenant("app", "").await.unwrap();
    let application = world.application("app").await.unwrap();
    let (entry, instance_uid) = (
        world.entry("app").await.unwrap(),
        row(&world, "app", "instance_uid").await.unwrap(),
    );
    delete_instance(&world).await;
    release(&world.instances(), &world.instance).await.unwrap();
    await_gone(&world.instances(), &world.instance, SOON)
        .await
        .unwrap();

    world
        .apply(&world.instance_manifest())
        .await
        .unwrap()
        .success()
        .unwrap();
    let second = world.instance_is("True").await.unwrap();
    assert_ne!(second.metadata.uid, instance_uid);
    let said = world.tenant_reason("app", "Conflict").await.unwrap();
    assert!(
        said.message.contains("its UID differs") && said.message.contains("adopt or release"),
        "{}",
        said.message
    );
    assert_eq!(
        row(&world, "app", "instance_uid").await.unwrap(),
        instance_uid
    );
    assert_eq!(
        row(&world, "app", "tenant_uid").await.unwrap(),
        tenant.metadata.uid
    );
    assert_eq!(world.entry("app").await.unwrap(), entry);
    application
        .query("SELECT 1")
        .await
        .unwrap()
        .success()
        .unwrap();
}
