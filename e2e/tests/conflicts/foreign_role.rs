//! Story: a role that a person made is never taken over (T3, bug log #26).

use e2e::bed::postgres::ADMIN;
use e2e::world::psql::Login;
use e2e::world::tenancy::World;
use serde_json::json;

use super::outside::{Names, outside};
use super::scene::{corrected, refused, sql};

#[tokio::test]
async fn t3_a_role_made_by_a_superuser_is_a_conflict_and_keeps_its_password_26() {
    let world = World::shared("frole").await.unwrap();
    let names = Names::of(&world, "app");
    sql(
        &world,
        "postgres",
        &format!("CREATE ROLE {} LOGIN PASSWORD 'theirs'", names.role),
    )
    .await;
    let (before, said) = refused(
        &world,
        &names,
        &world.tenant_manifest("app", ""),
        &names.role,
    )
    .await;
    assert!(
        said.message.contains("choose another spec.loginRole"),
        "{said:?}"
    );

    let other = world.identifier("other");
    let ready = corrected(&world, "app", json!({"loginRole": other})).await;
    assert_eq!(ready.data["status"]["loginRole"], other.as_str());
    assert_eq!(outside(&world, &names).await["role"], before["role"]);
    let theirs = Login::new(
        &world.bed,
        world.bed.postgres().description(),
        "postgres",
        &names.role,
        "theirs",
    );
    theirs.query("SELECT 1").await.unwrap().success().unwrap();
}

#[tokio::test]
async fn d2_the_admin_s_own_role_is_refused_as_reserved_without_its_name_in_the_message() {
    let world = World::shared("fadmin").await.unwrap();
    let spec = format!("loginRole: {ADMIN}");
    // Other stories make the admin a member of their roles meanwhile, so only the role itself is compared.
    let admin =
        format!("SELECT concat_ws(' ', xmin, a::text) FROM pg_authid a WHERE rolname = '{ADMIN}'");
    let (names, itself) = (
        Names::of(&world, "app"),
        world.superuser("postgres", &admin).await.unwrap(),
    );
    let before = outside(&world, &names).await;
    world
        .apply(&world.tenant_manifest("app", &spec))
        .await
        .unwrap()
        .success()
        .unwrap();
    let said = world.tenant_reason("app", "InvalidSpec").await.unwrap();
    assert!(
        said.message
            .contains("spec.loginRole is reserved on this Instance"),
        "{said:?}"
    );
    assert!(!said.message.contains(ADMIN), "{said:?}");
    assert_eq!(outside(&world, &names).await, before);
    assert_eq!(world.superuser("postgres", &admin).await.unwrap(), itself);
    corrected(&world, "app", json!({"loginRole": world.identifier("app")})).await;
}
