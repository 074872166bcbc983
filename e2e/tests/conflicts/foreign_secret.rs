//! Story: a Secret that is not delivered by the Tenant's ExternalSecret keeps every byte and label (H27, D6).

use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use serde_json::json;

use super::outside::{Names, outside};
use super::scene::{corrected, refused};

#[tokio::test]
async fn h27_a_secret_by_hand_is_a_conflict_until_another_name_is_chosen_and_keeps_bytes_and_version()
 {
    let world = World::shared("fsecret").await.unwrap();
    let names = Names::of(&world, "app");
    world
        .namespace
        .create_secret(&names.secret, &[("password", "theirs")])
        .await
        .unwrap();
    let (before, said) = refused(
        &world,
        &names,
        &world.tenant_manifest("app", ""),
        &names.secret,
    )
    .await;
    assert!(
        said.message.contains("set spec.credential.secretName"),
        "{said:?}"
    );
    let ready = corrected(&world, "app", json!({"credential": {"secretName": "ours"}})).await;
    assert_eq!(
        ready.data["status"]["credential"]["secretRef"]["name"],
        "ours"
    );
    assert!(
        world
            .namespace
            .secret("ours")
            .await
            .unwrap()
            .contains_key("password")
    );
    assert_eq!(outside(&world, &names).await["secret"], before["secret"]);
}

#[tokio::test]
async fn h27_the_token_secret_of_a_service_account_as_target_is_a_conflict_and_stays_valid() {
    let world = World::shared("ftoken").await.unwrap();
    let namespace = &world.namespace.name;
    let manifest = format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: app, namespace: {namespace}}}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: token, namespace: {namespace}, \
         annotations: {{kubernetes.io/service-account.name: app}}}}\ntype: kubernetes.io/service-account-token\n"
    );
    world.apply(&manifest).await.unwrap().success().unwrap();
    until(SOON, "the token is there", async || {
        let secret = world.namespace.secret("token").await?;
        anyhow::ensure!(secret.contains_key("token"), "it has no token yet");
        Ok(())
    })
    .await
    .unwrap();
    let names = Names {
        secret: "token".to_owned(),
        ..Names::of(&world, "app")
    };
    let manifest = world.tenant_manifest("app", "credential: {secretName: token}");
    let (before, _) = refused(&world, &names, &manifest, "Secret token").await;
    corrected(&world, "app", json!({"credential": {"secretName": "ours"}})).await;
    assert_eq!(outside(&world, &names).await["secret"], before["secret"]);
}

#[tokio::test]
async fn h27_another_tenant_s_secret_as_target_is_a_conflict_and_stays_that_tenant_s() {
    let world = World::shared("ftheirs").await.unwrap();
    world.ready_tenant("first", "").await.unwrap();
    let target = world.secret_name("first");
    let names = Names {
        secret: target.clone(),
        ..Names::of(&world, "second")
    };
    let manifest =
        world.tenant_manifest("second", &format!("credential: {{secretName: {target}}}"));
    let (before, _) = refused(&world, &names, &manifest, &target).await;
    corrected(&world, "second", json!({"credential": null})).await;
    assert_eq!(outside(&world, &names).await["secret"], before["secret"]);
    world.tenant_ready("first").await.unwrap();
}
