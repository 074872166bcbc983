//! What a tenant may do to its own role and database, and the repairs.

use domain::tenancy::facts::LoginFact;
use domain::tenancy::failure::Class;

use super::world::{World, refused};

#[tokio::test]
async fn d12_nothing_that_a_tenant_sets_or_plants_runs_with_or_stops_the_admin() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let name = tenant.name();
    let owner = tenant.session().await;
    if world.major() < 15 {
        owner
            .batch_execute("CREATE SCHEMA IF NOT EXISTS public")
            .await
            .unwrap();
    }
    let planted = "CREATE SCHEMA evil;
        CREATE FUNCTION evil.current_database() RETURNS name LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$;
        CREATE FUNCTION evil.eq(name, name) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$;
        CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.eq);
        CREATE TABLE evil.pg_extension ();
        CREATE TABLE evil.pg_database ()";
    owner.batch_execute(planted).await.unwrap();
    let mut settings = vec![
        "search_path = evil, pg_catalog",
        "default_transaction_read_only = on",
        "statement_timeout = 1",
        "lock_timeout = 1",
        "idle_in_transaction_session_timeout = 1",
        "default_tablespace = 'nowhere'",
        "default_table_access_method = 'nothing'",
        "standard_conforming_strings = off",
        "client_min_messages = debug5",
        "local_preload_libraries = 'nothing'",
    ];
    if world.major() >= 17 {
        settings.push("transaction_timeout = 1");
    }
    if world.major() >= 14 {
        settings.push("idle_session_timeout = 1");
    }
    // As the superuser, because some values are refused to the owner unless they are valid now.
    for setting in settings {
        let client = world.server.superuser("postgres").await.unwrap();
        for of in [format!("DATABASE {name}"), format!("ROLE {name}")] {
            let sql = format!("ALTER {of} SET {setting}");
            if client.batch_execute(&sql).await.is_err() {
                assert!(setting.contains("access_method"), "{sql}");
            }
        }
    }
    for extension in ["hstore", "citext", "uuid-ossp"] {
        tenant.install(&claim, extension).await.unwrap();
    }
    let installed = world
        .postgres
        .installed_extensions(&world.target, name)
        .await
        .unwrap();
    assert!(installed.contains("hstore"));
    assert_eq!(tenant.login().await, LoginFact::Accepted);
    // The superuser itself could not connect before.
    world
        .sql(
            "postgres",
            &format!("ALTER DATABASE {name} RESET ALL; ALTER ROLE {name} RESET ALL"),
        )
        .await;
    let place = "SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
                  WHERE e.extname = 'hstore'";
    assert_eq!(world.value(name, place).await.as_deref(), Some("public"));
}

#[tokio::test]
async fn a_database_that_its_owner_shut_is_opened_again() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let name = tenant.name();
    let (postgres, target) = (&world.postgres, &world.target);
    for (shut, refusal, words) in [
        (
            format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"),
            Class::Blocked,
            "55000",
        ),
        (
            format!("ALTER DATABASE {name} CONNECTION LIMIT 0"),
            Class::Unavailable,
            "53300",
        ),
        (
            format!("REVOKE CONNECT ON DATABASE {name} FROM {name}"),
            Class::Privileges,
            "42501",
        ),
    ] {
        tenant.outside().await.batch_execute(&shut).await.unwrap();
        let database = tenant.facts().await.database.unwrap();
        assert!(!database.connectable, "{shut}");
        refused(
            postgres.installed_extensions(target, name).await,
            refusal,
            words,
        );
        assert!(
            matches!(tenant.login().await, LoginFact::NotPermitted(text) if text.contains(words)),
            "{shut}"
        );
        postgres.repair_database(target, &claim).await.unwrap();
        assert!(tenant.facts().await.database.unwrap().connectable, "{shut}");
        assert_eq!(tenant.login().await, LoginFact::Accepted);
    }
}

#[tokio::test]
async fn a_database_that_the_admin_owns_is_given_back() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    world
        .sql(
            "postgres",
            &format!("ALTER DATABASE {} OWNER TO tenantry_admin", tenant.name()),
        )
        .await;
    assert!(tenant.facts().await.database.unwrap().owned_by_admin);
    assert!(matches!(tenant.login().await, LoginFact::NotPermitted(_)));
    world
        .postgres
        .repair_database(&world.target, &claim)
        .await
        .unwrap();
    assert!(!tenant.facts().await.database.unwrap().owned_by_admin);
    assert_eq!(tenant.login().await, LoginFact::Accepted);
}

#[tokio::test]
async fn a_role_without_login_membership_or_comment_is_repaired() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    let name = tenant.name();
    let grantor = if world.major() >= 16 {
        " GRANTED BY tenantry_admin"
    } else {
        ""
    };
    let sql = format!(
        "ALTER ROLE {name} NOLOGIN; REVOKE {name} FROM tenantry_admin{grantor}; COMMENT ON ROLE {name} IS NULL"
    );
    world.sql("postgres", &sql).await;
    world
        .postgres
        .repair_role(&world.target, &claim)
        .await
        .unwrap();
    let role = tenant.facts().await.role.unwrap();
    assert!(role.can_login && role.admin_is_member && role.comment_uid.is_some());
}

#[tokio::test]
async fn an_expired_role_is_seen_as_expired() {
    let world = World::new().await;
    let tenant = world.tenant();
    tenant.created().await;
    world
        .sql(
            "postgres",
            &format!("ALTER ROLE {} VALID UNTIL '2001-01-01'", tenant.name()),
        )
        .await;
    assert!(tenant.facts().await.role.unwrap().expired);
    assert_eq!(tenant.login().await, LoginFact::WrongPassword);
}

#[tokio::test]
async fn provider_sql_189_access_of_public_is_seen_and_taken_away() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    tenant
        .session()
        .await
        .batch_execute(&format!(
            "GRANT TEMPORARY ON DATABASE {} TO PUBLIC",
            tenant.name()
        ))
        .await
        .unwrap();
    assert!(tenant.facts().await.database.unwrap().public_access);
    world
        .postgres
        .close_database(&world.target, &claim)
        .await
        .unwrap();
    assert!(!tenant.facts().await.database.unwrap().public_access);
}

#[tokio::test]
async fn an_extension_is_not_installed_where_the_tenant_dropped_schema_public() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    world.sql(tenant.name(), "DROP SCHEMA public CASCADE").await;
    refused(
        tenant.install(&claim, "hstore").await,
        Class::Rejected,
        "CREATE SCHEMA public",
    );
    world
        .sql(
            tenant.name(),
            &format!("CREATE SCHEMA public AUTHORIZATION {}", tenant.name()),
        )
        .await;
    world
        .sql(tenant.name(), "CREATE TYPE public.hstore AS ENUM ('mine')")
        .await;
    let outcome = tenant.install(&claim, "hstore").await;
    refused(
        outcome,
        Class::Rejected,
        "schema public has an object of the same name",
    );
}
