//! Story: External Secrets Operator's API is not there (#37): said, and everything before it works.

use e2e::world::tenancy::World;
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};

use super::extras::{delete, entry_exists, gone, row};

#[tokio::test]
async fn alone_bug37_without_its_crd_the_projection_fails_and_all_else_goes_on() {
    let bed = Bed::private(Options::default().without_eso_crds().openbao_in_memory())
        .await
        .unwrap();
    let world = World::private(bed, TenantryOptions::default(), "noeso")
        .await
        .unwrap();
    for name in ["app", "second"] {
        world
            .apply(&world.tenant_manifest(name, "deletionPolicy: Delete"))
            .await
            .unwrap()
            .success()
            .unwrap();
    }
    for name in ["app", "second"] {
        let said = world
            .tenant_reason(name, "CredentialProjectionFailed")
            .await
            .unwrap();
        assert!(
            said.message.contains("external-secrets.io/v1")
                || said.message.contains("External Secrets Operator"),
            "{}",
            said.message
        );
    }
    world.instance_is("True").await.unwrap();
    let (status, body) = world.tenantry.get("/readyz").await.unwrap();
    assert!(status.is_success(), "{body}");

    let refused = world
        .apply(&world.tenant_manifest("wrong", "database: postgres"))
        .await
        .unwrap();
    assert_ne!(refused.code, 0, "the webhook still judges");
    delete(&world, "app").await.unwrap();
    gone(&world, "app").await.unwrap();
    assert!(!world.has_database(&world.identifier("app")).await.unwrap());
    assert!(!world.has_role(&world.identifier("app")).await.unwrap());
    assert!(!entry_exists(&world, "app").await.unwrap());
    assert_eq!(row(&world, "app", "state").await.unwrap(), None);
}
