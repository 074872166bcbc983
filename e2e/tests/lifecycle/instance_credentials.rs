//! Story: the administrator's login: what is wrong with it is said, and a new one is taken up without a restart (H26, #10, #49).

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use e2e::bed::SYSTEM_NAMESPACE;
use e2e::bed::wait::until;
use e2e::world::condition::{Condition, await_object, condition};
use e2e::world::tenancy::{SOON, World};
use kube::ResourceExt;

use super::extras::{OwnAdmin, look_now, set_admin_secret};

const RIGHTS: &str = "CREATEDB CREATEROLE";

/// Waits until the Instance's condition has the reason and the words.
async fn says(world: &World, reason: &str, words: &str) -> Condition {
    let what = format!("{reason} with {words:?}");
    let object = await_object(&world.instances(), &world.instance, &what, SOON, |object| {
        condition(object, "Ready")
            .is_some_and(|ready| ready.reason == reason && ready.message.contains(words))
    })
    .await
    .unwrap();
    condition(&object, "Ready").unwrap()
}

/// Process ids of the administrator's sessions in the management database.
async fn sessions(own: &OwnAdmin) -> BTreeSet<String> {
    let sql = format!(
        "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE usename = '{}'",
        own.role
    );
    let pids = own
        .world
        .superuser("postgres", &sql)
        .await
        .unwrap()
        .unwrap_or_default();
    pids.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn bug49_a_rotated_admin_password_is_taken_up_without_a_restart_and_the_old_pool_is_closed() {
    let own = OwnAdmin::create("rotate", RIGHTS).await.unwrap();
    let world = &own.world;
    let before = world.instance_is("True").await.unwrap();
    world.ready_tenant("app", "").await.unwrap();
    let old = sessions(&own).await;
    assert!(!old.is_empty());

    own.alter_password("the second one").await.unwrap();
    set_admin_secret(
        world,
        &world.instance,
        &[("password", Some("the second one"))],
    )
    .await
    .unwrap();
    until(
        SOON,
        "the old pool is closed and a new one used",
        async || {
            let now = sessions(&own).await;
            ensure!(
                !now.is_empty() && now.is_disjoint(&old),
                "{now:?} after {old:?}"
            );
            Ok(())
        },
    )
    .await
    .unwrap();
    let after = world.instance_is("True").await.unwrap();
    assert_eq!(after.metadata.generation, before.metadata.generation);
    world.ready_tenant("after", "").await.unwrap();
    world.tenant_ready("app").await.unwrap();
}

#[tokio::test]
async fn bug49_a_secret_that_is_ahead_of_the_server_fails_and_recovers_by_itself() {
    let own = OwnAdmin::create("rotate-late", RIGHTS).await.unwrap();
    let world = &own.world;
    world.instance_is("True").await.unwrap();
    world.ready_tenant("app", "").await.unwrap();
    set_admin_secret(world, &world.instance, &[("password", Some("not yet"))])
        .await
        .unwrap();
    let said = says(world, "AuthenticationFailed", "28P01").await;
    assert!(
        said.message.contains("correct the admin Secret"),
        "{}",
        said.message
    );
    assert!(
        !said.message.contains(&own.role),
        "C5: the admin's name is in {}",
        said.message
    );
    world
        .tenant_reason("app", "InstanceNotReady")
        .await
        .unwrap();
    own.alter_password("not yet").await.unwrap();
    world.instance_is("True").await.unwrap();
    world.tenant_ready("app").await.unwrap();
}

#[tokio::test]
async fn metadata_and_unrelated_keys_of_the_admin_secret_rebuild_nothing() {
    let own = OwnAdmin::create("rotate-not", RIGHTS).await.unwrap();
    let world = &own.world;
    let before = world.instance_is("True").await.unwrap();
    // Looks that follow each other share a connection of the pool.
    looked_at(&own, async || look_now(world).await.unwrap()).await;
    let old = sessions(&own).await;
    assert!(!old.is_empty());
    looked_at(&own, async || look_now(world).await.unwrap()).await;
    let other = [("note", Some("of no meaning"))];
    looked_at(&own, async || {
        set_admin_secret(world, &world.instance, &other)
            .await
            .unwrap();
    })
    .await;
    let now = sessions(&own).await;
    assert!(now.is_superset(&old), "{now:?} after {old:?}");
    let after = world.instances().get(&world.instance).await.unwrap();
    assert_eq!(
        after.resource_version(),
        before.resource_version(),
        "nothing was written"
    );
}

/// Does something and waits until Tenantry has looked at the server after it.
async fn looked_at(own: &OwnAdmin, what: impl AsyncFnOnce()) {
    let now = own
        .world
        .superuser("postgres", "SELECT clock_timestamp()::text")
        .await
        .unwrap()
        .unwrap();
    let sql = format!(
        "SELECT count(*)::text FROM pg_stat_activity WHERE usename = '{}' AND query_start > '{now}' AND state = 'idle' HAVING count(*) > 0",
        own.role
    );
    what().await;
    until(SOON, "Tenantry looks at the server", async || {
        own.world
            .superuser("postgres", &sql)
            .await?
            .context("not yet")
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn h26_a_missing_admin_secret_or_key_is_named_and_one_in_a_tenants_namespace_is_never_read() {
    let own = OwnAdmin::prepare("admin-secret", RIGHTS).await.unwrap();
    own.grant_create().await.unwrap();
    let world = &own.world;
    let right = [
        ("username", own.role.as_str()),
        ("password", own.password.as_str()),
    ];
    world
        .namespace
        .create_secret(&world.instance, &right)
        .await
        .unwrap();
    world
        .apply(&world.instance_manifest())
        .await
        .unwrap()
        .success()
        .unwrap();
    let place = format!("the admin Secret {SYSTEM_NAMESPACE}/{}", world.instance);
    says(
        world,
        "AuthenticationFailed",
        &format!("{place} does not exist"),
    )
    .await;
    // Both the missing Secret and the present one elsewhere stay as they are for a few rounds.
    tokio::time::sleep(Duration::from_secs(2)).await;
    says(
        world,
        "AuthenticationFailed",
        &format!("{place} does not exist"),
    )
    .await;
    assert!(sessions(&own).await.is_empty());

    world
        .create_admin_secret(&world.instance, &own.role, "")
        .await
        .unwrap();
    says(
        world,
        "AuthenticationFailed",
        &format!("{place} key password is empty"),
    )
    .await;
    set_admin_secret(world, &world.instance, &[("password", None)])
        .await
        .unwrap();
    says(
        world,
        "AuthenticationFailed",
        &format!("{place} has no key password"),
    )
    .await;
    set_admin_secret(world, &world.instance, &[("password", Some("wrong"))])
        .await
        .unwrap();
    says(world, "AuthenticationFailed", "28P01").await;
    set_admin_secret(world, &world.instance, &[("password", Some(&own.password))])
        .await
        .unwrap();
    world.instance_is("True").await.unwrap();
}

#[tokio::test]
async fn bug10_an_admin_password_may_have_any_character() {
    let own = OwnAdmin::create("admin-special", RIGHTS).await.unwrap();
    let world = &own.world;
    world.instance_is("True").await.unwrap();
    for password in [
        "a@b:c/d?e#f%20 'x",
        "\"back\\slash\" $HOME {{x}}\n",
        "пароль ✓",
    ] {
        own.alter_password(password).await.unwrap();
        set_admin_secret(world, &world.instance, &[("password", Some("wrong"))])
            .await
            .unwrap();
        says(world, "AuthenticationFailed", "28P01").await;
        set_admin_secret(world, &world.instance, &[("password", Some(password))])
            .await
            .unwrap();
        world.instance_is("True").await.unwrap();
    }
}

#[tokio::test]
async fn other_keys_of_the_admin_secret_may_be_named_and_edits_are_taken_up() {
    let own = OwnAdmin::create("admin-keys", RIGHTS).await.unwrap();
    let world = &own.world;
    world.instance_is("True").await.unwrap();
    let keys = |user: &str| {
        let manifest = world.instance_manifest();
        let reference = format!("adminCredentialRef: {{name: {}}}", world.instance);
        let named = format!(
            "adminCredentialRef: {{name: {}, usernameKey: {user}, passwordKey: pass.word}}",
            world.instance
        );
        manifest.replace(&reference, &named)
    };
    world
        .apply(&keys("user_name"))
        .await
        .unwrap()
        .success()
        .unwrap();
    says(world, "AuthenticationFailed", "has no key user_name").await;
    let values = [
        ("user_name", Some(own.role.as_str())),
        ("pass.word", Some(own.password.as_str())),
        ("username", None),
        ("password", None),
    ];
    set_admin_secret(world, &world.instance, &values)
        .await
        .unwrap();
    world.instance_is("True").await.unwrap();
}
