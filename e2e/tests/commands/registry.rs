//! Story: a person looks after the registry: sees every row, releases a retained record, or gives it to a new Tenant (T4).

use e2e::bed::openbao::MOUNT;
use e2e::world::command::Output;
use e2e::world::condition::await_gone;
use e2e::world::program::tenantry;
use e2e::world::tenancy::{SOON, World};
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::Value;

/// `tenantry registry …` for the story's Instance, with the rights of the process under test.
async fn registry(world: &World, arguments: &[&str]) -> Output {
    let environment = world.tenantry.environment();
    let variables: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let arguments = [&["registry"], arguments, &["--instance", &world.instance]].concat();
    tenantry(&arguments, "", &variables).await.unwrap()
}

async fn rows(world: &World) -> Vec<Value> {
    let output = registry(world, &["list", "--output", "json"]).await;
    serde_json::from_str(&output.success().unwrap().stdout).unwrap()
}

async fn delete(world: &World, name: &str) {
    world
        .tenants()
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
    await_gone(&world.tenants(), name, SOON).await.unwrap();
}

fn path(world: &World, name: &str) -> String {
    format!("{}/{name}", world.namespace.name)
}

async fn row_count(world: &World) -> Option<String> {
    world
        .registry("SELECT count(*)::text FROM tenantry.claim")
        .await
        .unwrap()
}

#[tokio::test]
async fn a_row_is_listed_with_what_server_and_api_say_of_it_and_a_living_one_is_not_released() {
    let world = World::shared("listed").await.unwrap();
    assert_eq!(
        registry(&world, &["list"]).await.success().unwrap().stdout,
        "the registry is empty\n"
    );
    let tenant = world.ready_tenant("app", "").await.unwrap();
    let uid = tenant.uid().unwrap();
    let app = path(&world, "app");
    let listed = rows(&world).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["uid"], uid.as_str());
    assert_eq!(
        (&listed[0]["state"], &listed[0]["tenant"]),
        (&Value::from("managed"), &Value::from("yes"))
    );
    assert_eq!(
        (&listed[0]["retained"], &listed[0]["server"]),
        (&Value::from(false), &Value::from(Vec::<String>::new()))
    );
    let table = registry(&world, &["list"]).await.success().unwrap().stdout;
    for text in ["TENANT", &app, &uid, "as recorded"] {
        assert!(table.contains(text), "{text} is not in {table}");
    }
    let refused = registry(&world, &["release", &app, "--confirm", &uid]).await;
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("delete the Tenant first"),
        "{refused:?}"
    );
    assert_eq!(row_count(&world).await.as_deref(), Some("1"));
}

#[tokio::test]
async fn t4_a_retained_record_is_released_by_its_uid_only_and_its_names_are_free() {
    let world = World::shared("released").await.unwrap();
    let uid = world.ready_tenant("app", "").await.unwrap().uid().unwrap();
    delete(&world, "app").await;
    let app = path(&world, "app");
    assert_eq!(rows(&world).await[0]["retained"], true);

    let plain = registry(&world, &["release", &app]).await;
    assert_eq!(plain.code, 1);
    assert!(
        plain.stdout.contains("delete the registry's row"),
        "{plain:?}"
    );
    assert!(
        plain.stderr.contains(&format!("--confirm {uid}")),
        "{plain:?}"
    );
    let wrong = registry(&world, &["release", &app, "--confirm", "0000"]).await;
    assert_eq!(wrong.code, 1);
    assert!(
        wrong
            .stderr
            .contains("0000 is not the UID that is given up"),
        "{wrong:?}"
    );
    assert_eq!(row_count(&world).await.as_deref(), Some("1"));
    world.entry("app").await.unwrap();

    let done = registry(&world, &["release", &app, "--confirm", &uid])
        .await
        .success()
        .unwrap();
    let identifier = world.identifier("app");
    for text in [
        format!("DROP DATABASE \"{identifier}\""),
        format!("DROP ROLE \"{identifier}\""),
        format!("released {app}"),
    ] {
        assert!(done.stdout.contains(&text), "{text} is not in {done:?}");
    }
    assert_eq!(row_count(&world).await.as_deref(), Some("0"));
    assert!(world.entry("app").await.is_err());
    assert!(world.has_database(&identifier).await.unwrap());
    assert!(world.has_role(&identifier).await.unwrap());
    let again = registry(&world, &["release", &app, "--confirm", &uid]).await;
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("no row of"), "{again:?}");
}

#[tokio::test]
async fn t4_only_the_row_is_released_when_that_is_asked_for() {
    let world = World::shared("rowonly").await.unwrap();
    let uid = world.ready_tenant("app", "").await.unwrap().uid().unwrap();
    delete(&world, "app").await;
    let app = path(&world, "app");
    registry(&world, &["release", &app, "--row-only", "--confirm", &uid])
        .await
        .success()
        .unwrap();
    assert_eq!(row_count(&world).await.as_deref(), Some("0"));
    world.entry("app").await.unwrap();
}

#[tokio::test]
async fn t4_a_new_tenant_adopts_the_retained_record_with_its_data_and_password() {
    let world = World::shared("adopted").await.unwrap();
    let old = world.ready_tenant("app", "").await.unwrap();
    let (_, before) = world.entry("app").await.unwrap();
    let oid = old.data["status"]["databaseOID"].clone();
    let app = path(&world, "app");
    let early = registry(&world, &["adopt", &app]).await;
    assert_eq!(early.code, 1);
    assert!(early.stderr.contains("nothing to adopt"), "{early:?}");
    delete(&world, "app").await;
    let nobody = registry(&world, &["adopt", &app]).await;
    assert_eq!(nobody.code, 1);
    assert!(nobody.stderr.contains("create it first"), "{nobody:?}");

    let other = world.identifier("other");
    let unlike = world.tenant_manifest("app", &format!("database: {other}"));
    world.apply(&unlike).await.unwrap().success().unwrap();
    world.tenant_reason("app", "Conflict").await.unwrap();
    let old_uid = old.uid().unwrap();
    let refused = registry(&world, &["adopt", &app, "--confirm", &old_uid]).await;
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .stderr
            .contains("* spec.database of the new Tenant is"),
        "{refused:?}"
    );
    world
        .apply(&world.tenant_manifest("app", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    let new_uid = world.tenants().get("app").await.unwrap().uid().unwrap();
    let wrong = registry(&world, &["adopt", &app, "--confirm", &new_uid]).await;
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.stderr.contains("is not the UID that is given up"),
        "{wrong:?}"
    );
    assert_eq!(rows(&world).await[0]["uid"], old_uid.as_str());

    registry(&world, &["adopt", &app, "--confirm", &old_uid])
        .await
        .success()
        .unwrap();
    assert_eq!(rows(&world).await[0]["uid"], new_uid.as_str());
    let ready = world.tenant_ready("app").await.unwrap();
    assert_eq!(ready.data["status"]["databaseOID"], oid);
    let (version, after) = world.entry("app").await.unwrap();
    assert_eq!((version, &after["password"]), (2, &before["password"]));
    assert_eq!(after["tenant-uid"], new_uid);
    let root = world.bed.openbao().root().unwrap();
    let metadata = vaultrs::kv2::read_metadata(&root, MOUNT, &world.entry_path("app"))
        .await
        .unwrap();
    assert_eq!(metadata.custom_metadata.unwrap()["tenant-uid"], new_uid);
    let login = world.application("app").await.unwrap();
    assert_eq!(login.password, before["password"]);
}

#[tokio::test]
async fn t3_a_row_that_contradicts_the_server_is_shown_and_given_to_nobody() {
    let world = World::shared("contradicts").await.unwrap();
    let uid = world.ready_tenant("app", "").await.unwrap().uid().unwrap();
    delete(&world, "app").await;
    let (app, identifier) = (path(&world, "app"), world.identifier("app"));
    world
        .superuser("postgres", &format!("COMMENT ON ROLE {identifier} IS NULL"))
        .await
        .unwrap();
    world
        .registry("UPDATE tenantry.claim SET role_oid = 1, database_oid = 2")
        .await
        .unwrap();
    let listed = rows(&world).await;
    let server = listed[0]["server"].to_string();
    assert!(
        server.contains("the row records 1") && server.contains("the row records 2"),
        "{server}"
    );
    world
        .apply(&world.tenant_manifest("app", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    for command in ["release", "adopt"] {
        let refused = registry(&world, &[command, &app, "--confirm", &uid]).await;
        assert_eq!(refused.code, 1, "{command}: {refused:?}");
        assert!(
            refused.stderr.contains("it is another role of that name"),
            "{command}: {refused:?}"
        );
    }
    assert_eq!(row_count(&world).await.as_deref(), Some("1"));
    world.entry("app").await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_with_flags_files_and_names_is_named() {
    let world = World::shared("flags").await.unwrap();
    for (arguments, says) in [
        (vec!["release", "app"], "must be NAMESPACE/NAME"),
        (vec!["release", "a/b"], "no row of a/b"),
        (
            vec!["list", "--postgres-ca-file", "/nowhere/ca.crt"],
            "--postgres-ca-file: ",
        ),
        (vec!["list", "--namespace", "nowhere"], "--namespace: "),
    ] {
        let output = registry(&world, &arguments).await;
        assert_eq!(output.code, 1, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(says), "{arguments:?}: {output:?}");
    }
    let environment = world.tenantry.environment();
    let variables: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let output = tenantry(
        &["registry", "list", "--instance", "nobody"],
        "",
        &variables,
    )
    .await
    .unwrap();
    assert_eq!(output.code, 1);
    assert!(
        output
            .stderr
            .contains("--instance nobody: there is no PostgreSQLInstance"),
        "{output:?}"
    );
}
