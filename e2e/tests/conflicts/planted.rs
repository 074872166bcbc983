//! Story: what a tenant may set and plant in its own database neither runs with the admin nor stops it (D12).

use e2e::world::tenancy::World;
use serde_json::json;

use super::outside::Names;
use super::scene::{application_says, corrected, sql, whole_look, wholly_ready};

#[tokio::test]
async fn d12_settings_functions_and_operators_of_a_tenant_neither_stop_a_look_nor_run_with_the_admin()
 {
    let world = World::shared("planted").await.unwrap();
    let names = Names::of(&world, "app");
    world
        .ready_tenant("app", "extensions: [citext]")
        .await
        .unwrap();
    let (database, role) = (&names.database, &names.role);
    // Whoever calls one of these leaves a trace.
    let planted = "CREATE SCHEMA trap;
        CREATE TABLE trap.caught (who text);
        GRANT USAGE ON SCHEMA trap TO PUBLIC; GRANT INSERT ON trap.caught TO PUBLIC;
        CREATE FUNCTION trap.spring(name) RETURNS text LANGUAGE sql AS 'INSERT INTO trap.caught VALUES (current_user) RETURNING who';
        CREATE FUNCTION trap.concat_ws(text, text) RETURNS text LANGUAGE sql AS 'INSERT INTO trap.caught VALUES (current_user) RETURNING who';
        CREATE FUNCTION trap.same(name, text) RETURNS bool LANGUAGE sql AS 'INSERT INTO trap.caught VALUES (current_user) RETURNING true';
        CREATE OPERATOR trap.= (LEFTARG = name, RIGHTARG = text, FUNCTION = trap.same);
        CREATE TABLE trap.pg_extension (extname name, oid oid, extnamespace oid);
        CREATE TABLE trap.pg_database (datname name, oid oid);";
    application_says(&world, "app", planted).await;
    let settings = [
        format!("ALTER DATABASE {database} SET search_path = trap, pg_catalog"),
        format!("ALTER DATABASE {database} SET default_transaction_read_only = on"),
        format!("ALTER DATABASE {database} SET statement_timeout = '1ms'"),
        format!("ALTER DATABASE {database} SET lock_timeout = '1ms'"),
        format!("ALTER DATABASE {database} SET idle_in_transaction_session_timeout = '1ms'"),
        format!("ALTER DATABASE {database} SET standard_conforming_strings = off"),
        format!("ALTER DATABASE {database} SET client_min_messages = debug5"),
        format!("ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'"),
        format!("ALTER ROLE {role} SET search_path = trap, pg_catalog"),
        format!("ALTER ROLE {role} SET default_transaction_read_only = on"),
        format!("ALTER ROLE {role} SET statement_timeout = '1ms'"),
        format!("ALTER ROLE {role} SET role = 'none'"),
    ];
    let login = world.application("app").await.unwrap();
    login
        .query(&settings.join(";\n"))
        .await
        .unwrap()
        .success()
        .unwrap();

    whole_look(&world, &names).await;
    // An effect inside the database, too.
    corrected(&world, "app", json!({"extensions": ["citext", "hstore"]})).await;
    wholly_ready(&world, &names).await;
    // The tenant's settings are the tenant's; they would be in the way of the looks below.
    let kept = format!(
        "SELECT count(*)::text FROM pg_db_role_setting s, pg_database d WHERE d.datname = '{database}' AND s.setdatabase = d.oid"
    );
    assert_eq!(
        world.superuser("postgres", &kept).await.unwrap().as_deref(),
        Some("1")
    );
    sql(
        &world,
        "postgres",
        &format!("ALTER DATABASE {database} RESET ALL"),
    )
    .await;
    let installed = "SELECT extname FROM pg_extension WHERE extname = 'hstore'";
    assert_eq!(
        world
            .superuser(database, installed)
            .await
            .unwrap()
            .as_deref(),
        Some("hstore")
    );
    let caught = "SELECT count(*)::text FROM trap.caught";
    assert_eq!(
        world.superuser(database, caught).await.unwrap().as_deref(),
        Some("0")
    );
}
