//! Story: an entry that stands at a Tenant's path in OpenBao and is not its own is neither read for a password nor
//! overwritten (T3).

use std::collections::HashMap;

use e2e::bed::openbao::MOUNT;
use e2e::world::tenancy::World;
use serde_json::json;
use vaultrs::api::kv2::requests::SetSecretMetadataRequest;

use super::outside::{Names, outside};
use super::scene::{corrected, ready_again, refused, says};

#[tokio::test]
async fn t3_an_entry_of_another_uid_and_an_unmarked_one_are_conflicts_and_keep_version_and_data() {
    let world = World::shared("fentry").await.unwrap();
    let root = world.bed.openbao().root().unwrap();
    for (tenant, owner) in [
        ("marked", Some("11111111-2222-3333-4444-555555555555")),
        ("unmarked", None),
    ] {
        let names = Names::of(&world, tenant);
        let path = world.entry_path(tenant);
        let theirs = HashMap::from([("password", "theirs")]);
        vaultrs::kv2::set(&root, MOUNT, &path, &theirs)
            .await
            .unwrap();
        if let Some(uid) = owner {
            let mut request = SetSecretMetadataRequest::builder();
            request.custom_metadata(HashMap::from([("tenant-uid".to_owned(), uid.to_owned())]));
            vaultrs::kv2::set_metadata(&root, MOUNT, &path, Some(&mut request))
                .await
                .unwrap();
        }
        let manifest = world.tenant_manifest(tenant, "");
        let (before, said) = refused(&world, &names, &manifest, &path).await;
        assert!(
            said.message.contains("an administrator must move it away"),
            "{said:?}"
        );

        // Still editable, and still a conflict: the path follows from the Tenant's name.
        let other = world.identifier(&format!("{tenant}_2"));
        let spec = json!({"spec": {"database": other, "loginRole": other}});
        world
            .patch_tenant(tenant, &spec)
            .await
            .unwrap()
            .success()
            .unwrap();
        says(&world, tenant, "Conflict", &[&path]).await;
        assert_eq!(outside(&world, &names).await, before);

        vaultrs::kv2::delete_metadata(&root, MOUNT, &path)
            .await
            .unwrap();
        ready_again(&world, tenant).await;
        let (version, data) = world.entry(tenant).await.unwrap();
        assert_eq!(version, 1);
        assert_ne!(data["password"], "theirs");
    }
}

#[tokio::test]
async fn t3_a_deleted_version_of_a_foreign_entry_is_a_conflict_too() {
    let world = World::shared("fgone").await.unwrap();
    let names = Names::of(&world, "app");
    let root = world.bed.openbao().root().unwrap();
    let path = world.entry_path("app");
    vaultrs::kv2::set(
        &root,
        MOUNT,
        &path,
        &HashMap::from([("password", "theirs")]),
    )
    .await
    .unwrap();
    vaultrs::kv2::delete_latest(&root, MOUNT, &path)
        .await
        .unwrap();
    let (before, _) = refused(&world, &names, &world.tenant_manifest("app", ""), &path).await;
    // Still there for the one whom it belongs to.
    vaultrs::kv2::undelete_versions(&root, MOUNT, &path, vec![1])
        .await
        .unwrap();
    let back: HashMap<String, String> = vaultrs::kv2::read(&root, MOUNT, &path).await.unwrap();
    assert_eq!(back["password"], "theirs");
    assert_eq!(
        outside(&world, &names).await["registry"],
        before["registry"]
    );

    vaultrs::kv2::delete_metadata(&root, MOUNT, &path)
        .await
        .unwrap();
    corrected(&world, "app", json!({"extensions": ["citext"]})).await;
}
