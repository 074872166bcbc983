//! Story: the process itself is stopped, restarted and misconfigured; what it made stays as it is.

use std::time::{Duration, Instant};

use anyhow::ensure;
use e2e::bed::openbao::TENANTRY;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};
use kube::ResourceExt;
use kube::api::{ListParams, ObjectMeta, PostParams};
use nix::sys::signal::Signal;

use super::extras::{delete, entry_exists, gone, row};

#[tokio::test]
async fn alone_restarts_change_nothing_and_wrong_settings_are_said() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let mut world = World::private(bed, TenantryOptions::default(), "restarts")
        .await
        .unwrap();
    world
        .ready_tenant("app", "deletionPolicy: Delete")
        .await
        .unwrap();
    world.ready_tenant("kept", "").await.unwrap();

    a_restart_writes_nothing(&world).await;
    bug17_t4_tenants_deleted_while_tenantry_is_down_are_handled_at_its_start(&world).await;
    d9_a_mount_of_kv_version_1_is_refused_and_not_written_to(&mut world).await;
    a_store_that_is_missing_is_a_failed_projection(&mut world).await;
    sigterm_is_said_by_readiness_and_obeyed_within_5_s(&mut world).await;
}

/// resourceVersions of everything that Tenantry writes in the story's namespace, and of the Instance.
async fn versions(world: &World) -> Vec<String> {
    let all = ListParams::default();
    let mut objects = world.tenants().list(&all).await.unwrap().items;
    objects.extend(world.external_secrets().list(&all).await.unwrap().items);
    objects.push(world.instances().get(&world.instance).await.unwrap());
    objects
        .iter()
        .map(|object| format!("{} {:?}", object.name_any(), object.resource_version()))
        .collect()
}

/// Waits until the process has reconciled so many objects since its start.
async fn reconciled(world: &World, controller: &str, least: f64) {
    let start = format!("controller_runtime_reconcile_total{{controller=\"{controller}\"");
    until(SOON, &format!("{controller} was reconciled"), async || {
        let (_, text) = world.tenantry.get("/metrics").await?;
        let series = text.lines().filter(|line| line.starts_with(&start));
        let count: f64 = series
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum();
        ensure!(count >= least, "{count} times\n{text}");
        Ok(())
    })
    .await
    .unwrap();
}

async fn a_restart_writes_nothing(world: &World) {
    let before = versions(world).await;
    let registry = "SELECT string_agg(c::text, ' ' ORDER BY name) FROM tenantry.claim c";
    let rows = world.registry(registry).await.unwrap();
    let start = Instant::now();
    world.tenantry.stop();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "an idle process took {:?} to end",
        start.elapsed()
    );
    world.tenantry.restart().await.unwrap();
    reconciled(world, "postgresqltenant", 2.0).await;
    reconciled(world, "postgresqlinstance", 1.0).await;
    assert_eq!(versions(world).await, before);
    assert_eq!(world.registry(registry).await.unwrap(), rows);
}

async fn bug17_t4_tenants_deleted_while_tenantry_is_down_are_handled_at_its_start(world: &World) {
    let (uid, entry) = (
        row(world, "kept", "tenant_uid").await.unwrap(),
        world.entry("kept").await.unwrap(),
    );
    let application = world.application("kept").await.unwrap();
    world.tenantry.stop();
    delete(world, "kept").await.unwrap();
    gone(world, "kept").await.unwrap();
    delete(world, "app").await.unwrap();
    assert!(
        world
            .tenants()
            .get("app")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    );
    application
        .query("SELECT 1")
        .await
        .unwrap()
        .success()
        .unwrap();

    world.tenantry.restart().await.unwrap();
    super::extras::nothing_left(world, "app").await.unwrap();
    super::retain::unmanaged(world, "kept").await;
    world
        .apply(&world.tenant_manifest("kept", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world.tenant_reason("kept", "Conflict").await.unwrap();
    assert!(
        said.message.contains("was retained from"),
        "{}",
        said.message
    );
    assert_eq!(row(world, "kept", "tenant_uid").await.unwrap(), uid);
    assert_eq!(world.entry("kept").await.unwrap(), entry);
    application
        .query("SELECT 1")
        .await
        .unwrap()
        .success()
        .unwrap();
}

async fn d9_a_mount_of_kv_version_1_is_refused_and_not_written_to(world: &mut World) {
    let openbao = world.bed.openbao();
    openbao.mount_kv("legacy", 1).await.unwrap();
    let root = openbao.root().unwrap();
    let policy =
        r#"path "legacy/*" { capabilities = ["create", "read", "update", "delete", "list"] }"#;
    vaultrs::sys::policy::set(&root, "legacy", policy)
        .await
        .unwrap();
    let token = openbao.token(&["legacy"], "1h").await.unwrap();
    let file = world.bed.folder().join("pki/legacy-token");
    e2e::bed::write_private(&file, &token).unwrap();
    let usual = world.tenantry.options.clone();
    world.tenantry.options = usual
        .clone()
        .flag("--openbao-mount", "legacy")
        .flag("--openbao-auth", "token")
        .flag("--openbao-token-file", file.display().to_string());
    world.tenantry.restart().await.unwrap();
    world
        .apply(&world.tenant_manifest("v1", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world
        .tenant_reason("v1", "ProvisioningFailed")
        .await
        .unwrap();
    assert!(
        said.message
            .contains("mount legacy is not a KV engine of version 2"),
        "{}",
        said.message
    );
    let written = vaultrs::kv1::list(&root, "legacy", TENANTRY).await;
    assert!(written.is_err(), "{:?} was written", written.ok());
    assert!(!world.has_role(&world.identifier("v1")).await.unwrap());
    world.instance_is("True").await.unwrap();

    world.tenantry.options = usual;
    world.tenantry.restart().await.unwrap();
    world.tenant_ready("v1").await.unwrap();
}

async fn a_store_that_is_missing_is_a_failed_projection(world: &mut World) {
    let usual = world.tenantry.options.clone();
    world.tenantry.options = usual.clone().flag("--secret-store-name", "later");
    world.tenantry.restart().await.unwrap();
    world
        .apply(&world.tenant_manifest("storeless", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world
        .tenant_reason("storeless", "CredentialProjectionFailed")
        .await
        .unwrap();
    assert!(
        said.message.contains(&world.secret_name("storeless")),
        "{}",
        said.message
    );
    assert!(
        world
            .has_database(&world.identifier("storeless"))
            .await
            .unwrap()
    );

    let store = e2e::world::objects::all(
        world.namespace.client(),
        "external-secrets.io/v1",
        "ClusterSecretStore",
    );
    let mut later = store.get(e2e::bed::STORE).await.unwrap();
    later.metadata = ObjectMeta {
        name: Some("later".to_owned()),
        ..ObjectMeta::default()
    };
    later.data["status"] = serde_json::Value::Null;
    store.create(&PostParams::default(), &later).await.unwrap();
    world.tenant_ready("storeless").await.unwrap();
    assert_eq!(world.entry("storeless").await.unwrap().0, 1);

    // The deployment's store name is put right: the ExternalSecret follows.
    world.tenantry.options = usual;
    world.tenantry.restart().await.unwrap();
    until(
        SOON,
        "the ExternalSecret names the usual store",
        async || {
            let projection = world
                .external_secrets()
                .get(&world.secret_name("storeless"))
                .await?;
            ensure!(
                projection.data["spec"]["secretStoreRef"]["name"] == e2e::bed::STORE,
                "{}",
                projection.data["spec"]
            );
            Ok(())
        },
    )
    .await
    .unwrap();
    world.tenant_ready("storeless").await.unwrap();
}

/// A round that never ends holds the process as long as anything may.
async fn sigterm_is_said_by_readiness_and_obeyed_within_5_s(world: &mut World) {
    world.tenantry.options = world
        .tenantry
        .options
        .clone()
        .failpoints("tenant.bao.data.before=return");
    world.tenantry.restart().await.unwrap();
    world
        .apply(&world.tenant_manifest("stuck", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    until(SOON, "the round is stuck", async || {
        let log = std::fs::read_to_string(world.tenantry.log_file())?;
        ensure!(
            log.contains("failpoint tenant.bao.data.before reached"),
            "not yet"
        );
        Ok(())
    })
    .await
    .unwrap();
    let process = world.tenantry.process().unwrap();
    let start = Instant::now();
    process.signal(Signal::SIGTERM);
    until(
        Duration::from_secs(2),
        "readiness says that it is stopping",
        async || {
            let (status, body) = world.tenantry.get("/readyz").await?;
            ensure!(status == 503, "{status}: {body}");
            Ok(())
        },
    )
    .await
    .unwrap();
    let (live, _) = world.tenantry.get("/livez").await.unwrap();
    assert_eq!(live, 200);
    world.tenantry.ended(Duration::from_secs(8)).await.unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "it took {:?}",
        start.elapsed()
    );
    assert!(!entry_exists(world, "stuck").await.unwrap());

    world.tenantry.options.failpoints = None;
    world.tenantry.restart().await.unwrap();
    world.tenant_ready("stuck").await.unwrap();
    assert_eq!(world.entry("stuck").await.unwrap().0, 1);
}
