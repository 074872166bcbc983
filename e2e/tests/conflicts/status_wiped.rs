//! Story: a status that was wiped by hand is rebuilt from the facts (T1, I3, C7).

use e2e::world::tenancy::World;

use super::outside::{Names, outside};
use super::scene::{application_says, wholly_ready, wipe_status};

#[tokio::test]
async fn t1_i3_a_wiped_status_comes_back_with_the_same_password_and_oids_and_nothing_written_outside()
 {
    let world = World::shared("wiped").await.unwrap();
    let names = Names::of(&world, "app");
    let ready = world
        .ready_tenant("app", "extensions: [citext]")
        .await
        .unwrap();
    let before = outside(&world, &names).await;
    let password = world.entry("app").await.unwrap();

    wipe_status(&world, "app").await;
    let again = wholly_ready(&world, &names).await;
    assert_eq!(
        again.data["status"]["databaseOID"],
        ready.data["status"]["databaseOID"]
    );
    assert_eq!(
        again.data["status"]["credential"],
        ready.data["status"]["credential"]
    );
    assert_eq!(world.entry("app").await.unwrap(), password);
    assert_eq!(outside(&world, &names).await, before);
    assert_eq!(
        application_says(&world, "app", "SELECT current_user").await,
        names.role
    );
}
