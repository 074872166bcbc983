//! Story: two processes and one Lease. Leaders are killed, paused and asked to end; nothing is done twice.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use e2e::bed::SYSTEM_NAMESPACE;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::{Tenantry, TenantryOptions};
use e2e::{Bed, Options};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use nix::sys::signal::Signal;
use serde_json::Value;

/// How long a leader is paused: four times as long as its Lease lasts.
const PAUSE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn alone_one_of_two_replicas_leads_and_the_other_goes_on_when_it_is_killed_paused_or_ended() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let options = TenantryOptions::default().switch("--leader-elect");
    let world = World::private(bed, options, "election").await.unwrap();
    let second = world.tenantry.another(&world.bed, "second").await.unwrap();
    second.restart().await.unwrap();

    a_killed_leader_is_followed_within_20_s(&world, &second).await;
    a_lease_of_a_dead_process_is_taken_over(&world, &second).await;
    a_leader_that_is_asked_to_end_hands_over_at_once(&world, &second).await;
    a_paused_leader_does_nothing_twice(&world, second).await;
}

async fn lease(world: &World) -> Lease {
    let leases: Api<Lease> = Api::namespaced(world.bed.kube().await.unwrap(), SYSTEM_NAMESPACE);
    leases.get("tenantry").await.unwrap()
}

async fn holder(world: &World) -> String {
    lease(world)
        .await
        .spec
        .and_then(|spec| spec.holder_identity)
        .unwrap_or_default()
}

async fn leads(process: &Tenantry) -> bool {
    let (_, text) = process.get("/metrics").await.unwrap();
    text.contains("leader_election_master_status{name=\"tenantry\"} 1")
}

/// Waits until somebody else than `before` holds the lease, and says how long that took.
async fn handed_over(world: &World, before: &str) -> Duration {
    let start = Instant::now();
    until(SOON, "another one holds the lease", async || {
        let now = holder(world).await;
        ensure!(!now.is_empty() && now != before, "{now} holds it");
        Ok(())
    })
    .await
    .unwrap();
    start.elapsed()
}

async fn a_killed_leader_is_followed_within_20_s(world: &World, second: &Tenantry) {
    world.ready_tenant("before", "").await.unwrap();
    assert!(leads(&world.tenantry).await && !leads(second).await);
    let dead = holder(world).await;
    world.tenantry.kill9();
    let killed = Instant::now();
    let took = handed_over(world, &dead).await;
    println!("handed over {took:?} after kill -9");
    assert!(took <= Duration::from_secs(20), "{took:?}");
    until(SOON, "the second one leads", async || {
        ensure!(leads(second).await, "not yet");
        Ok(())
    })
    .await
    .unwrap();
    assert!(killed.elapsed() <= Duration::from_secs(21));
    // The webhook is reached at the first one's address.
    world.tenantry.restart().await.unwrap();
    world.ready_tenant("after", "").await.unwrap();
    assert!(!leads(&world.tenantry).await);
}

async fn a_lease_of_a_dead_process_is_taken_over(world: &World, second: &Tenantry) {
    second.kill9();
    world.tenantry.kill9();
    let dead = holder(world).await;
    assert!(!dead.is_empty(), "a killed process gives nothing back");
    world.tenantry.restart().await.unwrap();
    let took = handed_over(world, &dead).await;
    println!("taken over from a dead process after {took:?}");
    assert!(took <= Duration::from_secs(20), "{took:?}");
    world.ready_tenant("again", "").await.unwrap();
    second.restart().await.unwrap();
}

async fn a_leader_that_is_asked_to_end_hands_over_at_once(world: &World, second: &Tenantry) {
    assert!(leads(&world.tenantry).await && !leads(second).await);
    let before = holder(world).await;
    let start = Instant::now();
    world.tenantry.stop();
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    let took = handed_over(world, &before).await;
    println!("handed over {took:?} after SIGTERM");
    assert!(took <= Duration::from_secs(4), "{took:?}");
    world.tenantry.restart().await.unwrap();
}

/// Successful writes of Tenantry in the audit log: who, when, what.
fn writes(world: &World) -> Vec<(String, jiff::Timestamp, String)> {
    let log = std::fs::read_to_string(world.bed.folder().audit_log()).unwrap();
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter(|line| {
            line["responseStatus"]["code"]
                .as_u64()
                .is_some_and(|code| code < 300)
        })
        .filter(|line| {
            let resource = &line["objectRef"]["resource"];
            resource != "leases" && resource != "events"
        })
        .map(|line| {
            let who = &line["user"]["extra"]["authentication.kubernetes.io/credential-id"][0];
            let when = line["requestReceivedTimestamp"].as_str().unwrap();
            let (object, verb) = (&line["objectRef"], line["verb"].as_str().unwrap());
            let what = ["resource", "subresource", "name"]
                .map(|key| object[key].as_str().unwrap_or_default())
                .join("/");
            let who = who.as_str().unwrap_or_default().to_owned();
            (who, when.parse().unwrap(), format!("{verb} {what}"))
        })
        .collect()
}

/// How often each thing was written about this Tenant.
fn counts(world: &World, tenant: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let suffix = format!("{tenant}\n");
    for (_, _, what) in writes(world) {
        if format!("{what}\n").ends_with(&suffix) {
            let kind = what.replace(tenant, "TENANT");
            *counts.entry(kind).or_insert(0) += 1;
        }
    }
    counts
}

async fn a_paused_leader_does_nothing_twice(world: &World, second: Tenantry) {
    // The first one leads, and the second one starts with an empty memory.
    second.stop();
    drop(second);
    until(SOON, "the first one leads", async || {
        ensure!(leads(&world.tenantry).await, "not yet");
        Ok(())
    })
    .await
    .unwrap();
    // The second one's webhook is not the registered one, so the paused one must not be asked: its failure is not the story.
    let second = world
        .tenantry
        .another(&world.bed, "stand-in")
        .await
        .unwrap();
    second.restart().await.unwrap();
    world.ready_tenant("reference", "").await.unwrap();
    let names: Vec<String> = (0..6).map(|number| format!("paused{number}")).collect();
    for name in &names {
        let manifest = world.tenant_manifest(name, "");
        world.apply(&manifest).await.unwrap().success().unwrap();
    }
    let paused = world.tenantry.process().unwrap();
    until(SOON, "work is under way", async || {
        let claimed = world
            .registry("SELECT count(*)::text FROM tenantry.claim")
            .await?;
        let claimed: usize = claimed.context("no rows")?.parse()?;
        ensure!(claimed > 4, "{claimed} rows");
        Ok(())
    })
    .await
    .unwrap();
    paused.signal(Signal::SIGSTOP);
    let stopped = Instant::now();
    let before = holder(world).await;
    let took = handed_over(world, &before).await;
    println!("handed over {took:?} after SIGSTOP");
    assert!(took <= Duration::from_secs(20), "{took:?}");
    for name in &names {
        world.tenant_ready(name).await.unwrap();
    }
    println!("all Tenants ready {:?} after SIGSTOP", stopped.elapsed());
    tokio::time::sleep(PAUSE.saturating_sub(stopped.elapsed())).await;
    println!("resumed {:?} after SIGSTOP", stopped.elapsed());
    let resumed = jiff::Timestamp::now();
    paused.signal(Signal::SIGCONT);
    world.tenantry.ended(SOON).await.unwrap();
    let log = std::fs::read_to_string(world.tenantry.log_file()).unwrap();
    assert!(log.contains("the leader's lease was lost"), "{log}");

    let first = world.tenantry.credential_id().unwrap();
    let late: Vec<String> = writes(world)
        .into_iter()
        .filter(|(who, when, _)| *who == first && *when > resumed)
        .map(|(_, _, what)| what)
        .collect();
    assert!(writes(world).iter().any(|(who, ..)| *who == first));
    assert_eq!(
        late,
        Vec::<String>::new(),
        "the paused one wrote after it was resumed"
    );
    as_if_nobody_had_been_paused(world, &second, &names).await;
}

async fn as_if_nobody_had_been_paused(world: &World, second: &Tenantry, names: &[String]) {
    let usual = counts(world, "reference");
    let logs = [&world.tenantry, second].map(|process| {
        let log = std::fs::read_to_string(process.log_file()).unwrap();
        log.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["message"] == "saved")
            .collect::<Vec<_>>()
    });
    for name in names {
        let saved = logs.iter().flatten().filter(|line| line["name"] == **name);
        let (told, moved): (Vec<_>, Vec<_>) =
            saved.partition(|line| line["phase_from"] == line["phase_to"]);
        let mut phases: Vec<&str> = moved
            .iter()
            .map(|line| line["phase_to"].as_str().unwrap())
            .collect();
        let all = phases.len();
        phases.sort_unstable();
        phases.dedup();
        assert_eq!(phases.len(), all, "{name} entered a phase twice: {moved:?}");
        // The paused process still held its locks in PostgreSQL, so the other one may have had to say that it waits.
        let mut expected = usual.clone();
        for saves in expected.values_mut() {
            *saves += told.len();
        }
        assert_eq!(counts(world, name), expected, "{name}: {told:?}");
        assert_eq!(
            world.entry(name).await.unwrap().0,
            1,
            "{name} has one password"
        );
    }
    let rows = world
        .registry(
            "SELECT count(*)::text || ' ' || count(DISTINCT tenant_uid)::text FROM tenantry.claim",
        )
        .await
        .unwrap()
        .unwrap();
    let (all, distinct) = rows.split_once(' ').unwrap();
    assert_eq!(all, distinct);
}
