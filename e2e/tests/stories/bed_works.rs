//! Story: the test bed itself. Each part is the real one and does what the other stories rely on.

use std::collections::HashMap;
use std::time::Duration;

use e2e::bed::SERVICE_ACCOUNT;
use e2e::bed::openbao::{MOUNT, TENANTRY, client};
use e2e::bed::postgres::{ADMIN, MANAGEMENT_DATABASE};
use e2e::bed::{STORE, SYSTEM_NAMESPACE, service_account_token};
use e2e::world::chart::install_chart;
use e2e::world::condition::await_condition;
use e2e::world::objects::Namespace;
use e2e::world::psql::Login;
use e2e::{Bed, Options};
use reqwest::StatusCode;
use serde_json::Value;

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn kubectl_speaks_to_the_api_server_of_the_pinned_version() {
    let bed = Bed::shared().unwrap();
    let output = bed
        .kubectl()
        .run(&["version", "--output=json"])
        .await
        .unwrap()
        .success()
        .unwrap();
    let versions: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        versions["clientVersion"]["gitVersion"],
        versions["serverVersion"]["gitVersion"]
    );
    let pinned = include_str!("../../bed/versions.env")
        .lines()
        .find_map(|line| line.strip_prefix("KUBERNETES="));
    assert_eq!(
        versions["serverVersion"]["gitVersion"],
        format!("v{}", pinned.unwrap())
    );
}

#[tokio::test]
async fn an_entry_in_openbao_becomes_a_secret_by_way_of_an_external_secret() {
    let bed = Bed::shared().unwrap();
    let namespace = Namespace::create(&bed, "projection").await.unwrap();
    let entry = format!("{TENANTRY}/{}", namespace.name);
    let values = HashMap::from([("password", "from OpenBao")]);
    vaultrs::kv2::set(&bed.openbao().root().unwrap(), MOUNT, &entry, &values)
        .await
        .unwrap();
    let manifest = format!(
        "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {{name: app, namespace: {}}}\n\
         spec:\n  secretStoreRef: {{name: {STORE}, kind: ClusterSecretStore}}\n  target: {{name: app}}\n  \
         data: [{{secretKey: password, remoteRef: {{key: {entry}, property: password}}}}]\n",
        namespace.name,
    );
    bed.kubectl()
        .apply(&manifest)
        .await
        .unwrap()
        .success()
        .unwrap();
    let external_secrets = namespace.objects("external-secrets.io/v1", "ExternalSecret");
    await_condition(&external_secrets, "app", "Ready", "True", SOON)
        .await
        .unwrap();
    assert_eq!(
        namespace.secret("app").await.unwrap()["password"],
        "from OpenBao"
    );
}

#[tokio::test]
async fn the_administrator_logs_in_over_verified_tls_and_is_no_superuser() {
    let bed = Bed::shared().unwrap();
    let server = bed.postgres();
    let password = server.admin_password().unwrap();
    let login = Login::new(
        &bed,
        server.description(),
        MANAGEMENT_DATABASE,
        ADMIN,
        &password,
    );
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid(); \
               SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user; \
               SELECT has_database_privilege(current_database(), 'CREATE'); \
               SELECT current_setting('server_version_num')::int / 10000;";
    let output = login.query(sql).await.unwrap().success().unwrap();
    assert_eq!(
        output.stdout,
        format!("t\nf|t|t\nt\n{}\n", server.description().major)
    );
}

#[tokio::test]
async fn postgresql_refuses_a_wrong_password_and_a_client_refuses_a_foreign_authority() {
    let bed = Bed::shared().unwrap();
    let server = bed.postgres();
    let mut login = Login::new(
        &bed,
        server.description(),
        MANAGEMENT_DATABASE,
        ADMIN,
        "wrong",
    );
    let output = login.query("SELECT 1").await.unwrap();
    assert!(
        output.code != 0 && output.stderr.contains("password authentication failed"),
        "{output:?}"
    );
    // As after a story that asks for TLS from an authority that never signed the server's certificate.
    login.ca_file = e2e::bed::pki::Authority::create(bed.folder(), "foreign")
        .unwrap()
        .file();
    let output = login.query("SELECT 1").await.unwrap();
    assert!(
        output.code != 0 && output.stderr.contains("certificate verify failed"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_management_database_of_a_story_lets_the_administrator_create_in_it() {
    let bed = Bed::shared().unwrap();
    let server = bed.postgres();
    let name = format!("story \"{:x}", std::process::id());
    server.create_management_database(&name).await.unwrap();
    let login = Login::new(
        &bed,
        server.description(),
        &name,
        ADMIN,
        &server.admin_password().unwrap(),
    );
    let output = login
        .query("CREATE SCHEMA registry; SELECT current_database()")
        .await
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(output.stdout.trim_end(), name);
}

#[tokio::test]
async fn a_service_account_logs_in_to_openbao_and_may_only_what_its_policy_says() {
    let bed = Bed::shared().unwrap();
    let namespace = Namespace::create(&bed, "login").await.unwrap();
    let name = namespace.name.as_str();
    bed.kubectl()
        .run(&["create", "serviceaccount", "app", "-n", name])
        .await
        .unwrap()
        .success()
        .unwrap();
    bed.openbao()
        .allow_service_account(name, name, "app", TENANTRY)
        .await
        .unwrap();
    let jwt = service_account_token(namespace.client(), name, "app", 600)
        .await
        .unwrap();
    let address = &bed.description().openbao.address;
    let anonymous = client(address, "").unwrap();
    let auth = vaultrs::auth::kubernetes::login(&anonymous, "kubernetes", name, &jwt)
        .await
        .unwrap();
    let app = client(address, &auth.client_token).unwrap();
    let values = HashMap::from([("key", "value")]);
    vaultrs::kv2::set(&app, MOUNT, &format!("{TENANTRY}/{name}"), &values)
        .await
        .unwrap();
    let refused = vaultrs::kv2::set(&app, MOUNT, &format!("elsewhere/{name}"), &values).await;
    assert!(
        matches!(
            refused,
            Err(vaultrs::error::ClientError::APIError { code: 403, .. })
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn alone_postgresql_and_openbao_stop_and_come_back_with_their_data() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let (server, openbao) = (bed.postgres(), bed.openbao());
    let login = Login::new(
        &bed,
        server.description(),
        MANAGEMENT_DATABASE,
        ADMIN,
        &server.admin_password().unwrap(),
    );
    login
        .query("CREATE SCHEMA kept")
        .await
        .unwrap()
        .success()
        .unwrap();
    server.stop();
    let output = login.query("SELECT 1").await.unwrap();
    assert!(output.stderr.contains("Connection refused"), "{output:?}");
    server.start().await.unwrap();
    login
        .query("CREATE TABLE kept.table_of_story ()")
        .await
        .unwrap()
        .success()
        .unwrap();

    let root = openbao.root().unwrap();
    let values = HashMap::from([("key".to_owned(), "kept".to_owned())]);
    vaultrs::kv2::set(&root, MOUNT, "tenantry/kept", &values)
        .await
        .unwrap();
    openbao.stop();
    assert!(openbao.health().await.is_err());
    openbao.start_sealed().await.unwrap();
    assert_eq!(
        openbao.health().await.unwrap(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    openbao.unseal().await.unwrap();
    let read: HashMap<String, String> = vaultrs::kv2::read(&root, MOUNT, "tenantry/kept")
        .await
        .unwrap();
    assert_eq!(read, values);
    openbao.seal().await.unwrap();
    assert_eq!(
        openbao.health().await.unwrap(),
        StatusCode::SERVICE_UNAVAILABLE
    );
}

#[tokio::test]
async fn alone_a_bed_without_external_secrets_and_with_a_second_postgresql_leaves_nothing_behind() {
    let bed = Bed::private(Options::default().without_eso_crds())
        .await
        .unwrap();
    let crds = bed
        .kubectl()
        .run(&["get", "crd", "--output=name"])
        .await
        .unwrap()
        .success()
        .unwrap();
    assert!(
        !crds.stdout.contains("external-secrets.io"),
        "{}",
        crds.stdout
    );
    let second = bed.another_postgres("postgresql-2").await.unwrap();
    let password = second.admin_password().unwrap();
    let login = Login::new(
        &bed,
        second.description(),
        MANAGEMENT_DATABASE,
        ADMIN,
        &password,
    );
    login.query("SELECT 1").await.unwrap().success().unwrap();

    let folder = bed.folder().path().to_owned();
    let processes = e2e::bed::process::Process::all(bed.folder());
    assert!(processes.iter().all(e2e::bed::process::Process::is_alive));
    let names: Vec<_> = processes
        .iter()
        .map(|process| process.name.as_str())
        .collect();
    assert_eq!(names.len(), 6, "{names:?}");
    drop(bed);
    assert!(!folder.exists());
    assert!(!processes.iter().any(e2e::bed::process::Process::is_alive));
}

#[tokio::test]
async fn alone_the_chart_takes_over_the_crds_of_the_bed_and_registers_the_webhook() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let (url, ca) = ("https://127.0.0.1:1", &bed.description().ca_file);
    install_chart(&bed, url, ca, &[]).await.unwrap();
    let release = "{.metadata.annotations.meta\\.helm\\.sh/release-name}";
    for object in [
        "crd/postgresqlinstances.database.ddupan.top",
        "crd/postgresqltenants.database.ddupan.top",
        "validatingwebhookconfiguration/tenantry",
    ] {
        let jsonpath = format!("--output=jsonpath={release}");
        let output = bed
            .kubectl()
            .run(&["get", object, &jsonpath])
            .await
            .unwrap()
            .success()
            .unwrap();
        assert_eq!(output.stdout, "tenantry", "{object}");
    }
    let token = service_account_token(
        &bed.kube().await.unwrap(),
        SYSTEM_NAMESPACE,
        SERVICE_ACCOUNT,
        600,
    )
    .await
    .unwrap();
    assert!(!token.is_empty());
    // An upgrade with another address, as at each start of the process under test.
    install_chart(&bed, "https://127.0.0.1:2", ca, &[])
        .await
        .unwrap();
}
