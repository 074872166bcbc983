//! Story: how far a server is verified, and what its certificate lacks (D11, #48, H22).

use anyhow::Context as _;
use e2e::bed::pki::Authority;
use e2e::bed::postgres::{ADMIN, MANAGEMENT_DATABASE, Postgres};
use e2e::world::condition::{await_condition, await_object, condition};
use e2e::world::tenancy::{SOON, World};

const HOST: &str = "postgresql.bed.test";
const OTHER_HOST: &str = "elsewhere.bed.test";
const ADDRESS: &str = "127.0.0.1";
/// The server listens there too, and its certificate does not name it.
const OTHER_ADDRESS: &str = "127.0.0.2";

/// The Instance with another endpoint.
fn at(world: &World, host: &str, address: &str, mode: &str) -> String {
    let port = world.bed.postgres().description().port;
    let endpoint = format!(
        "host: {host}, hostaddr: {address}, port: {port}, database: {}, sslMode: {mode}",
        world.management_database()
    );
    instance(&world.instance, &endpoint)
}

fn instance(name: &str, endpoint: &str) -> String {
    format!(
        "apiVersion: database.ddupan.top/v1alpha1\nkind: PostgreSQLInstance\nmetadata: {{name: {name}}}\nspec:\n  \
         endpoint: {{{endpoint}}}\n  adminCredentialRef: {{name: {name}}}\n"
    )
}

/// Applies and waits for the verdict on this very endpoint: `None` for ready, else the message of `AuthenticationFailed`.
async fn verdict(world: &World, name: &str, manifest: &str) -> Option<String> {
    world.apply(manifest).await.unwrap().success().unwrap();
    let object = await_object(&world.instances(), name, "judged", SOON, |object| {
        let judged =
            object.data["status"]["observedGeneration"].as_i64() == object.metadata.generation;
        judged && condition(object, "Ready").is_some_and(|ready| ready.status != "Unknown")
    })
    .await
    .unwrap();
    let ready = condition(&object, "Ready").unwrap();
    if ready.status == "True" {
        return None;
    }
    assert_eq!(ready.reason, "AuthenticationFailed", "{}", ready.message);
    Some(ready.message)
}

#[tokio::test]
async fn d11_bug48_verify_full_wants_both_names_in_the_certificate_and_says_which_is_missing() {
    let world = World::shared("tls-names").await.unwrap();
    let dns = format!("no DNS subject alternative name for host {OTHER_HOST}");
    let ip = format!("no IP subject alternative name for hostaddr {OTHER_ADDRESS}");
    let neither = "neither a DNS subject alternative name".to_owned();
    let cases = [
        (OTHER_HOST, ADDRESS, Some(dns)),
        (HOST, OTHER_ADDRESS, Some(ip)),
        (OTHER_HOST, OTHER_ADDRESS, Some(neither)),
        (HOST, ADDRESS, None),
    ];
    for (host, address, expected) in cases {
        let said = verdict(
            &world,
            &world.instance,
            &at(&world, host, address, "verify-full"),
        )
        .await;
        match (&said, &expected) {
            (Some(said), Some(words)) => assert!(said.contains(words), "{said}"),
            _ => assert_eq!(said, expected, "{host} {address}"),
        }
    }
}

#[tokio::test]
async fn d11_the_weaker_modes_compare_no_names_and_a_tenant_gets_the_mode_of_its_instance() {
    let world = World::shared("tls-modes").await.unwrap();
    for mode in ["verify-ca", "require", "disable"] {
        let said = verdict(
            &world,
            &world.instance,
            &at(&world, OTHER_HOST, OTHER_ADDRESS, mode),
        )
        .await;
        assert_eq!(said, None, "{mode}");
        let tenant = format!("app-{mode}");
        world.ready_tenant(&tenant, "").await.unwrap();
        let login = world.application(&tenant).await.unwrap();
        assert_eq!(
            (login.ssl_mode.as_str(), login.host_address.as_str()),
            (mode, OTHER_ADDRESS)
        );
        let used = login
            .query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            .await
            .unwrap()
            .success()
            .unwrap();
        assert_eq!(
            used.stdout.trim(),
            if mode == "disable" { "f" } else { "t" },
            "{mode}"
        );
        let sql = format!(
            "SELECT bool_and(s.ssl)::text FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.datname = '{}' AND a.usename = '{ADMIN}'",
            world.management_database()
        );
        let tenantry_uses = world.superuser("postgres", &sql).await.unwrap();
        assert_eq!(
            tenantry_uses.as_deref(),
            Some(if mode == "disable" { "false" } else { "true" }),
            "{mode}"
        );
    }
}

#[tokio::test]
async fn h22_a_server_of_an_unknown_authority_or_without_tls_is_refused_and_gets_no_password() {
    let world = World::shared("tls-authority").await.unwrap();
    let run = world.bed.folder();
    let name = world.namespace.name.clone();
    let authority = Authority::create(run, &format!("{name}-authority")).unwrap();
    let major = world.bed.postgres().description().major;
    let server = Postgres::create(
        run,
        &authority,
        &run.join("postgresql-programs"),
        &name,
        major,
    )
    .await
    .unwrap();
    let other = format!("{name}-other");
    world
        .create_admin_secret(&other, ADMIN, &server.admin_password().unwrap())
        .await
        .unwrap();
    let at = |mode: &str| {
        let port = server.description().port;
        instance(
            &other,
            &format!(
                "host: {HOST}, hostaddr: {ADDRESS}, port: {port}, database: {MANAGEMENT_DATABASE}, sslMode: {mode}"
            ),
        )
    };
    for mode in ["verify-full", "verify-ca"] {
        let said = verdict(&world, &other, &at(mode)).await.unwrap();
        assert!(
            said.contains("was not issued by a trusted authority"),
            "{mode}: {said}"
        );
    }
    assert_eq!(
        sessions(&server).await,
        0,
        "nobody was let in to a server that is not verified"
    );
    assert_eq!(verdict(&world, &other, &at("require")).await, None);

    let client = server.superuser("postgres").await.unwrap();
    client
        .batch_execute("ALTER SYSTEM SET ssl = off")
        .await
        .unwrap();
    client
        .batch_execute("SELECT pg_reload_conf()")
        .await
        .unwrap();
    let said = verdict(&world, &other, &at("verify-full")).await.unwrap();
    assert!(said.contains("does not offer TLS"), "{said}");
    assert_eq!(verdict(&world, &other, &at("disable")).await, None);
    await_condition(&world.instances(), &other, "Ready", "True", SOON)
        .await
        .unwrap();
    world
        .instances()
        .delete(&other, &kube::api::DeleteParams::default())
        .await
        .unwrap();
    server.stop();
}

/// The admin's sessions at a server.
async fn sessions(server: &Postgres) -> usize {
    let sql = "SELECT count(*)::text FROM pg_stat_activity WHERE usename = 'tenantry_admin'";
    let count = e2e::world::tenancy::superuser(server, "postgres", sql)
        .await
        .unwrap();
    count.context("no count").unwrap().parse().unwrap()
}
