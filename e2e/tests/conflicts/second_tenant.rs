//! Story: two Tenants want one name. Ownership is the UID, never the name (D1); the second touches nothing.

use e2e::world::tenancy::World;
use serde_json::json;

use super::outside::{Names, outside};
use super::scene::{application_says, corrected, neighbour, refused, second_instance};

#[tokio::test]
async fn d1_a_second_tenant_for_the_same_database_or_role_is_a_conflict_that_names_the_first() {
    let world = World::shared("second").await.unwrap();
    let other = neighbour(&world, "second-other").await;
    world.ready_tenant("first", "").await.unwrap();
    let first = Names::of(&world, "first");
    let before = outside(&world, &first).await;
    let owner = format!("belongs to tenant {}/first", world.namespace.name);
    for (field, taken) in [("database", &first.database), ("loginRole", &first.role)] {
        let tenant = if field == "database" {
            "same-database"
        } else {
            "same-role"
        };
        let mut names = Names::of(&other, tenant);
        match field {
            "database" => names.database.clone_from(taken),
            _ => names.role.clone_from(taken),
        }
        let manifest = other.tenant_manifest(tenant, &format!("{field}: {taken}"));
        refused(&other, &names, &manifest, &owner).await;
        let free = other.identifier(&tenant.replace('-', "_"));
        corrected(&other, tenant, json!({field: free})).await;
    }
    let after = outside(&world, &first).await;
    for part in ["database", "role", "entry", "external secret", "secret"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    assert!(
        after["registry"].contains(&before["registry"]),
        "the first row changed"
    );
    application_says(&world, "first", "SELECT 1").await;
}

#[tokio::test]
async fn d1_two_tenants_whose_derived_names_are_one_do_not_share_an_external_secret() {
    let world = World::shared("derived").await.unwrap();
    let longer = format!("{}-b", world.instance);
    second_instance(&world, &longer, &world.management_database()).await;
    // `a` + `b-c` and `a-b` + `c` both give `a-b-c-postgresql`.
    world.ready_tenant("b-c", "").await.unwrap();
    let derived = world.secret_name("b-c");
    assert_eq!(derived, format!("{longer}-c-postgresql"));
    let names = Names {
        secret: derived.clone(),
        projection: derived.clone(),
        ..Names::of(&world, "c")
    };
    let wanted = format!("instanceRef: {}", world.instance);
    let manifest = world
        .tenant_manifest("c", "")
        .replace(&wanted, &format!("instanceRef: {longer}"));
    let (before, _) = refused(&world, &names, &manifest, &derived).await;

    // Not created yet, so even the Instance may be corrected.
    corrected(&world, "c", json!({"instanceRef": world.instance})).await;
    let after = outside(&world, &names).await;
    assert_eq!(
        (&after["external secret"], &after["secret"]),
        (&before["external secret"], &before["secret"])
    );
    assert_ne!(
        application_says(&world, "b-c", "SELECT current_user").await,
        application_says(&world, "c", "SELECT current_user").await
    );
}
