//! Story: a Tenant with `deletionPolicy: Retain` leaves at once, and its application goes on (T4, D5).

use std::time::{Duration, Instant};

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};

use super::extras::{delete, gone, row, secrets, traces};

const ALL: [&str; 6] = [
    "database",
    "role",
    "entry",
    "ExternalSecret",
    "Secret",
    "row",
];

/// Waits until the Tenant's row is marked as unmanaged.
pub async fn unmanaged(world: &World, tenant: &str) {
    until(SOON, "the row is unmanaged", async || {
        let state = row(world, tenant, "state").await?;
        ensure!(state.as_deref() == Some("unmanaged"), "{state:?}");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn bug43_d5_a_retained_tenant_leaves_at_once_and_its_application_goes_on() {
    let world = World::shared("retain").await.unwrap();
    let tenant = world.ready_tenant("app", "").await.unwrap();
    assert_eq!(tenant.metadata.finalizers, None);
    let application = world.application("app").await.unwrap();
    application
        .query("CREATE TABLE public.kept AS SELECT 'data' AS what")
        .await
        .unwrap()
        .success()
        .unwrap();
    let entry = world.entry("app").await.unwrap();
    let secret = secrets(&world)
        .get(&world.secret_name("app"))
        .await
        .unwrap();

    let start = Instant::now();
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    unmanaged(&world, "app").await;
    assert_eq!(
        row(&world, "app", "tenant_uid").await.unwrap(),
        tenant.metadata.uid
    );
    assert_eq!(traces(&world, "app").await.unwrap(), ALL);
    assert_eq!(world.entry("app").await.unwrap(), entry);
    let after = secrets(&world)
        .get(&world.secret_name("app"))
        .await
        .unwrap();
    assert_eq!(
        (after.metadata.uid, after.data),
        (secret.metadata.uid, secret.data)
    );
    let said = application
        .query("SELECT what FROM public.kept")
        .await
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(said.stdout.trim(), "data");
}

#[tokio::test]
async fn t4_a_new_tenant_of_a_retained_name_is_a_conflict_that_changes_nothing() {
    let world = World::shared("retain-again").await.unwrap();
    let first = world.ready_tenant("app", "").await.unwrap();
    let application = world.application("app").await.unwrap();
    let entry = world.entry("app").await.unwrap();
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    unmanaged(&world, "app").await;

    world
        .apply(&world.tenant_manifest("app", "deletionPolicy: Delete"))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world.tenant_reason("app", "Conflict").await.unwrap();
    assert!(
        said.message.contains("was retained from") && said.message.contains("adopt or release"),
        "{}",
        said.message
    );
    assert_eq!(
        row(&world, "app", "tenant_uid").await.unwrap(),
        first.metadata.uid
    );
    assert_eq!(world.entry("app").await.unwrap(), entry);
    application
        .query("SELECT 1")
        .await
        .unwrap()
        .success()
        .unwrap();

    // The second one never owned anything, so its deletion removes nothing.
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    assert_eq!(traces(&world, "app").await.unwrap(), ALL);
    application
        .query("SELECT 1")
        .await
        .unwrap()
        .success()
        .unwrap();
}
