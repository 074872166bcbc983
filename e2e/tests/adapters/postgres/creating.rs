//! From a claim to a login, and each step twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::tenancy::claim::ClaimState;
use domain::tenancy::facts::LoginFact;
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;

use super::world::{NOTHING, World, connect, refused};

#[tokio::test]
async fn a_tenant_goes_from_claim_to_login_and_nobody_else_gets_in() {
    let world = World::new().await;
    let tenant = world.tenant();
    let before = tenant.facts().await;
    assert!(
        before.claim.is_none()
            && before.role.is_none()
            && before.database.is_none()
            && before.holders.is_empty()
    );
    let claim = tenant.claimed().await;
    assert_eq!(
        (claim.state, claim.role_oid, claim.applied_kv_version),
        (ClaimState::Managed, None, None)
    );
    assert_eq!(claim.secret_path, format!("base/team/{}", tenant.name()));

    let claim = tenant.created().await;
    let facts = tenant.facts().await;
    let (role, database) = (facts.role.unwrap(), facts.database.unwrap());
    assert_eq!(claim.role_oid, Some(role.oid));
    assert_eq!(claim.applied_kv_version, Some(1));
    assert_eq!(claim.database_oid, Some(database.oid));
    assert_eq!(database.owner_oid, role.oid);
    assert_eq!(role.comment_uid.as_ref(), Some(&tenant.query.tenant_uid));
    assert!(role.can_login && role.admin_is_member && !role.expired && !role.superuser);
    assert!(
        database.connectable
            && !database.public_access
            && !database.owned_by_admin
            && !facts.role_is_admin
    );

    tenant.install(&claim, "pgcrypto").await.unwrap();
    let installed = world
        .postgres
        .installed_extensions(&world.target, tenant.name())
        .await
        .unwrap();
    assert!(installed.contains("pgcrypto"), "{installed:?}");
    world
        .postgres
        .record_database(
            &world.target,
            &claim,
            database.oid,
            &BTreeSet::from(["pgcrypto".into()]),
        )
        .await
        .unwrap();
    assert_eq!(tenant.claim().await.extensions, ["pgcrypto"]);
    assert_eq!(tenant.login().await, LoginFact::Accepted);

    // elizaOS/eliza#10838: another tenant is kept out.
    let other = world.tenant();
    other.created().await;
    let error = connect(&world, tenant.name(), other.name(), &other.plain)
        .await
        .err()
        .unwrap();
    assert_eq!(error.code().unwrap().code(), "42501");
    let listed = world.postgres.claims(&world.target).await.unwrap();
    assert_eq!(listed.len(), 2);
}

#[tokio::test]
async fn t2_each_step_of_creation_may_run_again() {
    let world = World::new().await;
    let tenant = world.tenant();
    let (postgres, target) = (&world.postgres, &world.target);
    let claim = tenant.created().await;
    let facts = tenant.facts().await;
    postgres.claim(target, &tenant.new_claim()).await.unwrap();
    postgres
        .create_role(target, &claim, &"another".to_owned().into(), 1)
        .await
        .unwrap();
    postgres.create_database(target, &claim).await.unwrap();
    postgres.close_database(target, &claim).await.unwrap();
    postgres.repair_role(target, &claim).await.unwrap();
    postgres.repair_database(target, &claim).await.unwrap();
    for _ in 0..2 {
        tenant.install(&claim, "uuid-ossp").await.unwrap();
    }
    assert_eq!(tenant.facts().await, facts);
    assert_eq!(
        tenant.login().await,
        LoginFact::Accepted,
        "the first password still holds"
    );
}

#[tokio::test]
async fn d13_a_verifier_sent_again_leaves_its_time_and_a_new_version_clears_it() {
    let world = World::new().await;
    let (postgres, target) = (&world.postgres, &world.target);
    let tenant = world.tenant();
    let claim = tenant.created().await;
    assert_eq!(claim.resent_age, None);
    world
        .sql(
            "postgres",
            &format!("ALTER ROLE {} PASSWORD 'by hand'", tenant.name()),
        )
        .await;
    assert_eq!(tenant.login().await, LoginFact::WrongPassword);
    postgres
        .set_verifier(target, &claim, &tenant.password, 1)
        .await
        .unwrap();
    assert_eq!(tenant.login().await, LoginFact::Accepted);
    assert!(tenant.claim().await.resent_age.unwrap().as_secs() < 60);
    postgres
        .set_verifier(target, &claim, &tenant.password, 2)
        .await
        .unwrap();
    let claim = tenant.claim().await;
    assert_eq!(
        (claim.applied_kv_version, claim.resent_age),
        (Some(2), None)
    );
}

#[tokio::test]
async fn d13_no_password_and_no_admin_name_is_in_the_server_s_log() {
    let world = World::new().await;
    let (postgres, target) = (&world.postgres, &world.target);
    let tenant = world.tenant();
    let claim = tenant.created().await;
    postgres
        .set_verifier(target, &claim, &tenant.password, 2)
        .await
        .unwrap();
    // A forced error: the statement is logged with it.
    world
        .sql(
            "postgres",
            &format!("ALTER ROLE {} SUPERUSER", tenant.name()),
        )
        .await;
    let failure = refused(
        postgres
            .set_verifier(target, &claim, &tenant.password, 3)
            .await,
        Class::Privileges,
        "NOSUPERUSER",
    );
    assert!(
        !failure.text.contains(e2e::bed::postgres::ADMIN),
        "{failure}"
    );
    world
        .sql(
            "postgres",
            &format!("ALTER ROLE {} NOSUPERUSER", tenant.name()),
        )
        .await;
    let about = world.server.description();
    let logs = about
        .socket_folder
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("logs");
    let log = std::fs::read_to_string(logs.join(format!("{}.log", about.name))).unwrap();
    assert!(log.contains(&format!(
        "ALTER ROLE \"{}\" PASSWORD 'SCRAM-SHA-256$4096:",
        tenant.name()
    )));
    assert!(!log.contains(&tenant.plain));
}

#[tokio::test]
async fn m2_the_recorded_extensions_never_shrink() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let oid = claim.database_oid.unwrap();
    for set in [["b", "a"], ["c", "b"]] {
        let set = set.map(str::to_owned).into();
        world
            .postgres
            .record_database(&world.target, &claim, oid, &set)
            .await
            .unwrap();
    }
    world
        .postgres
        .record_database(&world.target, &claim, oid, &NOTHING)
        .await
        .unwrap();
    assert_eq!(tenant.claim().await.extensions, ["a", "b", "c"]);
    refused(
        world
            .postgres
            .record_database(&world.target, &claim, oid + 1, &NOTHING)
            .await,
        Class::Stale,
        "another database",
    );
}

#[tokio::test]
async fn t6_an_extension_that_is_not_trusted_is_refused_with_its_reason() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    refused(
        tenant.install(&claim, "pg_stat_statements").await,
        Class::NotInstallable,
        "needs a superuser",
    );
    refused(
        tenant.install(&claim, "earthdistance").await,
        Class::NotInstallable,
        "needs a superuser",
    );
    refused(
        tenant.install(&claim, "no_such_thing").await,
        Class::NotInstallable,
        "not available",
    );
    tenant.install(&claim, "plpgsql").await.unwrap();
    // CNPG#251: what was installed by hand stays.
    world
        .sql(tenant.name(), "CREATE EXTENSION earthdistance CASCADE")
        .await;
    tenant.install(&claim, "hstore").await.unwrap();
    let installed = world
        .postgres
        .installed_extensions(&world.target, tenant.name())
        .await
        .unwrap();
    assert!(
        installed.is_superset(
            &["cube", "earthdistance", "hstore", "plpgsql"]
                .map(str::to_owned)
                .into()
        )
    );
}

#[tokio::test]
async fn rust_postgres_454_a_database_is_made_from_template0_even_while_template1_is_busy_and_damaged()
 {
    let world = World::new().await;
    let tenant = world.tenant();
    let busy = world.server.superuser("template1").await.unwrap();
    if world.major() >= 15 {
        busy.batch_execute(
            "UPDATE pg_database SET datcollversion = 'wrong' WHERE datname = 'template1'",
        )
        .await
        .unwrap();
    }
    tenant.created().await;
    if world.major() >= 15 {
        busy.batch_execute(
            "UPDATE pg_database SET datcollversion = NULL WHERE datname = 'template1'",
        )
        .await
        .unwrap();
    }
    drop(busy);
    assert_eq!(tenant.login().await, LoginFact::Accepted);
}

#[tokio::test]
async fn two_processes_that_create_the_same_tenant_make_it_once() {
    let world = Arc::new(World::new().await);
    let tenant = world.tenant();
    let claim = tenant.claimed().await;
    let others: Vec<_> = (0..3).map(|_| world.with(|_| {})).collect();
    let run = async |postgres: &tenantry::adapters::postgres::Postgres| {
        postgres
            .create_role(&world.target, &claim, &tenant.password, 1)
            .await?;
        postgres.create_database(&world.target, &claim).await?;
        postgres.close_database(&world.target, &claim).await
    };
    let (a, b, c) = tokio::join!(run(&others[0]), run(&others[1]), run(&others[2]));
    for outcome in [a, b, c] {
        outcome.unwrap();
    }
    assert_eq!(tenant.login().await, LoginFact::Accepted);
}

#[tokio::test]
async fn a_row_is_marked_unmanaged_unless_it_is_being_deleted() {
    let world = World::new().await;
    let (postgres, target) = (&world.postgres, &world.target);
    let tenant = world.tenant();
    let claim = tenant.claimed().await;
    postgres
        .mark_unmanaged(target, &Uid::new("other"), &claim.tenant_uid)
        .await
        .unwrap();
    assert_eq!(tenant.claim().await.state, ClaimState::Managed);
    postgres
        .mark_unmanaged(target, &claim.cluster_uid, &claim.tenant_uid)
        .await
        .unwrap();
    assert_eq!(tenant.claim().await.state, ClaimState::Unmanaged);
    let second = world.tenant();
    let claim = second.claimed().await;
    postgres
        .freeze_policy(
            target,
            &claim,
            domain::tenancy::tenant::DeletionPolicy::Delete,
        )
        .await
        .unwrap();
    postgres
        .mark_unmanaged(target, &claim.cluster_uid, &claim.tenant_uid)
        .await
        .unwrap();
    assert_eq!(second.claim().await.state, ClaimState::Deleting);
}
