//! Story: an immutable edit that got in while the status was wiped (M1, M2, M4, D3): the controller compares with the claim and
//! the entry, says so, changes nothing outside, and records what was created so that setting it back passes.

use e2e::world::tenancy::World;
use serde_json::{Value, json};

use super::outside::{Names, outside};
use super::scene::{corrected, hold_claims, second_instance, wake, wholly_ready, wipe_status};

/// Wipes the status and edits the spec before the controller can read the registry, so that admission sees nothing created.
async fn edit_while_wiped(world: &World, tenant: &str, spec: &Value) {
    let claims = hold_claims(world, "ACCESS EXCLUSIVE").await;
    wipe_status(world, tenant).await;
    world
        .patch_tenant(tenant, &json!({"spec": spec}))
        .await
        .unwrap()
        .success()
        .unwrap();
    drop(claims);
    wake(world, tenant).await;
}

#[tokio::test]
async fn m4_an_immutable_field_edited_while_the_status_was_wiped_is_reported_and_cured_by_setting_it_back()
 {
    let world = World::shared("edited").await.unwrap();
    let names = Names::of(&world, "app");
    let spec = format!("credential: {{secretName: {}}}", names.secret);
    world.ready_tenant("app", &spec).await.unwrap();
    let before = outside(&world, &names).await;
    let other = world.identifier("other");
    let edits = [
        (
            "spec.database",
            json!({"database": other}),
            json!({"database": names.database}),
        ),
        (
            "spec.loginRole",
            json!({"loginRole": other}),
            json!({"loginRole": names.role}),
        ),
        (
            "spec.credential.secretName",
            json!({"credential": {"secretName": "other"}}),
            json!({"credential": {"secretName": names.secret}}),
        ),
    ];
    for (field, edit, cure) in edits {
        edit_while_wiped(&world, "app", &edit).await;
        let said = world.tenant_reason("app", "ImmutableField").await.unwrap();
        assert!(
            said.message.contains(field) && said.message.contains("set it back"),
            "{said:?}"
        );
        assert_eq!(outside(&world, &names).await, before, "{field}");
        let status = world.tenants().get("app").await.unwrap().data["status"].clone();
        assert_eq!(
            status["database"],
            names.database.as_str(),
            "{field}: {status}"
        );
        corrected(&world, "app", cure).await;
        wholly_ready(&world, &names).await;
        assert_eq!(outside(&world, &names).await, before, "{field}");
    }
    assert!(!world.has_database(&other).await.unwrap() && !world.has_role(&other).await.unwrap());
}

#[tokio::test]
async fn m2_an_extension_removed_while_the_status_was_wiped_is_reported_and_stays_installed_30() {
    let world = World::shared("removed").await.unwrap();
    let names = Names::of(&world, "app");
    world
        .ready_tenant("app", "extensions: [citext, hstore]")
        .await
        .unwrap();
    let refusal = world
        .patch_tenant("app", &json!({"spec": {"extensions": ["citext"]}}))
        .await
        .unwrap();
    assert!(
        refusal.code != 0 && refusal.stderr.contains("hstore"),
        "{refusal:?}"
    );

    let before = outside(&world, &names).await;
    edit_while_wiped(&world, "app", &json!({"extensions": ["citext"]})).await;
    let said = world.tenant_reason("app", "ImmutableField").await.unwrap();
    assert!(
        said.message.contains("hstore") && said.message.contains("add it again"),
        "{said:?}"
    );
    assert_eq!(outside(&world, &names).await, before);
    let installed = "SELECT extname FROM pg_extension WHERE extname = 'hstore'";
    assert_eq!(
        world
            .superuser(&names.database, installed)
            .await
            .unwrap()
            .as_deref(),
        Some("hstore")
    );

    corrected(&world, "app", json!({"extensions": ["citext", "hstore"]})).await;
    assert_eq!(outside(&world, &names).await, before);
}

#[tokio::test]
async fn m1_d9_an_instance_ref_edited_while_the_status_was_wiped_is_reported_on_either_registry() {
    let world = World::shared("moved").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let before = outside(&world, &names).await;
    let elsewhere = world.identifier("elsewhere");
    world
        .bed
        .postgres()
        .create_management_database(&elsewhere)
        .await
        .unwrap();
    // One with a registry of its own, which knows no claim; one that shares ours, where the claim is another Instance's.
    for (name, database) in [
        ("own", elsewhere.clone()),
        ("same", world.management_database()),
    ] {
        let instance = format!("{}-{name}", world.instance);
        second_instance(&world, &instance, &database).await;
        edit_while_wiped(&world, "app", &json!({"instanceRef": instance})).await;
        let said = world.tenant_reason("app", "ImmutableField").await.unwrap();
        assert!(
            said.message
                .contains(&format!("was created on {}", world.instance)),
            "{said:?}"
        );
        assert_eq!(outside(&world, &names).await, before, "{name}");
        corrected(&world, "app", json!({"instanceRef": world.instance})).await;
        assert_eq!(outside(&world, &names).await, before, "{name}");
    }
    let rows = "SELECT count(*)::text FROM tenantry.claim";
    assert_eq!(
        world.superuser(&elsewhere, rows).await.unwrap().as_deref(),
        Some("0")
    );
}
