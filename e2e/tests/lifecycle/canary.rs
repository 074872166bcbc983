//! Story: known secrets are in no place where they do not belong (Must show 4, C5, H34, H38).
//!
//! The process logs at trace level, PostgreSQL logs every statement, and things are made to fail. For each place a deliberate
//! leak proves that a secret there would be found.

use std::fs;
use std::path::Path;

use anyhow::ensure;
use e2e::bed::openbao::TENANTRY;
use e2e::bed::wait::until;
use e2e::world::objects::all;
use e2e::world::tenancy::{API_VERSION, SOON, World};
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};
use kube::api::{Api, DynamicObject, ListParams};

use super::canary_scan::Scanner;
use super::extras::{delete, gone, set_admin_secret};

/// Most of what a library might print, asked for by name: a ceiling that a longer target goes around is none.
const LOG: &str = "trace,hyper::proto::h1=trace,hyper_util::client=trace,kube_client::client=trace,tokio_postgres::connect_raw=trace,\
                   rustify::client=trace,vaultrs::api=trace,reqwest::connect=trace,rustls::client=trace,tower::buffer=trace,h2::codec=trace";
/// Folders of the run folder in which secrets belong, or which hold programs.
const BELONG: [&str; 5] = [
    "pki",
    "etcd",
    "openbao",
    "postgresql-programs",
    "kubectl-cache",
];

/// One place, and a text that is known to be there if the place was really looked at.
struct Sink {
    name: String,
    content: Vec<u8>,
    planted: String,
}

#[tokio::test]
async fn alone_h38_c5_known_secrets_are_in_no_log_event_status_metric_argument_or_file() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let mut options = TenantryOptions::default();
    options.log = Some(LOG.to_owned());
    let mut world = World::private(bed, options, "canary").await.unwrap();
    let token = world.bed.openbao().token(&[TENANTRY], "1h").await.unwrap();
    let rejected = format!("wrong '{:032x}", rand::random::<u128>());

    let application = live_through_everything(&mut world, &token, &rejected).await;

    let secrets = [
        (
            "admin password",
            world.bed.postgres().admin_password().unwrap(),
        ),
        ("rejected admin password", rejected),
        ("tenant password", application),
        ("OpenBao token", token),
        ("ServiceAccount token", read(&world, "pki/tenantry-token")),
        ("OpenBao root token", read(&world, "pki/openbao-root-token")),
    ];
    let secrets: Vec<(&str, &str)> = secrets
        .iter()
        .map(|(name, secret)| (*name, secret.trim()))
        .collect();
    let scanner = Scanner::new(&secrets);
    let sinks = sinks(&world).await;
    for Sink {
        name,
        content,
        planted,
    } in &sinks
    {
        let planted = Scanner::new(&[("planted", planted.as_str())]);
        assert!(
            !planted.hits(content).is_empty(),
            "{name}: the deliberate leak was not found; it was not looked at"
        );
    }
    let leaks: Vec<String> = sinks
        .iter()
        .flat_map(|sink| {
            scanner
                .hits(&sink.content)
                .into_iter()
                .map(move |hit| format!("{hit} in {}", sink.name))
        })
        .collect();
    assert_eq!(leaks, [""; 0]);
}

/// Creation, failures of each part, rotation of the login, deletion; gives a tenant's password.
async fn live_through_everything(world: &mut World, token: &str, rejected: &str) -> String {
    world
        .ready_tenant("gone", "deletionPolicy: Delete")
        .await
        .unwrap();
    world
        .ready_tenant("app", "extensions: [pgcrypto]")
        .await
        .unwrap();
    delete(world, "gone").await.unwrap();
    gone(world, "gone").await.unwrap();
    a_statement_with_a_verifier_fails(world).await;

    // A login with a token from a file, and an OpenBao that fails.
    let file = world.bed.folder().join("pki/canary-token");
    e2e::bed::write_private(&file, token).unwrap();
    let path = file.display().to_string();
    world.tenantry.options = world
        .tenantry
        .options
        .clone()
        .flag("--openbao-auth", "token")
        .flag("--openbao-token-file", path);
    world.tenantry.restart().await.unwrap();
    world.ready_tenant("by-token", "").await.unwrap();
    world.bed.openbao().seal().await.unwrap();
    world
        .apply(&world.tenant_manifest("sealed", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    world
        .tenant_reason("sealed", "DependencyUnavailable")
        .await
        .unwrap();
    world.bed.openbao().unseal().await.unwrap();
    world.tenant_ready("sealed").await.unwrap();

    // The password that the server refuses, and the tenant's own by a wrong hand.
    set_admin_secret(world, &world.instance, &[("password", Some(rejected))])
        .await
        .unwrap();
    world
        .instance_reason(&world.instance, "AuthenticationFailed")
        .await
        .unwrap();
    let password = world.bed.postgres().admin_password().unwrap();
    set_admin_secret(world, &world.instance, &[("password", Some(&password))])
        .await
        .unwrap();
    world.instance_is("True").await.unwrap();
    let login = world.application("app").await.unwrap();
    login.query("SELECT 1/0").await.unwrap();
    login.password
}

/// `CREATE ROLE` waits for a lock until it is cancelled: the server logs the error with the statement.
async fn a_statement_with_a_verifier_fails(world: &World) {
    let server = world.bed.postgres();
    let session = server.superuser("postgres").await.unwrap();
    session
        .batch_execute("BEGIN; LOCK TABLE pg_catalog.pg_authid IN EXCLUSIVE MODE")
        .await
        .unwrap();
    world
        .apply(&world.tenant_manifest("locked", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let log = world.bed.folder().logs().join("postgresql.log");
    until(SOON, "CREATE ROLE fails", async || {
        let text = fs::read_to_string(&log)?;
        let failed = text
            .lines()
            .any(|line| line.contains("STATEMENT:") && line.contains("PASSWORD 'SCRAM-SHA-256$"));
        ensure!(failed, "no such statement in the server's log");
        Ok(())
    })
    .await
    .unwrap();
    session.batch_execute("ROLLBACK").await.unwrap();
    world.tenant_ready("locked").await.unwrap();
}

fn read(world: &World, file: &str) -> String {
    fs::read_to_string(world.bed.folder().join(file)).unwrap()
}

/// Every place with what it holds now. What is planted is something that the software itself put there: the Tenant's database
/// name stands for a secret that is logged like any other text.
async fn sinks(world: &World) -> Vec<Sink> {
    let client = world.namespace.client();
    let database = world.identifier("app");
    let process = world.tenantry.process().unwrap().pid;
    let (_, metrics) = world.tenantry.get("/metrics").await.unwrap();
    let sink = |name: &str, content: Vec<u8>, planted: &str| Sink {
        name: name.to_owned(),
        content,
        planted: planted.to_owned(),
    };
    let proc = |file: &str| fs::read(format!("/proc/{process}/{file}")).unwrap();
    let mut sinks = vec![
        sink(
            "the log of the process",
            fs::read(world.tenantry.log_file()).unwrap(),
            &world.namespace.name,
        ),
        sink(
            "the metrics",
            metrics.into_bytes(),
            "controller_runtime_reconcile_total",
        ),
        sink(
            "the arguments of the process",
            proc("cmdline"),
            "--openbao-token-file",
        ),
        sink(
            "the environment of the process",
            proc("environ"),
            "KUBECONFIG=",
        ),
        sink(
            "the log of PostgreSQL",
            fs::read(world.bed.folder().logs().join("postgresql.log")).unwrap(),
            &database,
        ),
    ];
    for (version, kind, planted) in [
        ("events.k8s.io/v1", "Event", &world.namespace.name),
        (API_VERSION, "PostgreSQLTenant", &database),
        (API_VERSION, "PostgreSQLInstance", &world.instance),
        ("external-secrets.io/v1", "ExternalSecret", &database),
    ] {
        let objects: Api<DynamicObject> = all(client, version, kind);
        let list = objects.list(&ListParams::default()).await.unwrap();
        sinks.push(sink(
            &format!("objects of kind {kind}"),
            serde_json::to_vec(&list.items).unwrap(),
            planted,
        ));
    }
    let folder = world.bed.folder();
    fs::write(folder.join("planted"), "planted in a file").unwrap();
    let mut content = Vec::new();
    collect(folder.path(), &mut content);
    sinks.push(sink(
        "the files of the run folder",
        content,
        "planted in a file",
    ));
    sinks
}

/// What is in the files below a folder, but where secrets belong.
fn collect(folder: &Path, content: &mut Vec<u8>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && !BELONG.iter().any(|belong| name == *belong) {
            collect(&path, content);
        } else if kind.is_file() {
            // A file that goes while it is read holds nothing any more.
            content.extend(fs::read(&path).unwrap_or_default());
            content.push(b'\n');
        }
    }
}
