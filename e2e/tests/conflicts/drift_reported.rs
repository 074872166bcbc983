//! Story: drift that is not ours to repair is said, and nothing is done about it; what is none of our business stays `Ready`.

use e2e::world::tenancy::World;

use super::outside::{Names, outside};
use super::scene::{
    application_says, ready_again, says, sql, whole_look, wholly_ready, wipe_status,
};

#[tokio::test]
async fn a_database_given_to_a_foreign_role_is_a_conflict_until_it_is_given_back_28() {
    let world = World::shared("rowner").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let foreign = world.identifier("foreign");
    sql(&world, "postgres", &format!("CREATE ROLE {foreign}")).await;
    sql(
        &world,
        "postgres",
        &format!("ALTER DATABASE {} OWNER TO {foreign}", names.database),
    )
    .await;
    let before = outside(&world, &names).await;
    says(
        &world,
        "app",
        "Conflict",
        &[&names.database, "owner or OID"],
    )
    .await;
    assert_eq!(outside(&world, &names).await, before);
    sql(
        &world,
        "postgres",
        &format!("ALTER DATABASE {} OWNER TO {}", names.database, names.role),
    )
    .await;
    ready_again(&world, "app").await;
}

#[tokio::test]
async fn t5_a_database_dropped_by_its_owner_is_never_made_again_silently_33() {
    let world = World::shared("rdropped").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let mut login = world.application("app").await.unwrap();
    "postgres".clone_into(&mut login.database);
    login
        .query(&format!("DROP DATABASE {}", names.database))
        .await
        .unwrap()
        .success()
        .unwrap();
    let before = outside(&world, &names).await;
    says(
        &world,
        "app",
        "ProvisioningFailed",
        &[&names.database, "never made again silently"],
    )
    .await;
    assert_eq!(outside(&world, &names).await, before);
    wipe_status(&world, "app").await;
    says(
        &world,
        "app",
        "ProvisioningFailed",
        &["never made again silently"],
    )
    .await;
    assert_eq!(outside(&world, &names).await, before);

    // One of the same name that someone else makes is not the one that was claimed.
    sql(
        &world,
        "postgres",
        &format!("CREATE DATABASE {} OWNER {}", names.database, names.role),
    )
    .await;
    let theirs = outside(&world, &names).await;
    says(&world, "app", "Conflict", &["OID"]).await;
    assert_eq!(outside(&world, &names).await, theirs);
}

#[tokio::test]
async fn a_role_made_superuser_is_reported_with_the_statement_that_cures_it_and_is_not_fought_over()
{
    let world = World::shared("rsuper").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    sql(
        &world,
        "postgres",
        &format!("ALTER ROLE {} SUPERUSER", names.role),
    )
    .await;
    let before = outside(&world, &names).await;
    says(
        &world,
        "app",
        "ProvisioningFailed",
        &[&names.role, "NOSUPERUSER"],
    )
    .await;
    assert_eq!(outside(&world, &names).await, before);
    sql(
        &world,
        "postgres",
        &format!("ALTER ROLE {} NOSUPERUSER", names.role),
    )
    .await;
    ready_again(&world, "app").await;
}

#[tokio::test]
async fn more_rights_than_were_asked_for_are_the_administrator_s_business_and_stay_29() {
    let world = World::shared("rgrants").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let (role, database, reader) = (&names.role, &names.database, world.identifier("reader"));
    for statement in [
        format!("CREATE ROLE {reader} LOGIN"),
        format!("GRANT CONNECT ON DATABASE {database} TO {reader}"),
        format!("GRANT pg_monitor TO {role}"),
        format!("ALTER ROLE {role} CREATEDB"),
    ] {
        sql(&world, "postgres", &statement).await;
    }
    whole_look(&world, &names).await;
    let kept = format!(
        "SELECT concat_ws(' ', has_database_privilege('{reader}', '{database}', 'CONNECT'), pg_has_role('{role}', 'pg_monitor', 'USAGE'),
                (SELECT rolcreatedb FROM pg_roles WHERE rolname = '{role}'))"
    );
    assert_eq!(
        world.superuser("postgres", &kept).await.unwrap().as_deref(),
        Some("t t t")
    );
    wholly_ready(&world, &names).await;
    application_says(&world, "app", "SELECT 1").await;
}
