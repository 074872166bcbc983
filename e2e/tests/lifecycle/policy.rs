//! Story: the deletion policy before deletion and from its beginning on (M3, D4).

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use serde_json::json;

use super::extras::{delete, gone, nothing_left, row, traces};

const FINALIZER: &str = "database.ddupan.top/finalizer";

/// Waits until our finalizer is on the Tenant, or off.
async fn finalizer(world: &World, tenant: &str, on: bool) {
    until(
        SOON,
        &format!("the finalizer of {tenant} is on: {on}"),
        async || {
            let finalizers = world
                .tenants()
                .get(tenant)
                .await?
                .metadata
                .finalizers
                .unwrap_or_default();
            ensure!(
                finalizers.iter().any(|name| name == FINALIZER) == on,
                "{finalizers:?}"
            );
            Ok(())
        },
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn m3_a_policy_that_became_delete_before_the_deletion_removes_everything() {
    let world = World::shared("policy-delete").await.unwrap();
    world.ready_tenant("app", "").await.unwrap();
    finalizer(&world, "app", false).await;
    world
        .patch_tenant("app", &json!({"spec": {"deletionPolicy": "Delete"}}))
        .await
        .unwrap()
        .success()
        .unwrap();
    finalizer(&world, "app", true).await;
    delete(&world, "app").await.unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn m3_a_policy_that_became_retain_before_the_deletion_keeps_everything() {
    let world = World::shared("policy-retain").await.unwrap();
    world
        .ready_tenant("app", "deletionPolicy: Delete")
        .await
        .unwrap();
    finalizer(&world, "app", true).await;
    world
        .patch_tenant("app", &json!({"spec": {"deletionPolicy": "Retain"}}))
        .await
        .unwrap()
        .success()
        .unwrap();
    finalizer(&world, "app", false).await;
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    assert_eq!(traces(&world, "app").await.unwrap().len(), 6);
}

#[tokio::test]
async fn m3_d4_from_the_beginning_of_the_deletion_the_spec_is_frozen_and_metadata_are_not() {
    let world = World::shared("policy-frozen").await.unwrap();
    world
        .ready_tenant("app", "deletionPolicy: Delete")
        .await
        .unwrap();
    let session = world
        .bed
        .postgres()
        .superuser(&world.identifier("app"))
        .await
        .unwrap();
    delete(&world, "app").await.unwrap();
    world
        .tenant_reason("app", "ProvisioningFailed")
        .await
        .unwrap();
    assert_eq!(
        row(&world, "app", "frozen_policy")
            .await
            .unwrap()
            .as_deref(),
        Some("Delete")
    );
    for patch in [
        json!({"deletionPolicy": "Retain"}),
        json!({"extensions": ["pgcrypto"]}),
        json!({"database": "other"}),
    ] {
        let refused = world
            .patch_tenant("app", &json!({"spec": patch.clone()}))
            .await
            .unwrap();
        assert_ne!(refused.code, 0, "{patch} was taken");
        assert!(refused.stderr.contains("delet"), "{}", refused.stderr);
    }
    let label = json!({"metadata": {"labels": {"seen": "yes"}}});
    world
        .patch_tenant("app", &label)
        .await
        .unwrap()
        .success()
        .unwrap();
    drop(session);
    nothing_left(&world, "app").await.unwrap();
}
