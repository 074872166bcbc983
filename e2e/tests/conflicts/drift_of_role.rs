//! Story: what someone changed on a Tenant's role is put right, and nothing is altered that did not drift.

use e2e::bed::postgres::ADMIN;
use e2e::world::tenancy::World;

use super::outside::{Names, outside};
use super::scene::{application_says, says, sql, until_sql, wake, wholly_ready, wipe_status};

#[tokio::test]
async fn a_role_without_login_or_without_the_admin_s_membership_is_repaired() {
    let world = World::shared("drole").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let role = &names.role;
    let member = format!("SELECT pg_has_role('{ADMIN}', '{role}', 'USAGE')::text");
    let drifts = [
        (
            format!("ALTER ROLE {role} NOLOGIN"),
            format!("SELECT rolcanlogin::text FROM pg_roles WHERE rolname = '{role}'"),
        ),
        // The grant that Tenantry made to itself; on 16 and later the server made another one, which stays.
        (
            format!("REVOKE {role} FROM {ADMIN} GRANTED BY {ADMIN}"),
            member,
        ),
    ];
    let before = outside(&world, &names).await;
    for (drift, query) in drifts {
        sql(&world, "postgres", &drift).await;
        wake(&world, "app").await;
        until_sql(
            &world,
            "postgres",
            &format!("repaired: {drift}"),
            &query,
            "true",
        )
        .await;
        world.tenant_ready("app").await.unwrap();
        application_says(&world, "app", "SELECT 1").await;
    }
    let after = outside(&world, &names).await;
    for part in ["database", "entry", "external secret", "secret"] {
        assert_eq!(after[part], before[part], "{part}");
    }
}

#[tokio::test]
async fn a_look_without_drift_writes_nothing_anywhere_24() {
    let world = World::shared("dnone").await.unwrap();
    let names = Names::of(&world, "app");
    world
        .ready_tenant("app", "extensions: [citext]")
        .await
        .unwrap();
    let before = outside(&world, &names).await;
    wipe_status(&world, "app").await;
    wholly_ready(&world, &names).await;
    assert_eq!(outside(&world, &names).await, before);
}

#[tokio::test]
async fn d13_a_password_changed_by_hand_is_repaired_from_openbao_once_and_then_reported_21() {
    let world = World::shared("dpassword").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let (entry, before) = (
        world.entry("app").await.unwrap(),
        outside(&world, &names).await,
    );
    let changed = format!("ALTER ROLE {} PASSWORD 'by hand'", names.role);
    sql(&world, "postgres", &changed).await;
    let login = world.application("app").await.unwrap();
    assert!(login.query("SELECT 1").await.unwrap().code != 0);
    wake(&world, "app").await;
    let resent = "SELECT (verifier_resent_at IS NOT NULL)::text FROM tenantry.claim";
    until_sql(
        &world,
        &world.management_database(),
        "the verifier was sent again",
        resent,
        "true",
    )
    .await;
    world.tenant_ready("app").await.unwrap();
    login.query("SELECT 1").await.unwrap().success().unwrap();
    assert_eq!(world.entry("app").await.unwrap(), entry);

    // Two writers of one password: not an endless fight.
    sql(&world, "postgres", &changed).await;
    let role = outside(&world, &names).await["role"].clone();
    says(
        &world,
        "app",
        "ProvisioningFailed",
        &["login as", "just sent again"],
    )
    .await;
    let after = outside(&world, &names).await;
    assert_eq!(after["role"], role);
    for part in ["database", "entry", "external secret", "secret"] {
        assert_eq!(after[part], before[part], "{part}");
    }
}

#[tokio::test]
async fn d13_a_password_changed_by_hand_while_the_status_was_wiped_is_repaired_from_openbao_27() {
    let world = World::shared("drestored").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let entry = world.entry("app").await.unwrap();
    sql(
        &world,
        "postgres",
        &format!("ALTER ROLE {} PASSWORD 'of the backup'", names.role),
    )
    .await;
    wipe_status(&world, "app").await;
    wholly_ready(&world, &names).await;
    application_says(&world, "app", "SELECT 1").await;
    assert_eq!(world.entry("app").await.unwrap(), entry);
}
