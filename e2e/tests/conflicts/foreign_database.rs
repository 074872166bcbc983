//! Story: a database that a person made is never taken over (T3, bug log #19).

use e2e::world::tenancy::World;
use serde_json::json;

use super::outside::{Names, outside};
use super::scene::{application_says, corrected, refused, sql};

#[tokio::test]
async fn t3_a_database_made_by_a_superuser_is_a_conflict_and_keeps_its_owner_19() {
    let world = World::shared("fdb").await.unwrap();
    let names = Names::of(&world, "app");
    sql(
        &world,
        "postgres",
        &format!("CREATE DATABASE {}", names.database),
    )
    .await;
    sql(
        &world,
        &names.database,
        "CREATE TABLE public.theirs AS SELECT 'kept' AS word",
    )
    .await;
    let manifest = world.tenant_manifest("app", "deletionPolicy: Delete");
    let (before, said) = refused(&world, &names, &manifest, &names.database).await;
    assert!(
        said.message.contains("choose another spec.database"),
        "{said:?}"
    );

    let other = world.identifier("other");
    let ready = corrected(&world, "app", json!({"database": other})).await;
    assert_eq!(ready.data["status"]["database"], other.as_str());
    assert_eq!(
        application_says(&world, "app", "SELECT current_database()").await,
        other
    );
    assert_eq!(
        outside(&world, &names).await["database"],
        before["database"]
    );
    let theirs = world
        .superuser(&names.database, "SELECT word FROM public.theirs")
        .await
        .unwrap();
    assert_eq!(theirs.as_deref(), Some("kept"));
}
