//! Story: the endpoint of an Instance leads to another registry than the one that made its Tenants (T5).

use e2e::bed::PostgresDescription;
use e2e::bed::postgres::{ADMIN, MANAGEMENT_DATABASE};
use e2e::world::condition::condition;
use e2e::world::tenancy::{SOON, World, superuser};
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::outside::{Names, outside};
use super::scene::{application_says, wholly_ready};

async fn point(world: &World, endpoint: &Value) {
    let patch = Patch::Merge(json!({"spec": {"endpoint": endpoint}}));
    world
        .instances()
        .patch(&world.instance, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// Waits until the Tenant says that the place has no claim of it.
async fn refused_at(world: &World, tenant: &str, server: &PostgresDescription, database: &str) {
    let place = format!("{}:{}/{database}", server.host_address, server.port);
    let said = world
        .tenant_reason(tenant, "ProvisioningFailed")
        .await
        .unwrap();
    for words in [place.as_str(), "no claim in the registry", "point it back"] {
        assert!(
            said.message.contains(words),
            "{said:?} does not say {words:?}"
        );
    }
}

#[tokio::test]
async fn t5_a_registry_without_the_claim_gets_nothing_and_pointing_back_cures_it() {
    let world = World::shared("t5").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let before = outside(&world, &names).await;
    let elsewhere = world.identifier("elsewhere");
    world
        .bed
        .postgres()
        .create_management_database(&elsewhere)
        .await
        .unwrap();

    point(&world, &json!({"database": elsewhere})).await;
    refused_at(
        &world,
        "app",
        world.bed.postgres().description(),
        &elsewhere,
    )
    .await;
    assert_eq!(outside(&world, &names).await, before);
    let rows = "SELECT count(*)::text FROM tenantry.claim";
    assert_eq!(
        world.superuser(&elsewhere, rows).await.unwrap().as_deref(),
        Some("0")
    );
    application_says(&world, "app", "SELECT 1").await;

    point(&world, &json!({"database": world.management_database()})).await;
    wholly_ready(&world, &names).await;
    assert_eq!(outside(&world, &names).await, before);
}

#[tokio::test]
async fn alone_t5_another_server_gets_nothing_and_pointing_back_cures_it() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let other = bed.another_postgres("postgresql-2").await.unwrap();
    let world = World::private(bed, TenantryOptions::default(), "t5")
        .await
        .unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let before = outside(&world, &names).await;

    // The same administrator there, so that only the registry can tell the two apart.
    let password = world.bed.postgres().admin_password().unwrap();
    let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
    superuser(
        &other,
        "postgres",
        &format!("ALTER ROLE {ADMIN} PASSWORD '{verifier}'"),
    )
    .await
    .unwrap();
    let there = other.description().clone();
    let moved = json!({
        "host": there.host, "hostaddr": there.host_address, "port": there.port, "database": MANAGEMENT_DATABASE,
    });
    point(&world, &moved).await;
    refused_at(&world, "app", &there, MANAGEMENT_DATABASE).await;
    assert_eq!(outside(&world, &names).await, before);
    let made = format!(
        "SELECT concat_ws(' ', (SELECT count(*) FROM pg_roles WHERE rolname = '{0}'), (SELECT count(*) FROM pg_database WHERE datname = '{0}'))",
        names.database
    );
    assert_eq!(
        superuser(&other, "postgres", &made)
            .await
            .unwrap()
            .as_deref(),
        Some("0 0")
    );

    let here = world.bed.postgres().description().clone();
    let back = json!({
        "host": here.host, "hostaddr": here.host_address, "port": here.port, "database": world.management_database(),
    });
    point(&world, &back).await;
    let ready =
        e2e::world::condition::await_condition(&world.tenants(), "app", "Ready", "True", SOON)
            .await
            .unwrap();
    assert_eq!(condition(&ready, "Ready").unwrap().reason, "Ready");
    assert_eq!(outside(&world, &names).await, before);
}
