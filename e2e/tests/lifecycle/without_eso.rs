//! Story: External Secrets Operator's API is not there (#37): said with the cure, everything before it works, and installing it is
//! the cure, while Tenantry runs on.

use e2e::bed::postgres::ADMIN;
use e2e::world::condition::await_condition;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};

use super::extras::{delete, entry_exists, gone, row};

#[tokio::test]
async fn alone_bug37_an_absent_eso_stops_only_projections_and_installing_it_needs_no_restart() {
    let bed = Bed::private(Options::default().without_eso_crds().openbao_in_memory())
        .await
        .unwrap();
    let world = World::private(bed, TenantryOptions::default(), "noeso")
        .await
        .unwrap();
    let process = world.tenantry.process().unwrap().pid;
    the_projection_fails_and_says_what_to_install(&world).await;
    all_else_goes_on(&world).await;

    world.bed.install_external_secrets().await.unwrap();
    world.tenant_ready("second").await.unwrap();
    let login = world.application("second").await.unwrap();
    login.query("SELECT 1").await.unwrap().success().unwrap();
    assert_eq!(
        world.entry("second").await.unwrap().0,
        1,
        "the password that was made before is the one"
    );
    assert_eq!(
        world.tenantry.process().unwrap().pid,
        process,
        "Tenantry was never restarted"
    );
    let (status, body) = world.tenantry.get("/readyz").await.unwrap();
    assert!(status.is_success(), "{body}");
}

async fn the_projection_fails_and_says_what_to_install(world: &World) {
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
        let words = [
            "externalsecrets.external-secrets.io in version v1",
            "install External Secrets Operator",
        ];
        assert!(
            words.iter().all(|words| said.message.contains(words)),
            "{}",
            said.message
        );
    }
}

/// The Instance and the process are well, the webhook judges, another Instance comes, a Tenant goes.
async fn all_else_goes_on(world: &World) {
    world.instance_is("True").await.unwrap();
    let (status, body) = world.tenantry.get("/readyz").await.unwrap();
    assert!(status.is_success(), "{body}");
    let refused = world
        .apply(&world.tenant_manifest("wrong", "database: postgres"))
        .await
        .unwrap();
    assert_ne!(refused.code, 0, "the webhook still judges");

    let other = format!("{}-other", world.instance);
    let server = world.bed.postgres();
    let password = server.admin_password().unwrap();
    world
        .create_admin_secret(&other, ADMIN, &password)
        .await
        .unwrap();
    server
        .create_management_database("noeso_other")
        .await
        .unwrap();
    let manifest = world.instance_of(&other, server.description(), "noeso_other");
    world.apply(&manifest).await.unwrap().success().unwrap();
    await_condition(&world.instances(), &other, "Ready", "True", SOON)
        .await
        .unwrap();

    delete(world, "app").await.unwrap();
    gone(world, "app").await.unwrap();
    assert!(!world.has_database(&world.identifier("app")).await.unwrap());
    assert!(!world.has_role(&world.identifier("app")).await.unwrap());
    assert!(!entry_exists(world, "app").await.unwrap());
    assert_eq!(row(world, "app", "state").await.unwrap(), None);
}
