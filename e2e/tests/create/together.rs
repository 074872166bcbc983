//! Story: many Tenants at once, and the quiet afterwards.

use std::time::Duration;

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use serde_json::json;

use crate::writes::{instance_writes, writes, writes_up_to_the_event};

/// Tenants of one `kubectl apply`.
const MANY: usize = 20;
/// How long nothing may be written. The pauses of D15 that end in a write begin at 1 s.
const QUIET: Duration = Duration::from_secs(5);

/// Bug log 12 and 31.
#[tokio::test]
async fn twenty_tenants_at_once_become_ready_and_then_nothing_is_written() {
    let world = World::shared("many").await.unwrap();
    let names: Vec<String> = (0..MANY).map(|number| format!("app-{number}")).collect();
    let manifests: Vec<String> = names
        .iter()
        .map(|name| world.tenant_manifest(name, "extensions: [citext]"))
        .collect();
    world
        .apply(&manifests.join("---\n"))
        .await
        .unwrap()
        .success()
        .unwrap();
    for name in &names {
        world.tenant_ready(name).await.unwrap();
    }
    let namespace = &world.namespace.name;
    let events = |seen: &[String]| {
        seen.iter()
            .filter(|write| write.ends_with(" events"))
            .count()
    };
    until(SOON, "every tenant's event is written", async || {
        let seen = writes(&world.bed, namespace);
        ensure!(events(&seen) == MANY, "{seen:?}");
        Ok(())
    })
    .await
    .unwrap();
    let seen = writes(&world.bed, namespace);
    assert!(seen.len() <= 10 * MANY, "{} writes: {seen:?}", seen.len());
    let seen_of_instance = instance_writes(&world.bed, &world.instance);
    assert!(
        !seen_of_instance.is_empty(),
        "the audit log shows what is written"
    );
    tokio::time::sleep(QUIET).await;
    assert_eq!(
        instance_writes(&world.bed, &world.instance),
        seen_of_instance
    );
    assert_eq!(
        writes(&world.bed, namespace)[seen.len()..],
        [] as [String; 0]
    );
}

/// Bug log 24: an existing role is altered only where it differs.
#[tokio::test]
async fn looking_at_a_ready_tenant_twice_alters_no_role_and_writes_no_status() {
    let world = World::shared("looks").await.unwrap();
    let role = world.identifier("my_app");
    world.ready_tenant("my-app", "").await.unwrap();
    let log = world.bed.folder().logs().join("postgresql.log");
    let lines = || -> Vec<String> {
        let log = std::fs::read(&log).unwrap();
        String::from_utf8_lossy(&log)
            .lines()
            .filter(|line| line.contains(&role))
            .map(str::to_owned)
            .collect()
    };
    // Each look ends with a login as the tenant.
    let logins = |lines: &[String]| {
        lines
            .iter()
            .filter(|line| line.contains("connection authorized: user="))
            .count()
    };
    let made = lines();
    assert!(
        made.iter().any(|line| line.contains("CREATE ROLE")),
        "the log shows what is sent"
    );
    let written = writes_up_to_the_event(&world.bed, &world.namespace.name, 0).await;
    for look in ["first", "second"] {
        let before = logins(&lines());
        let label = json!({"metadata": {"labels": {"look": look}}});
        world
            .patch_tenant("my-app", &label)
            .await
            .unwrap()
            .success()
            .unwrap();
        until(SOON, "Tenantry looked", async || {
            ensure!(logins(&lines()) > before, "no login");
            Ok(())
        })
        .await
        .unwrap();
    }
    let sent = lines().split_off(made.len());
    let altering = |line: &&String| {
        [
            "ALTER ROLE",
            "ALTER DATABASE",
            "GRANT ",
            "REVOKE ",
            "COMMENT ON",
        ]
        .iter()
        .any(|verb| line.contains(verb))
    };
    assert_eq!(
        sent.iter().filter(altering).collect::<Vec<_>>(),
        [] as [&String; 0]
    );
    assert_eq!(writes(&world.bed, &world.namespace.name), written);
}
