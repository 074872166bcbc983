//! Story: the registry's schema: one that is not ours or newer is never touched, ours is made again when it is gone (I5, section 8).

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::condition::{await_object, condition};
use e2e::world::tenancy::{SOON, World};
use serde_json::Value;

use super::extras::{OwnAdmin, look_now, superuser};

const RIGHTS: &str = "CREATEDB CREATEROLE";

/// Everything in the schema, for comparison.
async fn content(world: &World) -> Option<String> {
    let sql = "SELECT string_agg(concat_ws(' ', c.relname, c.relkind, c.oid, c.relowner), ',' ORDER BY c.relname) \
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'tenantry'";
    world.registry(sql).await.unwrap()
}

/// Waits until the Instance is `DependencyUnavailable` with these words.
async fn refuses(world: &World, words: &str) {
    let object = await_object(&world.instances(), &world.instance, words, SOON, |object| {
        condition(object, "Ready").is_some_and(|ready| {
            ready.reason == "DependencyUnavailable" && ready.message.contains(words)
        })
    })
    .await
    .unwrap();
    assert_eq!(object.data["status"]["phase"], "Validating");
    let message = condition(&object, "Ready").unwrap().message;
    assert!(message.contains("nothing was changed"), "{message}");
}

#[tokio::test]
async fn a_foreign_schema_under_the_registrys_name_is_left_alone_and_said() {
    let own = OwnAdmin::prepare("registry-foreign", RIGHTS).await.unwrap();
    own.grant_create().await.unwrap();
    let world = &own.world;
    let foreign = [
        "CREATE SCHEMA tenantry",
        "CREATE TABLE tenantry.claim AS SELECT 'of somebody else' AS what",
    ];
    superuser(world, &world.management_database(), &foreign)
        .await
        .unwrap();
    let before = content(world).await;
    own.register().await.unwrap();
    refuses(world, "a schema tenantry that is not Tenantry's registry").await;
    assert_eq!(content(world).await, before);
    assert_eq!(
        world
            .registry("SELECT what FROM tenantry.claim")
            .await
            .unwrap()
            .as_deref(),
        Some("of somebody else")
    );

    superuser(
        world,
        &world.management_database(),
        &["ALTER SCHEMA tenantry RENAME TO of_somebody_else"],
    )
    .await
    .unwrap();
    world.instance_is("True").await.unwrap();
    let kept = world
        .registry("SELECT what FROM of_somebody_else.claim")
        .await
        .unwrap();
    assert_eq!(kept.as_deref(), Some("of somebody else"));
}

#[tokio::test]
async fn a_registry_of_a_newer_version_is_left_alone_and_takes_the_instance_out_of_ready() {
    let own = OwnAdmin::create("registry-newer", RIGHTS).await.unwrap();
    let world = &own.world;
    world.instance_is("True").await.unwrap();
    world.ready_tenant("app", "").await.unwrap();
    let before = content(world).await;
    superuser(
        world,
        &world.management_database(),
        &["UPDATE tenantry.marker SET version = 99"],
    )
    .await
    .unwrap();
    look_now(world).await.unwrap();
    refuses(world, "has version 99, newer than version").await;
    world
        .tenant_reason("app", "InstanceNotReady")
        .await
        .unwrap();
    assert_eq!(content(world).await, before);
    assert_eq!(
        world
            .registry("SELECT version::text FROM tenantry.marker")
            .await
            .unwrap()
            .as_deref(),
        Some("99")
    );
    superuser(
        world,
        &world.management_database(),
        &["UPDATE tenantry.marker SET version = 1"],
    )
    .await
    .unwrap();
    world.instance_is("True").await.unwrap();
    world.tenant_ready("app").await.unwrap();
}

#[tokio::test]
async fn i5_a_registry_that_is_gone_withdraws_ready_before_it_is_made_again() {
    let own = OwnAdmin::create("registry-gone", RIGHTS).await.unwrap();
    let world = &own.world;
    world.instance_is("True").await.unwrap();
    superuser(
        world,
        &world.management_database(),
        &["DROP SCHEMA tenantry CASCADE"],
    )
    .await
    .unwrap();
    look_now(world).await.unwrap();
    until(SOON, "the registry is there again", async || {
        ensure!(content(world).await.is_some(), "no schema");
        Ok(())
    })
    .await
    .unwrap();
    world.instance_is("True").await.unwrap();
    let walked = checkpoints(world);
    assert_eq!(
        walked.last().map(String::as_str),
        Some("InitializingRegistry>Ready"),
        "{walked:?}"
    );
    assert!(
        walked.contains(&"Ready>InitializingRegistry".to_owned()),
        "{walked:?}"
    );
}

/// The checkpoints that were saved for the story's Instance, `from>to`, by the log.
fn checkpoints(world: &World) -> Vec<String> {
    let log = std::fs::read_to_string(world.tenantry.log_file()).unwrap();
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ours = lines
        .filter(|line| line["name"] == world.instance.as_str() && line["phase_from"].is_string());
    ours.map(|line| format!("{}>{}", text(&line["phase_from"]), text(&line["phase_to"])))
        .collect()
}
