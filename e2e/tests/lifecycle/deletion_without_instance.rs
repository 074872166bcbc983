//! Story: deletion of Tenants whose Instance is going, not ready, or gone.

use std::time::{Duration, Instant};

use e2e::world::condition::{await_gone, await_object, condition};
use e2e::world::tenancy::{SOON, World};
use kube::api::DeleteParams;

use super::extras::{
    OwnAdmin, delete, entry_exists, gone, look_now, nothing_left, release, superuser, traces,
};

const DELETE: &str = "deletionPolicy: Delete";

#[tokio::test]
async fn a_tenant_is_removed_from_an_instance_that_is_deleting_and_then_that_goes_too() {
    let world = World::shared("delete-going").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    world
        .instances()
        .delete(&world.instance, &DeleteParams::default())
        .await
        .unwrap();
    let said = world
        .tenant_reason("app", "InstanceNotReady")
        .await
        .unwrap();
    assert!(
        said.message.contains("is being deleted"),
        "{}",
        said.message
    );
    delete(&world, "app").await.unwrap();
    nothing_left(&world, "app").await.unwrap();
    await_gone(&world.instances(), &world.instance, SOON)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_tenant_is_removed_from_an_instance_that_is_not_ready() {
    let own = OwnAdmin::create("delete-unready", "CREATEDB CREATEROLE")
        .await
        .unwrap();
    let world = &own.world;
    world.instance_is("True").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    superuser(
        world,
        "postgres",
        &[&format!("ALTER ROLE \"{}\" NOCREATEDB", own.role)],
    )
    .await
    .unwrap();
    look_now(world).await.unwrap();
    world
        .instance_reason(&world.instance, "InsufficientPrivileges")
        .await
        .unwrap();
    world
        .tenant_reason("app", "InstanceNotReady")
        .await
        .unwrap();
    delete(world, "app").await.unwrap();
    nothing_left(world, "app").await.unwrap();
}

/// The Instance disappears although Tenants refer to it: only a person who takes its finalizer off can do that.
async fn without_instance(world: &World) {
    world
        .instances()
        .delete(&world.instance, &DeleteParams::default())
        .await
        .unwrap();
    let _gone_by_itself = release(&world.instances(), &world.instance).await;
    await_gone(&world.instances(), &world.instance, SOON)
        .await
        .unwrap();
}

/// Waits until the Tenant is `InstanceNotReady` with these words, and gives the message.
async fn says(world: &World, tenant: &str, words: &str) -> String {
    let object = await_object(&world.tenants(), tenant, words, SOON, |object| {
        condition(object, "Ready").is_some_and(|ready| {
            ready.reason == "InstanceNotReady" && ready.message.contains(words)
        })
    })
    .await
    .unwrap();
    condition(&object, "Ready").unwrap().message
}

#[tokio::test]
async fn bug14_without_its_instance_a_retained_tenant_leaves_at_once_and_a_deleted_one_says_what_it_waits_for()
 {
    let world = World::shared("delete-orphan").await.unwrap();
    world.ready_tenant("retained", "").await.unwrap();
    world.ready_tenant("deleted", DELETE).await.unwrap();
    without_instance(&world).await;
    says(&world, "deleted", "does not exist").await;

    let start = Instant::now();
    delete(&world, "retained").await.unwrap();
    gone(&world, "retained").await.unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );

    delete(&world, "deleted").await.unwrap();
    let said = says(&world, "deleted", "ownership cannot be verified").await;
    assert!(
        said.contains(&world.instance) && said.contains("release the record"),
        "{said}"
    );
    assert_eq!(
        traces(&world, "deleted").await.unwrap().len(),
        6,
        "nothing was removed"
    );
}

#[tokio::test]
async fn bug14_an_instance_that_is_made_again_does_not_let_a_deletion_remove_what_another_uid_claimed()
 {
    let world = World::shared("delete-newuid").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    without_instance(&world).await;
    delete(&world, "app").await.unwrap();
    world
        .tenant_reason("app", "InstanceNotReady")
        .await
        .unwrap();
    world
        .apply(&world.instance_manifest())
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world.tenant_reason("app", "Conflict").await.unwrap();
    assert!(
        said.message.contains("adopt or release"),
        "{}",
        said.message
    );
    assert_eq!(
        traces(&world, "app").await.unwrap().len(),
        6,
        "nothing was removed"
    );
}

#[tokio::test]
async fn a_tenant_that_never_claimed_anything_goes_without_an_instance() {
    let world = World::shared("delete-unclaimed").await.unwrap();
    let manifest = world.tenant_manifest("app", DELETE).replace(
        &format!("instanceRef: {}", world.instance),
        "instanceRef: nowhere",
    );
    world.apply(&manifest).await.unwrap().success().unwrap();
    let said = world
        .tenant_reason("app", "InstanceNotReady")
        .await
        .unwrap();
    assert!(
        said.message
            .contains("PostgreSQLInstance nowhere does not exist"),
        "{}",
        said.message
    );
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    assert!(!entry_exists(&world, "app").await.unwrap());
}
