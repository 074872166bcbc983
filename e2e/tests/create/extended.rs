//! Story: extensions are appended, never removed, and one that cannot be installed is named and can be taken back (M2, T6).

use std::collections::BTreeSet;

use e2e::world::tenancy::World;
use serde_json::json;

use crate::manifests::{edit, ready, refused_edit};

/// The extensions in a Tenant's database, beside the one that every database has.
async fn installed(world: &World, name: &str) -> BTreeSet<String> {
    let sql = "SELECT string_agg(extname, ' ') FROM pg_extension WHERE extname <> 'plpgsql'";
    let names = world
        .superuser(&world.identifier(name), sql)
        .await
        .unwrap()
        .unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn m2_an_extension_is_appended_to_a_ready_tenant_and_none_is_ever_removed() {
    let world = World::shared("append").await.unwrap();
    world
        .ready_tenant("grows", "extensions: [citext]")
        .await
        .unwrap();
    edit(&world, "grows", json!({"extensions": ["hstore", "citext"]})).await;
    let object = world.tenant_ready("grows").await.unwrap();
    assert_eq!(object.data["status"]["observedGeneration"], 2);
    assert_eq!(
        installed(&world, "grows").await,
        BTreeSet::from(["citext".to_owned(), "hstore".to_owned()])
    );
    let used = world
        .application("grows")
        .await
        .unwrap()
        .query("SELECT 'a=>1'::hstore -> 'a'")
        .await
        .unwrap();
    assert_eq!(used.success().unwrap().stdout, "1\n");

    for fewer in [json!(["hstore"]), json!([]), json!(null)] {
        let said = refused_edit(&world, "grows", json!({"extensions": fewer})).await;
        assert!(
            said.contains("spec.extensions")
                && said.contains("may not be removed: extensions are never dropped; add it again"),
            "{said}"
        );
    }
    assert_eq!(installed(&world, "grows").await.len(), 2);
}

/// Bug log 8.
#[tokio::test]
async fn m2_t6_extensions_that_cannot_be_installed_are_named_and_taking_them_back_leads_to_ready() {
    let world = World::shared("refused").await.unwrap();
    let spec = "extensions: [citext, pg_stat_statements, no_such_thing]";
    world
        .apply(&world.tenant_manifest("fresh", spec))
        .await
        .unwrap()
        .success()
        .unwrap();
    let condition = world.tenant_reason("fresh", "InvalidSpec").await.unwrap();
    let expected = "spec.extensions: no_such_thing is not available on this server; pg_stat_statements needs a superuser \
                    (it is not trusted); remove it, or ask the administrator";
    assert_eq!(
        (condition.status.as_str(), condition.message.as_str()),
        ("False", expected)
    );
    assert!(
        !world
            .has_database(&world.identifier("fresh"))
            .await
            .unwrap(),
        "nothing is made (I10)"
    );
    edit(&world, "fresh", json!({"extensions": ["citext"]})).await;
    world.tenant_ready("fresh").await.unwrap();
    assert_eq!(
        installed(&world, "fresh").await,
        BTreeSet::from(["citext".to_owned()])
    );
}

#[tokio::test]
async fn m2_an_extension_that_cannot_be_installed_on_a_ready_tenant_may_be_taken_back() {
    let world = World::shared("undo").await.unwrap();
    world
        .ready_tenant("grown", "extensions: [citext]")
        .await
        .unwrap();
    for (refused, why) in [
        ("pg_stat_statements", "superuser"),
        ("no_such_thing", "available"),
    ] {
        edit(&world, "grown", json!({"extensions": ["citext", refused]})).await;
        let condition = world.tenant_reason("grown", "InvalidSpec").await.unwrap();
        assert!(
            condition.message.contains(refused) && condition.message.contains(why),
            "{}",
            condition.message
        );
        let used = world
            .application("grown")
            .await
            .unwrap()
            .query("SELECT 'A'::citext = 'a'")
            .await
            .unwrap();
        assert_eq!(
            used.success().unwrap().stdout,
            "t\n",
            "the application goes on"
        );
        edit(&world, "grown", json!({"extensions": ["citext"]})).await;
        let object = world.tenant_ready("grown").await.unwrap();
        assert_eq!(ready(&object).0, "True");
    }
    assert_eq!(
        installed(&world, "grown").await,
        BTreeSet::from(["citext".to_owned()])
    );
}
