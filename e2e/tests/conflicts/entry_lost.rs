//! Story: the password in OpenBao is lost (T1). It is never made a second time: a person is told what to do.

use std::collections::HashMap;

use e2e::bed::openbao::MOUNT;
use e2e::world::tenancy::World;
use serde_json::Value;
use vaultrs::api::kv2::requests::SetSecretMetadataRequest;

use super::outside::{Names, outside};
use super::scene::{application_says, ready_again, says};

#[tokio::test]
async fn t1_an_entry_removed_with_its_metadata_is_not_made_again_and_may_be_written_back() {
    let world = World::shared("destroyed").await.unwrap();
    let names = Names::of(&world, "app");
    let uid = world
        .ready_tenant("app", "")
        .await
        .unwrap()
        .metadata
        .uid
        .unwrap();
    let (root, path) = (world.bed.openbao().root().unwrap(), world.entry_path("app"));
    let kept = world.entry("app").await.unwrap().1;
    vaultrs::kv2::delete_metadata(&root, MOUNT, &path)
        .await
        .unwrap();
    let before = outside(&world, &names).await;

    says(
        &world,
        "app",
        "ProvisioningFailed",
        &[&path, "write the password back", "no new password is made"],
    )
    .await;
    assert_eq!(outside(&world, &names).await, before);
    application_says(&world, "app", "SELECT 1").await;

    let password = HashMap::from([("password", kept["password"].as_str())]);
    vaultrs::kv2::set(&root, MOUNT, &path, &password)
        .await
        .unwrap();
    let mut request = SetSecretMetadataRequest::builder();
    request.custom_metadata(HashMap::from([("tenant-uid".to_owned(), uid)]));
    vaultrs::kv2::set_metadata(&root, MOUNT, &path, Some(&mut request))
        .await
        .unwrap();
    ready_again(&world, "app").await;
    assert_eq!(
        application_says(&world, "app", "SELECT current_user").await,
        names.role
    );
    assert_eq!(
        world.entry("app").await.unwrap().1["password"],
        kept["password"]
    );
}

#[tokio::test]
async fn t1_a_soft_deleted_version_is_reported_until_it_is_undeleted_with_the_same_password() {
    let world = World::shared("softdeleted").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let (root, path) = (world.bed.openbao().root().unwrap(), world.entry_path("app"));
    let kept = world.entry("app").await.unwrap();
    vaultrs::kv2::delete_latest(&root, MOUNT, &path)
        .await
        .unwrap();
    let before = outside(&world, &names).await;
    says(&world, "app", "ProvisioningFailed", &[&path, "undelete it"]).await;
    assert_eq!(outside(&world, &names).await, before);
    application_says(&world, "app", "SELECT 1").await;

    // A wiped status does not make a new one either.
    world
        .merge_tenant_status("app", &Value::Null)
        .await
        .unwrap()
        .success()
        .unwrap();
    says(&world, "app", "ProvisioningFailed", &["undelete it"]).await;
    assert_eq!(outside(&world, &names).await, before);

    vaultrs::kv2::undelete_versions(&root, MOUNT, &path, vec![1])
        .await
        .unwrap();
    ready_again(&world, "app").await;
    assert_eq!(world.entry("app").await.unwrap(), kept);
    assert_eq!(outside(&world, &names).await["role"], before["role"]);
}

#[tokio::test]
async fn t1_a_destroyed_version_is_reported_and_a_new_version_by_hand_cures_it() {
    let world = World::shared("shredded").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let (root, path) = (world.bed.openbao().root().unwrap(), world.entry_path("app"));
    vaultrs::kv2::destroy_versions(&root, MOUNT, &path, vec![1])
        .await
        .unwrap();
    let before = outside(&world, &names).await;
    // Undeleting does not bring a destroyed version back: the message must know the other way out.
    says(&world, "app", "ProvisioningFailed", &[&path, "new version"]).await;
    assert_eq!(outside(&world, &names).await, before);

    vaultrs::kv2::set(
        &root,
        MOUNT,
        &path,
        &HashMap::from([("password", "from a safe")]),
    )
    .await
    .unwrap();
    ready_again(&world, "app").await;
    assert_eq!(
        world.namespace.secret(&names.secret).await.unwrap()["password"],
        "from a safe"
    );
    application_says(&world, "app", "SELECT 1").await;
}
