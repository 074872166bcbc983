//! Deletion: what is ours goes, what holds it is named, what is not ours stays.

use std::time::Duration;

use domain::tenancy::claim::{Claim, ClaimState};
use domain::tenancy::facts::LoginFact;
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::tenant::DeletionPolicy;

use super::world::{Tenant, World, refused, within};

async fn delete(tenant: &Tenant<'_>, claim: &Claim) -> Result<(), Failure> {
    let (postgres, target) = (&tenant.world.postgres, &tenant.world.target);
    postgres
        .freeze_policy(target, claim, DeletionPolicy::Delete)
        .await?;
    postgres.forbid_login(target, claim).await?;
    postgres.end_sessions(target, claim).await?;
    postgres.drop_database(target, claim).await?;
    postgres.drop_role(target, claim).await?;
    postgres.release_claim(target, claim).await
}

async fn nothing_is_left(tenant: &Tenant<'_>) {
    let facts = tenant.facts().await;
    assert!(
        facts.claim.is_none() && facts.role.is_none() && facts.database.is_none(),
        "{facts:?}"
    );
}

#[tokio::test]
async fn a_deletion_leaves_nothing_and_each_step_may_run_again() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    // provider-sql#397: an application is connected.
    let session = tenant.session().await;
    assert_eq!(tenant.facts().await.database.unwrap().sessions, 1);
    let (postgres, target) = (&world.postgres, &world.target);
    postgres
        .freeze_policy(target, &claim, DeletionPolicy::Delete)
        .await
        .unwrap();
    postgres
        .freeze_policy(target, &claim, DeletionPolicy::Retain)
        .await
        .unwrap();
    let frozen = tenant.claim().await;
    assert_eq!(
        (frozen.state, frozen.frozen_policy),
        (ClaimState::Deleting, Some(DeletionPolicy::Delete)),
        "M3"
    );
    for _ in 0..2 {
        postgres.forbid_login(target, &claim).await.unwrap();
    }
    assert!(
        matches!(tenant.login().await, LoginFact::NotPermitted(text) if text.contains("28000"))
    );
    for _ in 0..2 {
        postgres.end_sessions(target, &claim).await.unwrap();
    }
    assert!(session.simple_query("SELECT 1").await.is_err());
    assert_eq!(tenant.facts().await.database.unwrap().sessions, 0);
    refused(
        postgres.release_claim(target, &claim).await,
        Class::Stale,
        "still there",
    );
    for _ in 0..2 {
        postgres.drop_database(target, &claim).await.unwrap();
    }
    for _ in 0..2 {
        postgres.drop_role(target, &claim).await.unwrap();
    }
    for _ in 0..2 {
        postgres.release_claim(target, &claim).await.unwrap();
    }
    nothing_is_left(&tenant).await;
}

#[tokio::test]
async fn movetokube_44_a_database_that_is_gone_is_done() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    world
        .sql("postgres", &format!("DROP DATABASE {}", tenant.name()))
        .await;
    delete(&tenant, &claim).await.unwrap();
    nothing_is_left(&tenant).await;
}

#[tokio::test]
async fn movetokube_93_a_lost_membership_is_granted_again_before_anything_is_dropped() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let grantor = if world.major() >= 16 {
        " GRANTED BY tenantry_admin"
    } else {
        ""
    };
    world
        .sql(
            "postgres",
            &format!("REVOKE {} FROM tenantry_admin{grantor}", tenant.name()),
        )
        .await;
    assert!(!tenant.facts().await.role.unwrap().admin_is_member);
    delete(&tenant, &claim).await.unwrap();
    nothing_is_left(&tenant).await;
}

#[tokio::test]
async fn a_superuser_s_session_blocks_and_is_named_without_any_name_of_the_admin() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let session = world.server.superuser(tenant.name()).await.unwrap();
    let pid: i32 = session
        .query_one("SELECT pg_backend_pid()", &[])
        .await
        .unwrap()
        .get(0);
    let (postgres, target) = (&world.postgres, &world.target);
    let failure = refused(
        postgres.end_sessions(target, &claim).await,
        Class::Blocked,
        &format!("session {pid} of user postgres"),
    );
    assert!(failure.text.contains("goes on by itself"), "{failure}");
    refused(
        postgres.drop_database(target, &claim).await,
        Class::Blocked,
        &format!("session {pid}"),
    );
    drop(session);
    delete(&tenant, &claim).await.unwrap();
    nothing_is_left(&tenant).await;
}

#[tokio::test]
async fn what_the_tenant_set_on_its_database_does_not_stop_the_drop() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let name = tenant.name();
    let owner = tenant.outside().await;
    for sql in [
        format!("ALTER DATABASE {name} IS_TEMPLATE true"),
        format!("ALTER DATABASE {name} CONNECTION LIMIT 0"),
        format!("REVOKE CONNECT ON DATABASE {name} FROM {name}"),
        format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"),
    ] {
        owner.batch_execute(&sql).await.unwrap();
    }
    delete(&tenant, &claim).await.unwrap();
    nothing_is_left(&tenant).await;
}

#[tokio::test]
async fn a_role_that_owns_something_elsewhere_is_kept_and_the_place_is_named() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let name = tenant.name();
    world
        .sql(
            &world.management,
            &format!("CREATE TABLE public.{name} (); ALTER TABLE public.{name} OWNER TO {name}"),
        )
        .await;
    refused(
        delete(&tenant, &claim).await,
        Class::Blocked,
        &format!("database {}", world.management),
    );
    assert!(tenant.facts().await.role.is_some());
    world
        .sql(&world.management, &format!("DROP TABLE public.{name}"))
        .await;
    delete(&tenant, &claim).await.unwrap();
    nothing_is_left(&tenant).await;
}

#[tokio::test]
async fn t3_a_database_with_another_owner_or_oid_is_not_dropped() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let name = tenant.name();
    world
        .sql(
            "postgres",
            &format!("ALTER DATABASE {name} OWNER TO postgres"),
        )
        .await;
    refused(
        world.postgres.drop_database(&world.target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    world
        .sql("postgres", &format!("DROP DATABASE {name}"))
        .await;
    world
        .sql("postgres", &format!("CREATE DATABASE {name} OWNER {name}"))
        .await;
    refused(
        world.postgres.drop_database(&world.target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    assert!(tenant.facts().await.database.is_some());
}

#[tokio::test]
async fn a_claim_is_released_only_once_its_policy_is_frozen_as_delete() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.claimed().await;
    refused(
        world.postgres.release_claim(&world.target, &claim).await,
        Class::Conflict,
        "not frozen",
    );
    world
        .postgres
        .freeze_policy(&world.target, &claim, DeletionPolicy::Delete)
        .await
        .unwrap();
    within(
        Duration::from_secs(5),
        world.postgres.release_claim(&world.target, &claim),
    )
    .await
    .unwrap();
    nothing_is_left(&tenant).await;
}
