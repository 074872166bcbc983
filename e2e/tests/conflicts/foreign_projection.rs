//! Story: an ExternalSecret of the derived name that a person made is not taken over (T3).

use std::collections::HashMap;

use e2e::bed::STORE;
use e2e::bed::openbao::{MOUNT, TENANTRY};
use e2e::bed::wait::until;
use e2e::world::condition::{await_condition, await_gone};
use e2e::world::tenancy::{SOON, World};
use kube::api::DeleteParams;

use super::outside::{Names, outside};
use super::scene::{ready_again, refused};

#[tokio::test]
async fn t3_an_external_secret_made_by_a_person_is_a_conflict_and_stays_as_it_is() {
    let world = World::shared("fes").await.unwrap();
    let names = Names::of(&world, "app");
    let name = world.secret_name("app");
    let entry = format!("{TENANTRY}/{}/theirs", world.namespace.name);
    let root = world.bed.openbao().root().unwrap();
    vaultrs::kv2::set(
        &root,
        MOUNT,
        &entry,
        &HashMap::from([("password", "theirs")]),
    )
    .await
    .unwrap();
    let manifest = format!(
        "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {{name: {name}, namespace: {}}}\n\
         spec:\n  refreshPolicy: CreatedOnce\n  secretStoreRef: {{name: {STORE}, kind: ClusterSecretStore}}\n  \
         target: {{name: theirs}}\n  data: [{{secretKey: password, remoteRef: {{key: {entry}, property: password}}}}]\n",
        world.namespace.name,
    );
    world.apply(&manifest).await.unwrap().success().unwrap();
    let projections = world.external_secrets();
    await_condition(&projections, &name, "Ready", "True", SOON)
        .await
        .unwrap();
    settled(&world, &names).await;

    let (before, said) = refused(&world, &names, &world.tenant_manifest("app", ""), &name).await;
    assert!(
        said.message.contains("delete it, or rename this tenant"),
        "{said:?}"
    );
    assert_eq!(
        world.namespace.secret("theirs").await.unwrap()["password"],
        "theirs"
    );
    assert_eq!(
        outside(&world, &names).await["external secret"],
        before["external secret"]
    );

    projections
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    await_gone(&projections, &name, SOON).await.unwrap();
    ready_again(&world, "app").await;
}

/// Waits until External Secrets Operator writes nothing more to its object.
async fn settled(world: &World, names: &Names) {
    let mut last = outside(world, names).await;
    until(SOON, "the ExternalSecret stands still", async || {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let now = outside(world, names).await;
        let still = now == last;
        last = now;
        anyhow::ensure!(still, "it still changes");
        Ok(())
    })
    .await
    .unwrap();
}
