//! Story: what someone changed on the ExternalSecret or the Secret is put right, with the same password (H29).

use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::outside::{Names, outside};
use super::scene::{application_says, wake};

async fn until_restored(world: &World, names: &Names, spec: &Value) -> DynamicObject {
    let restored = until(SOON, "the ExternalSecret is as it was", async || {
        let now = world.external_secrets().get(&names.projection).await?;
        anyhow::ensure!(
            now.data["spec"] == *spec,
            "its spec is {:#}",
            now.data["spec"]
        );
        Ok(now)
    })
    .await
    .unwrap();
    world.tenant_ready(names.tenant).await.unwrap();
    restored
}

#[tokio::test]
async fn h29_an_external_secret_edited_by_a_second_manager_is_restored_and_nothing_goes_elsewhere()
{
    let world = World::shared("dses").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let before = outside(&world, &names).await;
    let projections = world.external_secrets();
    let spec = projections.get(&names.projection).await.unwrap().data["spec"].clone();
    let edits = [
        json!({"spec": {"target": {"template": {"data": {"host": "evil.example"}}}}}),
        json!({"spec": {"secretStoreRef": {"name": "other"}}}),
        json!({"spec": {"data": [{"secretKey": "password", "remoteRef": {"key": "tenantry/other/app", "property": "password"}}]}}),
        json!({"spec": {"dataFrom": [{"extract": {"key": "tenantry/other/app"}}]}}),
    ];
    for edit in edits {
        let patch = PatchParams {
            field_manager: Some("a-person".to_owned()),
            ..PatchParams::default()
        };
        projections
            .patch(&names.projection, &patch, &Patch::Merge(&edit))
            .await
            .unwrap();
        until_restored(&world, &names, &spec).await;
    }
    // What another manager adds beside ours is not ours to mind.
    let label = json!({"metadata": {"labels": {"team": "net"}}});
    projections
        .patch(
            &names.projection,
            &PatchParams::default(),
            &Patch::Merge(&label),
        )
        .await
        .unwrap();
    wake(&world, "app").await;
    let now = until_restored(&world, &names, &spec).await;
    assert_eq!(now.metadata.labels.unwrap()["team"], "net");
    let after = outside(&world, &names).await;
    for part in ["database", "role", "registry", "entry"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    application_says(&world, "app", "SELECT 1").await;
}

#[tokio::test]
async fn an_external_secret_or_a_secret_deleted_by_hand_comes_back_with_the_same_password_39() {
    let world = World::shared("desgone").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let before = outside(&world, &names).await;
    let projections = world.external_secrets();
    let old = projections.get(&names.projection).await.unwrap();
    let values = world.namespace.secret(&names.secret).await.unwrap();

    projections
        .delete(&names.projection, &DeleteParams::default())
        .await
        .unwrap();
    until_restored(&world, &names, &old.data["spec"]).await;
    until(SOON, "the Secret is the new ExternalSecret's", async || {
        let now = projections.get(&names.projection).await?.metadata.uid;
        anyhow::ensure!(now != old.metadata.uid, "the ExternalSecret is the old one");
        let secret = world
            .namespace
            .objects("v1", "Secret")
            .get(&names.secret)
            .await?;
        anyhow::ensure!(
            secret.metadata.owner_references.unwrap_or_default()[0].uid == now.unwrap(),
            "not yet"
        );
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(world.namespace.secret(&names.secret).await.unwrap(), values);

    let secrets = world.namespace.objects("v1", "Secret");
    let uid = secrets.get(&names.secret).await.unwrap().metadata.uid;
    secrets
        .delete(&names.secret, &DeleteParams::default())
        .await
        .unwrap();
    until(SOON, "the Secret is back", async || {
        anyhow::ensure!(
            secrets.get(&names.secret).await?.metadata.uid != uid,
            "it is the old one"
        );
        Ok(())
    })
    .await
    .unwrap();
    let edit = Patch::Merge(json!({"data": {"password": "Zm9yZ2Vk"}}));
    secrets
        .patch(&names.secret, &PatchParams::default(), &edit)
        .await
        .unwrap();
    until(SOON, "the Secret has its values again", async || {
        let now = world.namespace.secret(&names.secret).await?;
        anyhow::ensure!(now == values, "its password is another one");
        Ok(())
    })
    .await
    .unwrap();
    world.tenant_ready("app").await.unwrap();
    let after = outside(&world, &names).await;
    for part in ["database", "role", "registry", "entry"] {
        assert_eq!(after[part], before[part], "{part}");
    }
}

#[tokio::test]
async fn h29_an_external_secret_that_lost_our_uid_is_a_conflict_and_is_not_taken_back_by_its_name()
{
    let world = World::shared("desuid").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let projections = world.external_secrets();
    let forged = json!({"metadata": {"annotations": {"database.ddupan.top/tenant-uid": "forged"}}});
    projections
        .patch(
            &names.projection,
            &PatchParams::default(),
            &Patch::Merge(forged),
        )
        .await
        .unwrap();
    wake(&world, "app").await;
    let said = world.tenant_reason("app", "Conflict").await.unwrap();
    assert!(said.message.contains(&names.projection), "{said:?}");
    let now = projections.get(&names.projection).await.unwrap();
    assert_eq!(
        now.metadata.annotations.unwrap()["database.ddupan.top/tenant-uid"],
        "forged"
    );

    projections
        .delete(&names.projection, &DeleteParams::default())
        .await
        .unwrap();
    super::scene::ready_again(&world, "app").await;
    application_says(&world, "app", "SELECT 1").await;
}
