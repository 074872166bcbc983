//! Story: what uses a tenant's database while it is deleted: the application is cut off, anything stronger is named and awaited.

use std::time::Duration;

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::condition::{await_object, condition};
use e2e::world::tenancy::{SOON, World};

use super::extras::{delete, entry_exists, nothing_left, superuser};

const DELETE: &str = "deletionPolicy: Delete";

/// Waits until the condition names what holds the deletion, and gives the message.
async fn held_by(world: &World, tenant: &str, words: &str) -> String {
    let object = await_object(
        &world.tenants(),
        tenant,
        &format!("held by {words}"),
        SOON,
        |object| {
            condition(object, "Ready").is_some_and(|ready| {
                ready.reason == "ProvisioningFailed" && ready.message.contains(words)
            })
        },
    )
    .await
    .unwrap();
    condition(&object, "Ready").unwrap().message
}

#[tokio::test]
async fn bug7_open_sessions_of_the_application_are_ended_by_the_deletion() {
    let world = World::shared("delete-session").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let login = world.application("app").await.unwrap();
    let session = tokio::spawn(async move { login.query("SELECT pg_sleep(600)").await.unwrap() });
    let database = world.identifier("app");
    let sleeping = format!(
        "SELECT pid::text FROM pg_stat_activity WHERE datname = '{database}' AND query LIKE '%pg_sleep%'"
    );
    until(SOON, "the application sleeps in its database", async || {
        ensure!(
            world.superuser("postgres", &sleeping).await?.is_some(),
            "no such session"
        );
        Ok(())
    })
    .await
    .unwrap();
    delete(&world, "app").await.unwrap();
    nothing_left(&world, "app").await.unwrap();
    assert_ne!(session.await.unwrap().code, 0, "the session went on");
}

#[tokio::test]
async fn bug7_a_superusers_session_is_named_and_the_deletion_goes_on_when_it_ends() {
    let world = World::shared("delete-super").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let database = world.identifier("app");
    let session = world.bed.postgres().superuser(&database).await.unwrap();
    session
        .batch_execute("SET application_name = 'nightly backup'")
        .await
        .unwrap();
    delete(&world, "app").await.unwrap();
    let message = held_by(&world, "app", "nightly backup").await;
    assert!(message.contains("of user postgres"), "{message}");
    assert!(world.has_database(&database).await.unwrap());
    assert!(
        entry_exists(&world, "app").await.unwrap(),
        "the password goes after the database"
    );
    session
        .simple_query("SELECT 1")
        .await
        .expect("a superuser's session is not ended");
    drop(session);
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn a_subscription_in_the_database_is_named_and_the_deletion_goes_on_without_it() {
    let world = World::shared("delete-sub").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let database = world.identifier("app");
    let make = "CREATE SUBSCRIPTION from_afar CONNECTION 'host=192.0.2.1 dbname=x' PUBLICATION p WITH (connect = false)";
    superuser(&world, &database, &[make]).await.unwrap();
    delete(&world, "app").await.unwrap();
    let message = held_by(&world, "app", "subscription \"from_afar\"").await;
    assert!(message.contains("dropping database"), "{message}");
    let cure = [
        "ALTER SUBSCRIPTION from_afar SET (slot_name = NONE)",
        "DROP SUBSCRIPTION from_afar",
    ];
    superuser(&world, &database, &cure).await.unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn a_prepared_transaction_is_named_and_the_deletion_finishes_after_its_rollback() {
    let world = World::shared("delete-prepared").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let database = world.identifier("app");
    let gid = format!("{database} order 42");
    let login = world.application("app").await.unwrap();
    let prepare = format!("BEGIN; CREATE SCHEMA held; PREPARE TRANSACTION '{gid}'");
    login.query(&prepare).await.unwrap().success().unwrap();
    delete(&world, "app").await.unwrap();
    let message = held_by(
        &world,
        "app",
        &format!("prepared transaction \"{gid}\" of user {database} is open"),
    )
    .await;
    assert!(message.contains("dropping database"), "{message}");
    assert!(world.has_database(&database).await.unwrap());
    assert!(
        entry_exists(&world, "app").await.unwrap(),
        "the password goes after the database"
    );
    superuser(&world, &database, &[&format!("ROLLBACK PREPARED '{gid}'")])
        .await
        .unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn something_that_the_role_owns_elsewhere_is_named_and_the_deletion_goes_on_without_it() {
    let world = World::shared("delete-owns").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let (role, elsewhere) = (world.identifier("app"), world.management_database());
    superuser(
        &world,
        &elsewhere,
        &[&format!("CREATE SCHEMA of_app AUTHORIZATION \"{role}\"")],
    )
    .await
    .unwrap();
    delete(&world, "app").await.unwrap();
    let message = held_by(&world, "app", &format!("database {}", &elsewhere)).await;
    assert!(
        message.contains(&format!("role {role} still owns")),
        "{message}"
    );
    assert!(world.has_role(&role).await.unwrap());
    superuser(&world, &elsewhere, &["DROP SCHEMA of_app"])
        .await
        .unwrap();
    nothing_left(&world, "app").await.unwrap();
}

#[tokio::test]
async fn bug7_an_application_that_logs_in_again_and_again_does_not_hold_the_deletion() {
    let world = World::shared("delete-storm").await.unwrap();
    world.ready_tenant("app", DELETE).await.unwrap();
    let login = world.application("app").await.unwrap();
    let storm = tokio::spawn(async move {
        loop {
            // Refused from some moment on, which is what the story is about.
            let _refused = login.query("SELECT pg_sleep(0.2)").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    delete(&world, "app").await.unwrap();
    nothing_left(&world, "app").await.unwrap();
    storm.abort();
}
