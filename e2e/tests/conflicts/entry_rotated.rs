//! Story: a password rotated by hand in OpenBao is applied, role first, then the pin (D13).

use std::collections::HashMap;

use e2e::bed::openbao::MOUNT;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};

use super::outside::{Names, outside};
use super::scene::{application_says, wake};

#[tokio::test]
async fn d13_a_newer_version_with_our_mark_reaches_the_role_then_the_external_secret_then_the_secret()
 {
    let world = World::shared("rotated").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let before = outside(&world, &names).await;
    let old = world.application("app").await.unwrap();
    let (root, path) = (world.bed.openbao().root().unwrap(), world.entry_path("app"));
    // A person writes the password alone; the mark is in the custom metadata, which a new version keeps.
    vaultrs::kv2::set(
        &root,
        MOUNT,
        &path,
        &HashMap::from([("password", "rotated: p@ss/wörd")]),
    )
    .await
    .unwrap();
    wake(&world, "app").await;
    until(SOON, "the Secret has the new password", async || {
        let secret = world.namespace.secret(&names.secret).await?;
        let pinned = world.external_secrets().get(&names.projection).await?;
        let version = pinned.data["spec"]["data"][0]["remoteRef"]["version"].clone();
        // Role first: whenever the Secret or the pin is new, the role has the new password.
        if version == "2" || secret["password"] != old.password {
            let applied = world
                .registry("SELECT applied_kv_version::text FROM tenantry.claim")
                .await?;
            assert_eq!(applied.as_deref(), Some("2"));
        }
        anyhow::ensure!(
            secret["password"] == "rotated: p@ss/wörd" && version == "2",
            "pinned {version}"
        );
        Ok(())
    })
    .await
    .unwrap();
    world.tenant_ready("app").await.unwrap();
    assert_eq!(
        application_says(&world, "app", "SELECT current_user").await,
        names.role
    );
    let refused = old.query("SELECT 1").await.unwrap();
    assert!(
        refused.stderr.contains("password authentication failed"),
        "{refused:?}"
    );
    assert_eq!(world.entry("app").await.unwrap().0, 2);
    assert_eq!(
        outside(&world, &names).await["database"],
        before["database"]
    );
}
