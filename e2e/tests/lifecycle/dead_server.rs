//! Story: a server that does not answer hurts its own Tenants only (D14), and one that goes away is noticed by the first Tenant
//! that needs it, long before the slow timer.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use e2e::bed::PostgresDescription;
use e2e::bed::postgres::{ADMIN, MANAGEMENT_DATABASE};
use e2e::world::condition::await_condition;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};

/// More than Tenantry works on at once, of both kinds.
const INSTANCES: usize = 6;
const TENANTS_OF_EACH: usize = 16;
/// A healthy Tenant's time, with much to spare; rounds that wait for a silent server would keep it waiting for longer.
const PROMPT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn alone_d14_servers_that_are_silent_or_gone_hold_up_nobody_elses_tenants() {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    // Few at once, so that rounds which wait would be a long queue.
    let options = TenantryOptions::default().flag("--concurrency", "4");
    let world = World::private(bed, options, "dead").await.unwrap();
    silent_servers_hold_up_nobody_else(&world).await;
    a_tenants_failure_makes_its_instance_be_looked_at_at_once(&world).await;
}

/// An Instance of the bed's administrator, and a Tenant's manifest for it.
async fn register(world: &World, name: &str, server: &PostgresDescription, password: &str) {
    world
        .create_admin_secret(name, ADMIN, password)
        .await
        .unwrap();
    let manifest = world.instance_of(name, server, MANAGEMENT_DATABASE);
    world.apply(&manifest).await.unwrap().success().unwrap();
}

fn tenant_of(world: &World, instance: &str, name: &str) -> String {
    world.tenant_manifest(name, "").replace(
        &format!("instanceRef: {}", world.instance),
        &format!("instanceRef: {instance}"),
    )
}

async fn silent_servers_hold_up_nobody_else(world: &World) {
    // The kernel takes connections, and nobody ever says a word on them.
    let silence = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = PostgresDescription {
        port: silence.local_addr().unwrap().port(),
        ..world.bed.postgres().description().clone()
    };
    let mut manifests = Vec::new();
    for number in 0..INSTANCES {
        let instance = format!("silent-{number}");
        register(world, &instance, &server, "unused").await;
        for tenant in 0..TENANTS_OF_EACH {
            let name = format!("app-{number}-{tenant}");
            manifests.push(tenant_of(world, &instance, &name));
        }
    }
    let said = world
        .instance_reason("silent-0", "DependencyUnavailable")
        .await
        .unwrap();
    assert!(
        said.message.contains("could not connect"),
        "{}",
        said.message
    );
    manifests.push(world.tenant_manifest("prompt", ""));
    let all = manifests.join("---\n");
    world.apply(&all).await.unwrap().success().unwrap();
    let start = Instant::now();
    world.tenant_ready("prompt").await.unwrap();
    assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
    world
        .tenant_reason("app-0-0", "InstanceNotReady")
        .await
        .unwrap();
}

async fn a_tenants_failure_makes_its_instance_be_looked_at_at_once(world: &World) {
    let server = world.bed.another_postgres("leaving").await.unwrap();
    let password = server.admin_password().unwrap();
    register(world, "leaving", server.description(), &password).await;
    await_condition(&world.instances(), "leaving", "Ready", "True", SOON)
        .await
        .unwrap();
    server.stop();
    world
        .apply(&tenant_of(world, "leaving", "finder"))
        .await
        .unwrap()
        .success()
        .unwrap();
    // The slow timer is at its default of ten minutes.
    world
        .instance_reason("leaving", "DependencyUnavailable")
        .await
        .unwrap();
    let said = world
        .tenant_reason("finder", "InstanceNotReady")
        .await
        .unwrap();
    assert!(said.message.contains("leaving"), "{}", said.message);
    server.start().await.unwrap();
    world.tenant_ready("finder").await.unwrap();
}
