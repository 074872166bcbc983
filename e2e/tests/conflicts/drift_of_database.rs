//! Story: what someone changed on a Tenant's database is put right; its OID and its data stay.

use e2e::bed::postgres::ADMIN;
use e2e::world::tenancy::World;

use super::outside::{Names, outside};
use super::scene::{application_says, sql, until_sql, wake, wholly_ready};

/// What someone does as superuser, and a query that gives the text once it is put right.
type Drift<'a> = (String, String, &'a str);

/// Each drift is repaired by one look; OID, data, password and delivery stay.
async fn each_is_repaired(world: &World, names: &Names, drifts: &[Drift<'_>]) {
    let ready = world.ready_tenant(names.tenant, "").await.unwrap();
    let oid = ready.data["status"]["databaseOID"].clone();
    application_says(
        world,
        names.tenant,
        "CREATE TABLE kept (word text); INSERT INTO kept VALUES ('data')",
    )
    .await;
    let before = outside(world, names).await;
    for (drift, query, wanted) in drifts {
        sql(world, "postgres", drift).await;
        wake(world, names.tenant).await;
        until_sql(
            world,
            "postgres",
            &format!("repaired: {drift}"),
            query,
            wanted,
        )
        .await;
        let again = wholly_ready(world, names).await;
        assert_eq!(again.data["status"]["databaseOID"], oid, "{drift}");
        assert_eq!(
            application_says(world, names.tenant, "SELECT word FROM kept").await,
            "data",
            "{drift}"
        );
    }
    let after = outside(world, names).await;
    for part in ["entry", "external secret", "secret"] {
        assert_eq!(after[part], before[part], "{part}");
    }
}

#[tokio::test]
async fn rights_given_to_public_or_taken_from_the_owner_are_put_right() {
    let world = World::shared("dbrights").await.unwrap();
    let names = Names::of(&world, "app");
    let (database, role) = (&names.database, &names.role);
    let public = |right: &str| {
        format!(
            "SELECT EXISTS (SELECT FROM pg_database d, aclexplode(d.datacl) a WHERE d.datname = '{database}' AND a.grantee = 0
                            AND a.privilege_type = '{right}')::text"
        )
    };
    let owner = format!("SELECT has_database_privilege('{role}', '{database}', 'CONNECT')::text");
    let drifts = [
        (
            format!("GRANT CONNECT ON DATABASE {database} TO PUBLIC"),
            public("CONNECT"),
            "false",
        ),
        (
            format!("GRANT TEMPORARY ON DATABASE {database} TO PUBLIC"),
            public("TEMPORARY"),
            "false",
        ),
        (
            format!("REVOKE CONNECT ON DATABASE {database} FROM {role}"),
            owner,
            "true",
        ),
    ];
    each_is_repaired(&world, &names, &drifts).await;
}

#[tokio::test]
async fn a_database_shut_or_given_to_the_admin_is_opened_and_given_back() {
    let world = World::shared("dbattrs").await.unwrap();
    let names = Names::of(&world, "app");
    let database = &names.database;
    let column =
        |column: &str| format!("SELECT {column} FROM pg_database d WHERE datname = '{database}'");
    let drifts = [
        (
            format!("ALTER DATABASE {database} ALLOW_CONNECTIONS false"),
            column("datallowconn::text"),
            "true",
        ),
        (
            format!("ALTER DATABASE {database} CONNECTION LIMIT 0"),
            column("(datconnlimit <> 0)::text"),
            "true",
        ),
        (
            format!("ALTER DATABASE {database} OWNER TO {ADMIN}"),
            column("datdba::regrole::text"),
            names.role.as_str(),
        ),
    ];
    each_is_repaired(&world, &names, &drifts).await;
}

#[tokio::test]
async fn an_extension_dropped_by_a_superuser_is_installed_again_and_one_installed_by_hand_stays_46()
{
    let world = World::shared("dext").await.unwrap();
    let names = Names::of(&world, "app");
    world
        .ready_tenant("app", "extensions: [citext, hstore]")
        .await
        .unwrap();
    sql(&world, &names.database, "CREATE EXTENSION pgcrypto").await;
    sql(&world, &names.database, "DROP EXTENSION citext").await;
    wake(&world, "app").await;
    let installed = "SELECT string_agg(extname, ',' ORDER BY extname) FROM pg_extension WHERE extname <> 'plpgsql'";
    until_sql(
        &world,
        &names.database,
        "citext is there again",
        installed,
        "citext,hstore,pgcrypto",
    )
    .await;
    world.tenant_ready("app").await.unwrap();
}
