//! What an inspection finds missing, and the registry's states.

use domain::tenancy::capability::{Check, Installability, RegistryState};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::ExtensionName;

use super::world::{World, refused, unique};
use tenantry::adapters::postgres::Depth;

#[track_caller]
fn failed(check: &Check) -> &Failure {
    match check {
        Check::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn d10_an_admin_with_createdb_and_createrole_is_enough() {
    let world = World::empty().await;
    let seen = world.postgres.inspect(&world.target, Depth::Rights).await;
    assert_eq!(seen.target, world.target.binding);
    for check in [
        &seen.access,
        &seen.metadata,
        &seen.privileges,
        &seen.rights_probe,
    ] {
        assert_eq!(*check, Check::Passed, "{seen:?}");
    }
    assert_eq!(seen.registry, RegistryState::Absent);
    assert!(
        seen.server_version
            .unwrap()
            .starts_with(&world.major().to_string())
    );
    assert_eq!(
        seen.extensions[&ExtensionName::parse("pgcrypto").unwrap()],
        Installability::Yes
    );
    let untrusted = &seen.extensions[&ExtensionName::parse("pg_stat_statements").unwrap()];
    assert!(matches!(untrusted, Installability::NeedsSuperuser(_)));
    assert!(
        seen.advice
            .iter()
            .any(|text| text.contains("REVOKE CONNECT")),
        "{:?}",
        seen.advice
    );
    world
        .postgres
        .migrate_registry(&world.target)
        .await
        .unwrap();
    let seen = world
        .postgres
        .inspect(&world.target, Depth::Extensions)
        .await;
    assert_eq!(
        (seen.registry, seen.rights_probe),
        (RegistryState::Usable, Check::NotObserved)
    );
    let probes = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'tenantry\\_probe%'";
    assert_eq!(world.value("postgres", probes).await.as_deref(), Some("0"));
}

#[tokio::test]
async fn pgroles_119_a_missing_attribute_is_named_with_the_statement_that_gives_it() {
    let world = World::empty().await;
    let admin = unique("admin");
    let grant = format!(
        "CREATE ROLE {admin} LOGIN NOINHERIT PASSWORD 'x'; GRANT tenantry_admin TO {admin}"
    );
    world.sql("postgres", &grant).await;
    let target = world.as_admin(&admin, "x");
    let seen = world.postgres.inspect(&target, Depth::Rights).await;
    let failure = failed(&seen.privileges);
    // Since 16 the grants carry the rights by themselves.
    let attributes = if world.major() >= 16 {
        "ALTER ROLE <admin role> CREATEDB CREATEROLE;"
    } else {
        "ALTER ROLE <admin role> CREATEDB CREATEROLE INHERIT;"
    };
    assert_eq!(failure.class, Class::Privileges);
    assert!(failure.text.contains(attributes), "{failure}");
    assert!(
        failure.text.contains(&format!(
            "GRANT CREATE ON DATABASE \"{}\" TO <admin role>",
            world.management
        )),
        "{failure}"
    );
    assert!(!failure.text.contains(&admin), "C5: {failure}");
    assert_eq!(seen.rights_probe, Check::NotObserved);
    refused(
        world.postgres.migrate_registry(&target).await,
        Class::Privileges,
        "GRANT CREATE ON DATABASE",
    );
}

#[tokio::test]
async fn d10_an_admin_without_inherit_is_enough_since_16() {
    let world = World::empty().await;
    let admin = unique("admin");
    let role = format!(
        "CREATE ROLE {admin} LOGIN CREATEDB CREATEROLE NOINHERIT PASSWORD 'x';
                        GRANT CREATE ON DATABASE {} TO {admin}",
        world.management
    );
    world.sql("postgres", &role).await;
    let mut world = world;
    world.target = world.as_admin(&admin, "x");
    let seen = world.postgres.inspect(&world.target, Depth::Rights).await;
    if world.major() < 16 {
        assert!(
            failed(&seen.privileges)
                .text
                .contains("ALTER ROLE <admin role> INHERIT"),
            "{seen:?}"
        );
        return;
    }
    assert_eq!(
        (&seen.privileges, &seen.rights_probe),
        (&Check::Passed, &Check::Passed)
    );
    world
        .postgres
        .migrate_registry(&world.target)
        .await
        .unwrap();
    let tenant = world.tenant();
    let claim = tenant.created().await;
    tenant.install(&claim, "hstore").await.unwrap();
    assert!(tenant.facts().await.role.unwrap().admin_is_member);
    world
        .postgres
        .drop_database(&world.target, &claim)
        .await
        .unwrap();
    world
        .postgres
        .drop_role(&world.target, &claim)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_superuser_as_admin_passes_with_advice_and_may_install_what_is_not_trusted() {
    let world = World::empty().await;
    let admin = unique("admin");
    world
        .sql(
            "postgres",
            &format!("CREATE ROLE {admin} LOGIN SUPERUSER CONNECTION LIMIT 2 PASSWORD 'x'"),
        )
        .await;
    let seen = world
        .postgres
        .inspect(&world.as_admin(&admin, "x"), Depth::Rights)
        .await;
    assert_eq!(
        (&seen.privileges, &seen.rights_probe),
        (&Check::Passed, &Check::Passed)
    );
    assert_eq!(
        seen.extensions[&ExtensionName::parse("earthdistance").unwrap()],
        Installability::Yes
    );
    for words in ["is a superuser", "connection limit"] {
        assert!(
            seen.advice.iter().any(|text| text.contains(words)),
            "{:?}",
            seen.advice
        );
    }
}

#[tokio::test]
async fn a_schema_that_is_not_ours_or_newer_is_incompatible_and_untouched() {
    for (sql, words) in [
        (
            "CREATE SCHEMA tenantry; CREATE TABLE tenantry.mine (x int)",
            "no table marker",
        ),
        (
            "CREATE SCHEMA tenantry; CREATE TABLE tenantry.marker (x int)",
            "other columns",
        ),
        (
            "CREATE SCHEMA tenantry; CREATE TABLE tenantry.marker (product text, version int)",
            "is empty",
        ),
        (
            "CREATE SCHEMA tenantry; CREATE TABLE tenantry.marker (product text, version int);
             INSERT INTO tenantry.marker VALUES ('other', 1)",
            "another product",
        ),
    ] {
        let world = World::empty().await;
        let owned = format!("SET ROLE tenantry_admin; {sql}");
        world.sql(&world.management, &owned).await;
        let seen = world
            .postgres
            .inspect(&world.target, Depth::Extensions)
            .await;
        assert!(
            matches!(&seen.registry, RegistryState::Incompatible(text) if text.contains(words)),
            "{:?}",
            seen.registry
        );
        refused(
            world.postgres.migrate_registry(&world.target).await,
            Class::Misconfigured,
            words,
        );
        let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'tenantry'";
        assert_eq!(
            world.value(&world.management, tables).await.as_deref(),
            Some("1")
        );
    }
    let world = World::new().await;
    world
        .sql(&world.management, "UPDATE tenantry.marker SET version = 99")
        .await;
    let seen = world
        .postgres
        .inspect(&world.target, Depth::Extensions)
        .await;
    assert!(matches!(&seen.registry, RegistryState::Incompatible(text) if text.contains("newer")));
    refused(
        world.postgres.migrate_registry(&world.target).await,
        Class::Misconfigured,
        "newer",
    );
    let outcome = world
        .postgres
        .observe(&world.target, &world.tenant().query)
        .await;
    refused(outcome, Class::Misconfigured, "another version");
}

#[tokio::test]
async fn d12_a_registry_that_another_role_planted_is_not_used() {
    let world = World::new().await;
    world
        .sql(
            &world.management,
            "ALTER TABLE tenantry.claim OWNER TO postgres",
        )
        .await;
    let seen = world
        .postgres
        .inspect(&world.target, Depth::Extensions)
        .await;
    let failure = failed(&seen.privileges);
    assert!(
        failure
            .text
            .contains("ALTER TABLE tenantry.claim OWNER TO <admin role>"),
        "{failure}"
    );
    assert_eq!(seen.registry, RegistryState::NotObserved);
    refused(
        world.postgres.migrate_registry(&world.target).await,
        Class::Privileges,
        "belongs to a role",
    );
}

#[tokio::test]
async fn i4_a_registry_is_made_once_however_many_prepare_it() {
    let world = World::empty().await;
    let adapters: Vec<_> = (0..4).map(|_| world.with(|_| {})).collect();
    let all = futures::future::join_all(
        adapters
            .iter()
            .map(|adapter| adapter.migrate_registry(&world.target)),
    )
    .await;
    for outcome in all {
        outcome.unwrap();
    }
    let version = world
        .value(&world.management, "SELECT version FROM tenantry.marker")
        .await;
    assert_eq!(version.as_deref(), Some("1"));
}

#[tokio::test]
async fn i5_a_registry_that_went_away_is_seen_and_never_taken_for_empty() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.claimed().await;
    world
        .sql(&world.management, "DROP SCHEMA tenantry CASCADE")
        .await;
    refused(
        world.postgres.observe(&world.target, &tenant.query).await,
        Class::Unavailable,
        "registry is missing",
    );
    refused(
        world
            .postgres
            .create_role(&world.target, &claim, &tenant.password, 1)
            .await,
        Class::Unavailable,
        "missing",
    );
    assert_eq!(
        world
            .postgres
            .inspect(&world.target, Depth::Extensions)
            .await
            .registry,
        RegistryState::Absent
    );
}

#[tokio::test]
async fn d2_the_admin_itself_is_recognised_as_a_wanted_role() {
    let world = World::new().await;
    let mut tenant = world.tenant();
    tenant.query.role = e2e::bed::postgres::ADMIN.to_owned();
    assert!(tenant.facts().await.role_is_admin);
}
