//! Story: a right that the admin role lacks is named with the statement that gives it, and that statement is enough (D10, #34).

use e2e::world::condition::Condition;
use e2e::world::tenancy::World;

use super::extras::{OwnAdmin, superuser};

/// Waits for `InsufficientPrivileges`.
async fn lacking(world: &World) -> Condition {
    world
        .instance_reason(&world.instance, "InsufficientPrivileges")
        .await
        .unwrap()
}

/// The statements of a message, with the role's name put in, as an administrator would copy them.
fn statements(message: &str, role: &str) -> Vec<String> {
    let (_, list) = message
        .split_once("run: ")
        .or_else(|| message.split_once("run "))
        .unwrap_or_else(|| panic!("nothing to run in: {message}"));
    let list = list.split(" (SQLSTATE").next().unwrap();
    let statements = list
        .split("; ")
        .map(|statement| statement.split(" (or ").next().unwrap());
    statements
        .map(|statement| statement.replace("<admin role>", &format!("\"{role}\"")))
        .collect()
}

/// Runs what the condition says until the Instance is ready; gives the statements.
async fn cured(own: &OwnAdmin) -> Vec<String> {
    let said = lacking(&own.world).await;
    assert!(
        !said.message.contains(&own.role),
        "C5: the admin's name is in {}",
        said.message
    );
    let statements = statements(&said.message, &own.role);
    let run: Vec<&str> = statements.iter().map(String::as_str).collect();
    superuser(&own.world, "postgres", &run).await.unwrap();
    own.world.instance_is("True").await.unwrap();
    statements
}

#[tokio::test]
async fn d10_a_missing_createdb_is_named_with_its_statement_which_cures_it_without_a_restart() {
    let own = OwnAdmin::create("rights-db", "CREATEROLE").await.unwrap();
    assert_eq!(
        cured(&own).await,
        [format!("ALTER ROLE \"{}\" CREATEDB", own.role)]
    );
    own.world.ready_tenant("app", "").await.unwrap();
}

#[tokio::test]
async fn bug34_attributes_of_a_role_that_the_admin_is_a_member_of_do_not_count() {
    let own = OwnAdmin::create("rights-member", "").await.unwrap();
    let parent = format!("{}_parent", own.role);
    let make = [
        format!("CREATE ROLE \"{parent}\" CREATEDB CREATEROLE"),
        format!("GRANT \"{parent}\" TO \"{}\"", own.role),
    ];
    superuser(&own.world, "postgres", &[&make[0], &make[1]])
        .await
        .unwrap();
    assert_eq!(
        cured(&own).await,
        [format!("ALTER ROLE \"{}\" CREATEDB CREATEROLE", own.role)]
    );
    own.world
        .ready_tenant("app", "deletionPolicy: Delete")
        .await
        .unwrap();
}

#[tokio::test]
async fn d10_a_missing_right_on_the_management_database_is_named_with_its_statement() {
    let own = OwnAdmin::prepare("rights-schema", "CREATEDB CREATEROLE")
        .await
        .unwrap();
    own.register().await.unwrap();
    let database = own.world.management_database();
    assert_eq!(
        cured(&own).await,
        [format!(
            "GRANT CREATE ON DATABASE \"{database}\" TO \"{}\"",
            own.role
        )]
    );
}

#[tokio::test]
async fn d10_everything_that_is_missing_is_named_at_once() {
    let own = OwnAdmin::prepare("rights-all", "NOINHERIT").await.unwrap();
    own.register().await.unwrap();
    let database = own.world.management_database();
    // From 16 on a membership says itself whether it inherits.
    let major = own.world.bed.postgres().description().major;
    let inherit = if major < 16 { " INHERIT" } else { "" };
    let expected = [
        format!("ALTER ROLE \"{}\" CREATEDB CREATEROLE{inherit}", own.role),
        format!(
            "GRANT CREATE ON DATABASE \"{database}\" TO \"{}\"",
            own.role
        ),
    ];
    assert_eq!(cured(&own).await, expected);
    own.world
        .ready_tenant("app", "deletionPolicy: Delete")
        .await
        .unwrap();
}

#[tokio::test]
async fn a_management_database_that_the_admin_may_not_enter_or_that_is_missing_is_said_with_the_cure()
 {
    let own = OwnAdmin::create("rights-connect", "CREATEDB CREATEROLE")
        .await
        .unwrap();
    let (world, database) = (&own.world, own.world.management_database());
    world.instance_is("True").await.unwrap();
    let close = format!("REVOKE CONNECT ON DATABASE \"{database}\" FROM PUBLIC");
    let out = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}'",
        own.role
    );
    superuser(world, "postgres", &[&close, &out]).await.unwrap();
    super::extras::look_now(world).await.unwrap();
    assert_eq!(
        cured(&own).await,
        [format!(
            "GRANT CONNECT ON DATABASE \"{database}\" TO \"{}\"",
            own.role
        )]
    );

    let elsewhere = world.instance_manifest();
    let missing = format!("{database}_later");
    world
        .apply(&elsewhere.replace(
            &format!("database: {database}"),
            &format!("database: {missing}"),
        ))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world
        .instance_reason(&world.instance, "DependencyUnavailable")
        .await
        .unwrap();
    assert!(
        said.message
            .contains(&format!("the management database {missing} does not exist")),
        "{}",
        said.message
    );
    let make = format!("CREATE DATABASE \"{missing}\" OWNER \"{}\"", own.role);
    assert!(
        said.message
            .contains(&make.replace(&format!("\"{}\"", own.role), "<admin role>")),
        "{}",
        said.message
    );
    superuser(world, "postgres", &[&make]).await.unwrap();
    world.instance_is("True").await.unwrap();
}

#[tokio::test]
async fn a_connection_limit_that_keeps_the_admin_out_is_said_and_lifting_it_is_enough() {
    let own = OwnAdmin::create("rights-limit", "CREATEDB CREATEROLE")
        .await
        .unwrap();
    let world = &own.world;
    world.instance_is("True").await.unwrap();
    let limit = |limit: i32| format!("ALTER ROLE \"{}\" CONNECTION LIMIT {limit}", own.role);
    let out = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}'",
        own.role
    );
    superuser(world, "postgres", &[&limit(0), &out])
        .await
        .unwrap();
    super::extras::look_now(world).await.unwrap();
    let said = world
        .instance_reason(&world.instance, "DependencyUnavailable")
        .await
        .unwrap();
    assert!(said.message.contains("53300"), "{}", said.message);
    superuser(world, "postgres", &[&limit(-1)]).await.unwrap();
    world.instance_is("True").await.unwrap();
}
