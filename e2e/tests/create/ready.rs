//! Story: a Tenant is applied and becomes `Ready`; an application logs in with the projected Secret (C4, C5, C7, D7).

use std::collections::BTreeMap;
use std::process::Command;

use e2e::bed::openbao::MOUNT;
use e2e::bed::write_private;
use e2e::world::command::{Output, output};
use e2e::world::tenancy::World;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};

use crate::manifests::{tenant, unique};
use crate::writes::{writes, writes_up_to_the_event};

/// What Tenantry writes from the plan to `Ready`, in order; the finalizer of `Delete` comes after the first.
const STATUS: &str = "patch postgresqltenants/status";
const EXTERNAL_SECRET: &str = "create externalsecrets";
const FINALIZER: &str = "patch postgresqltenants";
const EVENT: &str = "create events";

#[tokio::test]
async fn c4_c5_c7_a_tenant_of_defaults_becomes_ready_and_status_shows_the_effective_names() {
    let world = World::shared("defaults").await.unwrap();
    let name = unique("app");
    let manifest = tenant(&world, &name, &json!({"instanceRef": world.instance}));
    world.apply(&manifest).await.unwrap().success().unwrap();
    let object = world.tenant_ready(&name).await.unwrap();

    assert_status(&world, &object, &name, &name, &world.secret_name(&name)).await;
    let spec = json!({"instanceRef": world.instance, "deletionPolicy": "Retain"});
    assert_eq!(
        object.data["spec"], spec,
        "defaults of other fields stay omitted in spec (C4)"
    );
    assert_eq!(
        object.metadata.finalizers.unwrap_or_default(),
        Vec::<String>::new()
    );
    let role = "SELECT concat_ws(' ', rolcanlogin, rolsuper, rolcreatedb, rolcreaterole, left(rolpassword, 13))";
    let role = format!("{role} FROM pg_authid WHERE rolname = '{name}'");
    let role = world.superuser("postgres", &role).await.unwrap();
    assert_eq!(role.as_deref(), Some("t f f f SCRAM-SHA-256"), "D13");
    let owner = format!("SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = '{name}'");
    assert_eq!(
        world.superuser("postgres", &owner).await.unwrap(),
        Some(name.clone())
    );
    let application = world.application(&name).await.unwrap();
    let sql = "CREATE TABLE things (id int); INSERT INTO things VALUES (7); SELECT id FROM things;";
    assert_eq!(
        application
            .query(sql)
            .await
            .unwrap()
            .success()
            .unwrap()
            .stdout,
        "7\n"
    );
}

#[tokio::test]
async fn d7_a_tenant_with_every_field_set_becomes_ready_with_these_names_and_extensions_in_use() {
    let world = World::shared("explicit").await.unwrap();
    let (database, role) = (unique("data"), unique("login"));
    let spec = json!({
        "instanceRef": world.instance, "database": database, "loginRole": role,
        "extensions": ["citext", "uuid-ossp"], "credential": {"secretName": "my.own-secret"}, "deletionPolicy": "Delete",
    });
    let applied = world
        .apply(&tenant(&world, "my-app", &spec))
        .await
        .unwrap()
        .success()
        .unwrap();
    let warning =
        format!("spec.deletionPolicy is Delete: deleting this tenant destroys database {database}");
    assert!(applied.stderr.contains(&warning), "{}", applied.stderr);
    let object = world.tenant_ready("my-app").await.unwrap();

    assert_status(&world, &object, &database, &role, "my.own-secret").await;
    assert_eq!(
        object.metadata.finalizers.as_deref(),
        Some(&["database.ddupan.top/finalizer".to_owned()][..])
    );
    let secret = world.namespace.secret("my.own-secret").await.unwrap();
    assert_secret(&world, "my-app", "my.own-secret", &secret, &database, &role).await;
    let sql = "SELECT 'Word'::citext = 'wORD'::citext, uuid_generate_v4() IS NOT NULL";
    let used = with_uri(&world, &secret, sql).await.success().unwrap();
    assert_eq!(used.stdout, "t|t\n", "the Secret's uri is used as it is");
    let who = "SELECT current_user, current_database(), ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let used = with_pgpass(&world, &secret, who).await.success().unwrap();
    assert_eq!(used.stdout, format!("{role}|{database}|t\n"));
}

#[tokio::test]
async fn kubectl_get_shows_the_columns_of_both_kinds() {
    let world = World::shared("columns").await.unwrap();
    let database = world.identifier("my_app");
    world.ready_tenant("my-app", "").await.unwrap();
    let get = async |arguments: &[&str]| {
        let shown = world
            .bed
            .kubectl()
            .run(arguments)
            .await
            .unwrap()
            .success()
            .unwrap()
            .stdout;
        let rows: Vec<Vec<String>> = shown
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        rows
    };
    let rows = get(&["get", "pgtenant", "-n", &world.namespace.name]).await;
    assert_eq!(
        rows[0],
        [
            "NAME", "INSTANCE", "DATABASE", "PHASE", "SECRET", "READY", "AGE"
        ]
    );
    assert_eq!(
        rows[1][..6],
        [
            "my-app",
            &world.instance,
            &database,
            "Ready",
            &world.secret_name("my-app"),
            "True"
        ]
    );
    let rows = get(&["get", "pginstance", &world.instance]).await;
    assert_eq!(rows[0], ["NAME", "ENDPOINT", "PHASE", "READY", "AGE"]);
    assert_eq!(
        rows[1][..4],
        [
            &world.instance,
            &world.bed.postgres().description().host,
            "Ready",
            "True"
        ]
    );
}

/// Bug log 32.
#[tokio::test]
async fn a_tenant_enters_neither_another_tenants_database_nor_the_registry() {
    let world = World::shared("closed").await.unwrap();
    let (mine, other) = tokio::join!(
        world.ready_tenant("mine", ""),
        world.ready_tenant("other", "")
    );
    mine.unwrap();
    other.unwrap();
    let mut login = world.application("mine").await.unwrap();
    let refusal = async |login: &e2e::world::psql::Login, sql: &str| {
        let said = login.query(sql).await.unwrap();
        assert_ne!(said.code, 0, "{}", said.stdout);
        said.stderr
    };
    login.database = world.identifier("other");
    let said = refusal(&login, "SELECT 1").await;
    assert!(said.contains("permission denied for database"), "{said}");
    login.database = world.management_database();
    let said = refusal(&login, "SELECT count(*) FROM tenantry.claim").await;
    assert!(said.contains("permission denied"), "{said}");
}

#[tokio::test]
async fn a_tenant_costs_at_most_ten_api_writes_events_included() {
    let world = World::shared("writes").await.unwrap();
    let namespace = &world.namespace.name;
    world
        .ready_tenant("retained", "extensions: [citext]")
        .await
        .unwrap();
    let seen = writes_up_to_the_event(&world.bed, namespace, 0).await;
    let expected = [
        STATUS,
        STATUS,
        STATUS,
        STATUS,
        EXTERNAL_SECRET,
        STATUS,
        STATUS,
        STATUS,
        EVENT,
    ];
    assert_eq!(seen, expected);

    world
        .ready_tenant("deletable", "deletionPolicy: Delete")
        .await
        .unwrap();
    let seen = writes_up_to_the_event(&world.bed, namespace, expected.len()).await;
    let with_finalizer = [
        STATUS,
        FINALIZER,
        STATUS,
        STATUS,
        STATUS,
        EXTERNAL_SECRET,
        STATUS,
        STATUS,
        STATUS,
        EVENT,
    ];
    assert_eq!(seen, with_finalizer);
    assert_eq!(
        writes(&world.bed, namespace).len(),
        expected.len() + with_finalizer.len()
    );
}

/// The whole status, field by field.
async fn assert_status(
    world: &World,
    object: &DynamicObject,
    database: &str,
    role: &str,
    secret: &str,
) {
    let name = object.metadata.name.clone().unwrap();
    let oid = format!("SELECT oid::text FROM pg_database WHERE datname = '{database}'");
    let oid: u32 = world
        .superuser("postgres", &oid)
        .await
        .unwrap()
        .unwrap()
        .parse()
        .unwrap();
    let mut status = object.data["status"].clone();
    let since = status["conditions"][0]
        .as_object_mut()
        .unwrap()
        .remove("lastTransitionTime");
    assert!(since.is_some(), "{status}");
    let url = format!(
        "{}/v1/{MOUNT}/data/{}",
        world.bed.description().openbao.address,
        world.entry_path(&name)
    );
    let expected = json!({
        "observedGeneration": 1, "phase": "Ready", "database": database, "loginRole": role, "databaseOID": oid,
        "credential": {"secretRef": {"name": secret}, "openBaoURL": url},
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": 1,
            "message": "database, role, extensions and Secret verified",
        }],
    });
    assert_eq!(status, expected);
}

/// Type and every key of D7; the password is the one in OpenBao.
async fn assert_secret(
    world: &World,
    name: &str,
    secret_name: &str,
    secret: &BTreeMap<String, String>,
    database: &str,
    role: &str,
) {
    let secrets: Api<Secret> =
        Api::namespaced(world.namespace.client().clone(), &world.namespace.name);
    let kind = secrets.get(secret_name).await.unwrap().type_;
    assert_eq!(kind.as_deref(), Some("servicebinding.io/postgresql"));
    let password = world.entry(name).await.unwrap().1["password"].clone();
    let server = world.bed.postgres();
    let server = server.description();
    let (host, port) = (&server.host, server.port);
    let ca = std::fs::read_to_string(&world.bed.description().ca_file).unwrap();
    let uri =
        format!("postgresql://{role}:{password}@{host}:{port}/{database}?sslmode=verify-full");
    let jdbc = format!(
        "jdbc:postgresql://{host}:{port}/{database}?user={role}&password={password}&sslmode=verify-full"
    );
    // Generated passwords need no encoding, so the formats can be compared as text.
    assert!(
        password.len() >= 32
            && password
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    );
    let pgpass = format!("{host}:{port}:{database}:{role}:{password}\n");
    let keys = [
        ("type", "postgresql"),
        ("provider", "tenantry"),
        ("username", role),
        ("password", &password),
        ("host", host),
        ("hostaddr", &server.host_address),
        ("port", &port.to_string()),
        ("database", database),
        ("sslmode", "verify-full"),
        ("uri", &uri),
        ("jdbc-uri", &jdbc),
        ("pgpass", &pgpass),
        ("ca.crt", &ca),
    ];
    let expected: Value = keys
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(json!(secret), expected);
}

/// `psql URI`; the environment holds what a resolver and a trust store would give.
async fn with_uri(world: &World, secret: &BTreeMap<String, String>, sql: &str) -> Output {
    psql(world, secret, &secret["uri"], sql).await
}

/// `psql` without a password, which it finds in a file made of the key `pgpass`.
async fn with_pgpass(world: &World, secret: &BTreeMap<String, String>, sql: &str) -> Output {
    let connection = ["host", "port", "sslmode"]
        .map(|key| format!("{key}={}", secret[key]))
        .join(" ");
    let connection = format!(
        "{connection} dbname={} user={}",
        secret["database"], secret["username"]
    );
    psql(world, secret, &connection, sql).await
}

async fn psql(
    world: &World,
    secret: &BTreeMap<String, String>,
    connection: &str,
    sql: &str,
) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let (ca, pgpass) = (folder.path().join("ca.crt"), folder.path().join("pgpass"));
    write_private(&ca, &secret["ca.crt"]).unwrap();
    write_private(&pgpass, &secret["pgpass"]).unwrap();
    let mut command = Command::new("psql");
    command.args([
        "--no-psqlrc",
        "--no-align",
        "--tuples-only",
        "--no-password",
        "--file=-",
        connection,
    ]);
    command.env(
        "PGHOSTADDR",
        &world.bed.postgres().description().host_address,
    );
    command
        .env("PGSSLROOTCERT", ca)
        .env("PGPASSFILE", pgpass)
        .env_remove("PGPASSWORD")
        .env("PGCONNECT_TIMEOUT", "10");
    output(command, sql).await.unwrap()
}
