//! Story: PostgreSQL and OpenBao go away and come back, while nothing happens and in the middle of creations.
//!
//! One bed for all of it, with the slow timer at 2 s so that an outage is noticed without anybody's edit.

use std::time::Duration;

use anyhow::ensure;
use e2e::bed::postgres::{ADMIN, MANAGEMENT_DATABASE, Postgres};
use e2e::bed::wait::until;
use e2e::world::condition::{await_condition, await_gone, await_reason, condition};
use e2e::world::objects::Namespace;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams};

use super::extras::entry_exists;

#[tokio::test]
async fn alone_outages_are_said_hurt_nobody_else_and_end_without_a_restart() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let options = TenantryOptions::default().flag("--resync-interval", "2s");
    let world = World::private(bed, options, "outages").await.unwrap();
    world.ready_tenant("steady", "").await.unwrap();
    let process = world.tenantry.process().unwrap().pid;

    postgresql_down_takes_down_its_instance_and_tenants_and_nobody_else(&world).await;
    sealed_openbao_stops_creations_and_leaves_ready_tenants_ready(&world).await;
    t1_restarts_in_the_middle_of_creations_leave_one_password_each(&world).await;

    assert_eq!(
        world.tenantry.process().unwrap().pid,
        process,
        "Tenantry was never restarted"
    );
}

/// The second server of the bed with an Instance and a ready Tenant.
async fn other_server(world: &World) -> (Postgres, String) {
    let server = world.bed.another_postgres("other").await.unwrap();
    let name = format!("{}-other", world.instance);
    world
        .create_admin_secret(&name, ADMIN, &server.admin_password().unwrap())
        .await
        .unwrap();
    let manifest = world.instance_of(&name, server.description(), MANAGEMENT_DATABASE);
    world.apply(&manifest).await.unwrap().success().unwrap();
    await_condition(&world.instances(), &name, "Ready", "True", SOON)
        .await
        .unwrap();
    let tenant = world.tenant_manifest("elsewhere", "");
    let tenant = tenant.replace(
        &format!("instanceRef: {}", world.instance),
        &format!("instanceRef: {name}"),
    );
    world.apply(&tenant).await.unwrap().success().unwrap();
    world.tenant_ready("elsewhere").await.unwrap();
    (server, name)
}

/// Versions of objects that must not be written to.
async fn versions(world: &World, other: &str) -> [Option<String>; 2] {
    let tenant = world.tenants().get("elsewhere").await.unwrap();
    let instance = world.instances().get(other).await.unwrap();
    [tenant.resource_version(), instance.resource_version()]
}

async fn postgresql_down_takes_down_its_instance_and_tenants_and_nobody_else(world: &World) {
    let (_server, other) = other_server(world).await;
    let untouched = versions(world, &other).await;
    let namespace = leaving_namespace(world).await;

    world.bed.postgres().stop();
    let said = world
        .instance_reason(&world.instance, "DependencyUnavailable")
        .await
        .unwrap();
    // Whichever is seen first of a server that stops.
    let words = [
        "could not connect to 127.0.0.1:",
        "is starting or shutting down",
    ];
    assert!(
        words.iter().any(|words| said.message.contains(words)),
        "{}",
        said.message
    );
    let said = world
        .tenant_reason("steady", "InstanceNotReady")
        .await
        .unwrap();
    assert!(
        said.message.contains("DependencyUnavailable"),
        "{}",
        said.message
    );
    world
        .apply(&world.tenant_manifest("waiting", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    world
        .tenant_reason("waiting", "InstanceNotReady")
        .await
        .unwrap();
    assert!(!entry_exists(world, "waiting").await.unwrap());
    assert_eq!(
        versions(world, &other).await,
        untouched,
        "an outage elsewhere was written to others"
    );
    bug14_a_namespace_with_a_retained_tenant_goes(world, &namespace).await;

    world.bed.postgres().start().await.unwrap();
    world.instance_is("True").await.unwrap();
    world.tenant_ready("steady").await.unwrap();
    world.tenant_ready("waiting").await.unwrap();
    t4_the_row_of_a_tenant_that_left_in_the_outage_is_marked(world, &namespace).await;
    assert_eq!(versions(world, &other).await, untouched);
    world
        .application("steady")
        .await
        .unwrap()
        .query("SELECT 1")
        .await
        .unwrap()
        .success()
        .unwrap();
}

/// Another namespace with a ready Tenant that is retained.
async fn leaving_namespace(world: &World) -> Namespace {
    let namespace = Namespace::create(&world.bed, "leaving").await.unwrap();
    let tenant = world.tenant_manifest("leaving", "");
    let tenant = tenant.replace(
        &format!("namespace: {}", world.namespace.name),
        &format!("namespace: {}", namespace.name),
    );
    world.apply(&tenant).await.unwrap().success().unwrap();
    let tenants = namespace.objects(e2e::world::tenancy::API_VERSION, "PostgreSQLTenant");
    await_condition(&tenants, "leaving", "Ready", "True", SOON)
        .await
        .unwrap();
    namespace
}

async fn bug14_a_namespace_with_a_retained_tenant_goes(world: &World, namespace: &Namespace) {
    let namespaces: Api<DynamicObject> =
        e2e::world::objects::all(world.namespace.client(), "v1", "Namespace");
    namespaces
        .delete(&namespace.name, &DeleteParams::default())
        .await
        .unwrap();
    await_gone(&namespaces, &namespace.name, SOON)
        .await
        .unwrap();
}

async fn t4_the_row_of_a_tenant_that_left_in_the_outage_is_marked(
    world: &World,
    namespace: &Namespace,
) {
    let sql = format!(
        "SELECT state FROM tenantry.claim WHERE namespace = '{}' AND name = 'leaving'",
        namespace.name
    );
    until(SOON, "the row is unmanaged", async || {
        let state = world.registry(&sql).await?;
        ensure!(state.as_deref() == Some("unmanaged"), "{state:?}");
        Ok(())
    })
    .await
    .unwrap();
}

async fn sealed_openbao_stops_creations_and_leaves_ready_tenants_ready(world: &World) {
    let openbao = world.bed.openbao();
    openbao.seal().await.unwrap();
    world
        .apply(&world.tenant_manifest("sealed", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world
        .tenant_reason("sealed", "DependencyUnavailable")
        .await
        .unwrap();
    assert!(
        said.message.contains("OpenBao answers 503") && said.message.contains("sealed"),
        "{}",
        said.message
    );
    noticed(world, "steady", "OpenBao").await;
    stays_ready(world, "steady").await;
    openbao.unseal().await.unwrap();
    world.tenant_ready("sealed").await.unwrap();
    assert_eq!(world.entry("sealed").await.unwrap().0, 1, "one password");

    openbao.stop();
    world
        .apply(&world.tenant_manifest("stopped", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world
        .tenant_reason("stopped", "DependencyUnavailable")
        .await
        .unwrap();
    assert!(
        said.message.contains("OpenBao does not answer"),
        "{}",
        said.message
    );
    stays_ready(world, "steady").await;
    await_reason(&world.instances(), &world.instance, "Ready", "Ready", SOON)
        .await
        .unwrap();
    openbao.start().await.unwrap();
    world.tenant_ready("stopped").await.unwrap();
    assert_eq!(world.entry("stopped").await.unwrap().0, 1, "one password");
    stays_ready(world, "steady").await;
}

/// Waits for an event about the Tenant with these words.
async fn noticed(world: &World, tenant: &str, words: &str) {
    let events = world.namespace.objects("events.k8s.io/v1", "Event");
    until(
        SOON,
        &format!("an event about {tenant} says {words}"),
        async || {
            let list = events.list(&ListParams::default()).await?;
            let about = list
                .items
                .iter()
                .filter(|event| event.data["regarding"]["name"] == tenant);
            let notes: Vec<&str> = about
                .filter_map(|event| event.data["note"].as_str())
                .collect();
            ensure!(notes.iter().any(|note| note.contains(words)), "{notes:?}");
            Ok(())
        },
    )
    .await
    .unwrap();
}

async fn stays_ready(world: &World, tenant: &str) {
    let object = world.tenants().get(tenant).await.unwrap();
    let ready = condition(&object, "Ready").unwrap();
    assert_eq!(ready.status, "True", "{}: {}", ready.reason, ready.message);
}

async fn t1_restarts_in_the_middle_of_creations_leave_one_password_each(world: &World) {
    let names: Vec<String> = (0..6).map(|number| format!("many-{number}")).collect();
    let manifests: Vec<String> = names
        .iter()
        .map(|name| world.tenant_manifest(name, "extensions: [pgcrypto]"))
        .collect();
    world
        .apply(&manifests.join("---\n"))
        .await
        .unwrap()
        .success()
        .unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    world.bed.openbao().stop();
    tokio::time::sleep(Duration::from_millis(400)).await;
    world.bed.postgres().stop();
    world.bed.openbao().start().await.unwrap();
    world.bed.postgres().start().await.unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    world.bed.postgres().stop();
    world.bed.postgres().start().await.unwrap();
    for name in &names {
        world.tenant_ready(name).await.unwrap();
        let (version, data) = world.entry(name).await.unwrap();
        assert_eq!(version, 1, "{name} has more than one password");
        let login = world.application(name).await.unwrap();
        assert_eq!(login.password, data["password"]);
        login
            .query("SELECT public.gen_random_bytes(1)")
            .await
            .unwrap()
            .success()
            .unwrap();
    }
    let roles = format!(
        "SELECT count(*)::text FROM pg_roles WHERE rolname LIKE '{}'",
        world.identifier("many\\_%")
    );
    assert_eq!(
        world
            .superuser("postgres", &roles)
            .await
            .unwrap()
            .as_deref(),
        Some("6")
    );
}
