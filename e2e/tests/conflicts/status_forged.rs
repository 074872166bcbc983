//! Story: a status that was forged by hand decides nothing (C7, H30): facts win, no effect is skipped.

use e2e::world::tenancy::World;
use serde_json::{Value, json};

use super::outside::{Names, outside};
use super::scene::{application_says, wholly_ready};

const PHASES: [&str; 10] = [
    "Pending",
    "Planned",
    "CredentialCreated",
    "RoleCreated",
    "DatabaseCreated",
    "ExternalSecretCreated",
    "CredentialProjected",
    "Ready",
    "Deleting",
    "Invented",
];

/// Everything that a status can claim, all of it wrong, of a generation that does not exist yet.
fn forged(phase: &str, ready: &str) -> Value {
    json!({
        "phase": phase, "observedGeneration": 99, "database": "forged", "loginRole": "forged", "databaseOID": 1,
        "credential": {"secretRef": {"name": "forged"}, "openBaoURL": "http://forged.example/v1/secret/data/forged"},
        "conditions": [{
            "type": "Ready", "status": ready, "reason": if ready == "True" { "Ready" } else { "InvalidSpec" }, "message": "forged",
            "observedGeneration": 99, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    })
}

#[tokio::test]
async fn h30_a_forged_status_on_a_fresh_tenant_skips_no_effect_whatever_its_phase() {
    let mut world = World::shared("forgedfresh").await.unwrap();
    // No Instance yet: the Tenants rest while their status is forged.
    let first = world.instance.clone();
    world.instance = format!("{first}-later");
    let database = world.management_database();
    let tenant = |index: usize| -> &'static str {
        ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"][index]
    };
    for (index, phase) in PHASES.iter().enumerate() {
        world
            .apply(&world.tenant_manifest(tenant(index), "extensions: [citext]"))
            .await
            .unwrap()
            .success()
            .unwrap();
        world
            .tenant_reason(tenant(index), "InstanceNotReady")
            .await
            .unwrap();
        let output = world
            .merge_tenant_status(tenant(index), &forged(phase, "True"))
            .await
            .unwrap();
        if *phase == "Invented" {
            assert!(output.code != 0, "the schema takes any phase");
        } else {
            output.success().unwrap();
        }
    }
    world
        .bed
        .postgres()
        .create_management_database(&database)
        .await
        .unwrap();
    super::scene::second_instance(&world, &world.instance, &database).await;
    for index in 0..PHASES.len() {
        let names = Names::of(&world, tenant(index));
        wholly_ready(&world, &names).await;
        assert_eq!(world.entry(names.tenant).await.unwrap().0, 1);
        let query =
            "SELECT current_database() || extname FROM pg_extension WHERE extname = 'citext'";
        assert_eq!(
            application_says(&world, names.tenant, query).await,
            format!("{}citext", names.database)
        );
    }
}

#[tokio::test]
async fn h30_a_forged_status_on_a_ready_tenant_is_corrected_and_nothing_outside_is_written() {
    let world = World::shared("forgedready").await.unwrap();
    let names = Names::of(&world, "app");
    let ready = world
        .ready_tenant("app", "extensions: [citext], deletionPolicy: Delete")
        .await
        .unwrap();
    let before = outside(&world, &names).await;
    for phase in PHASES.iter().filter(|phase| **phase != "Invented") {
        for status in ["True", "False"] {
            let forged = forged(phase, status);
            world
                .merge_tenant_status("app", &forged)
                .await
                .unwrap()
                .success()
                .unwrap();
            let again = wholly_ready(&world, &names).await;
            assert_eq!(
                again.data["status"]["databaseOID"], ready.data["status"]["databaseOID"],
                "{phase}"
            );
            assert_eq!(
                again.data["status"]["credential"], ready.data["status"]["credential"],
                "{phase}"
            );
            assert_eq!(outside(&world, &names).await, before, "{phase} {status}");
        }
    }
}
