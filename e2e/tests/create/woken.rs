//! Story: a Tenant waits for its Instance and is woken by the Instance's watch, not by a timer (section 5, `InstanceNotReady`).

use e2e::bed::postgres::ADMIN;
use e2e::world::condition::await_condition;
use e2e::world::tenancy::{SOON, World};
use serde_json::json;

use crate::manifests::{tenant, unique};

/// The slow timer is 10 minutes, so whatever happens within [`SOON`] was not its doing.
#[tokio::test]
async fn a_tenant_of_an_instance_that_is_made_later_is_woken_by_it() {
    let world = World::shared("later").await.unwrap();
    let (later, name) = (format!("{}-later", world.instance), unique("app"));
    world
        .apply(&tenant(&world, &name, &json!({"instanceRef": later})))
        .await
        .unwrap()
        .success()
        .unwrap();
    let condition = world
        .tenant_reason(&name, "InstanceNotReady")
        .await
        .unwrap();
    assert_eq!(
        condition.message,
        format!("PostgreSQLInstance {later} does not exist")
    );

    let database = world.identifier("later");
    world
        .bed
        .postgres()
        .create_management_database(&database)
        .await
        .unwrap();
    let instance = world.instance_of(&later, world.bed.postgres().description(), &database);
    world.apply(&instance).await.unwrap().success().unwrap();
    // The Instance in turn waits for its admin Secret, and is woken by it.
    let condition = world
        .instance_reason(&later, "AuthenticationFailed")
        .await
        .unwrap();
    assert_eq!(
        condition.message,
        format!("the admin Secret tenantry-system/{later} does not exist")
    );
    let condition = world
        .tenant_reason(&name, "InstanceNotReady")
        .await
        .unwrap();
    assert!(condition.message.contains(&later), "{}", condition.message);
    let password = world.bed.postgres().admin_password().unwrap();
    world
        .create_admin_secret(&later, ADMIN, &password)
        .await
        .unwrap();
    await_condition(&world.instances(), &later, "Ready", "True", SOON)
        .await
        .unwrap();
    world.tenant_ready(&name).await.unwrap();
}
