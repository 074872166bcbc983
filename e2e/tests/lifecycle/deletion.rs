//! Story: a Tenant with `deletionPolicy: Delete` goes and leaves nothing, whatever was done to its parts before.

use std::time::{Duration, Instant};

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::condition::await_gone;
use e2e::world::tenancy::{SOON, World};
use kube::api::{Api, DeleteParams};

use super::extras::{
    FOREIGN_FINALIZER, delete, entry_exists, gone, hold, nothing_left, release, row, secrets,
    superuser, traces,
};

const DELETE: &str = "deletionPolicy: Delete";

#[tokio::test]
async fn a_deleted_tenant_leaves_nothing_behind_in_any_store() {
    let world = World::shared("delete").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let all = [
        "database",
        "role",
        "entry",
        "ExternalSecret",
        "Secret",
        "row",
    ];
    assert_eq!(traces(&world, "app").await.unwrap(), all);
    delete(&world, "app").await.unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn bug5_a_database_that_was_dropped_by_hand_does_not_hold_the_deletion() {
    let world = World::shared("delete-nodb").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let drop_database = format!("DROP DATABASE \"{}\" WITH (FORCE)", world.identifier("app"));
    superuser(&world, "postgres", &[&drop_database])
        .await
        .unwrap();
    delete(&world, "app").await.unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn bug4_a_membership_that_was_revoked_from_the_admin_is_taken_again_for_the_deletion() {
    let world = World::shared("delete-nogrant").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let admin = &world.bed.postgres().description().admin_user.clone();
    let role = world.identifier("app");
    let revoke = format!("REVOKE \"{role}\" FROM {admin} GRANTED BY {admin}");
    superuser(&world, "postgres", &[&revoke]).await.unwrap();
    let member = format!("SELECT pg_has_role('{admin}', '{role}', 'USAGE')::text");
    assert_eq!(
        world
            .superuser("postgres", &member)
            .await
            .unwrap()
            .as_deref(),
        Some("false")
    );
    delete(&world, "app").await.unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn bug13_the_deletion_needs_neither_the_secret_nor_the_external_secret() {
    let world = World::shared("delete-nosecret").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let name = world.secret_name("app");
    world
        .external_secrets()
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    secrets(&world)
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    delete(&world, "app").await.unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn bug18_an_external_secret_is_not_made_again_for_a_tenant_that_is_going() {
    let world = World::shared("delete-held").await.unwrap();
    for (tenant, policy) in [("deleted", DELETE), ("retained", "deletionPolicy: Retain")] {
        world.ready_tenant(tenant, policy).await.unwrap();
        hold(&world.tenants(), tenant).await.unwrap();
        delete(&world, tenant).await.unwrap();
    }
    until(SOON, "only the foreign finalizer holds", async || {
        let object = world.tenants().get("deleted").await?;
        ensure!(
            object.metadata.finalizers == Some(vec![FOREIGN_FINALIZER.to_owned()]),
            "{:?}",
            object.metadata.finalizers
        );
        Ok(())
    })
    .await
    .unwrap();
    let retained = world.secret_name("retained");
    world
        .external_secrets()
        .delete(&retained, &DeleteParams::default())
        .await
        .unwrap();
    // Long enough for a round: an ExternalSecret that is missing from a living Tenant is back within 0.5 s.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for tenant in ["deleted", "retained"] {
        let name = world.secret_name(tenant);
        assert!(
            world
                .external_secrets()
                .get_opt(&name)
                .await
                .unwrap()
                .is_none(),
            "{name} was made again"
        );
        release(&world.tenants(), tenant).await.unwrap();
        gone(&world, tenant).await.unwrap();
    }
    nothing_left(&world, "deleted").await.unwrap();
}

#[tokio::test]
async fn bug36_d5_an_external_secret_that_something_else_holds_does_not_hold_the_tenant() {
    let world = World::shared("delete-esheld").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let name = world.secret_name("app");
    hold(&world.external_secrets(), &name).await.unwrap();
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    assert!(!world.has_database(&world.identifier("app")).await.unwrap());
    assert!(!world.has_role(&world.identifier("app")).await.unwrap());
    assert!(!entry_exists(&world, "app").await.unwrap());
    assert_eq!(row(&world, "app", "state").await.unwrap(), None);
    let held = world.external_secrets().get(&name).await.unwrap();
    assert!(held.metadata.deletion_timestamp.is_some());
    release(&world.external_secrets(), &name).await.unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn bug15_tenants_are_gone_within_10_s_of_the_deletion_of_their_namespace() {
    let world = World::shared("delete-ns").await.unwrap();
    world.ready_tenant("deleted", DELETE).await.unwrap();
    world.ready_tenant("retained", "").await.unwrap();
    let application = world.application("retained").await.unwrap();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> =
        Api::all(world.namespace.client().clone());
    let start = Instant::now();
    namespaces
        .delete(&world.namespace.name, &DeleteParams::default())
        .await
        .unwrap();
    for tenant in ["deleted", "retained"] {
        await_gone(&world.tenants(), tenant, SOON).await.unwrap();
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "it took {took:?}");
    nothing_left(&world, "deleted").await.unwrap();
    let said = application
        .query("SELECT 'still here'")
        .await
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(said.stdout.trim(), "still here");
    until(SOON, "the namespace is gone", async || {
        let left = namespaces.get_opt(&world.namespace.name).await?;
        ensure!(left.is_none(), "{:?}", left.and_then(|left| left.status));
        Ok(())
    })
    .await
    .unwrap();
}
