//! Many tenants, few connections, and nothing that blocks anything else (D14).

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::tenancy::facts::LoginFact;
use domain::tenancy::failure::Class;
use e2e::bed::wait::until;

use tenantry::adapters::postgres::Depth;

use super::world::{Tenant, World, refused, unique, within};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d14_many_tenants_at_once_use_at_most_six_connections() {
    let world = Arc::new(World::new().await);
    let names: Vec<String> = (0..40).map(|_| unique("t")).collect();
    let tasks: Vec<_> = names
        .iter()
        .cloned()
        .map(|name| {
            let world = Arc::clone(&world);
            // Spawned, which also proves that every call's future can be sent to another thread.
            tokio::spawn(async move {
                let tenant = Tenant::new(&world, &name);
                let claim = tenant.created().await;
                tenant.install(&claim, "citext").await.unwrap();
                assert_eq!(tenant.login().await, LoginFact::Accepted);
            })
        })
        .collect();
    let watcher = world.server.superuser("postgres").await.unwrap();
    let mut most = 0;
    while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenantry'
                      AND (datname = $1 OR datname = ANY ($2))";
        let row = watcher
            .query_one(sql, &[&world.management, &names])
            .await
            .unwrap();
        most = most.max(row.get::<_, i64>(0));
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert!(
        (3..=6).contains(&most),
        "at most {most} connections were seen"
    );
}

#[tokio::test]
async fn d14_an_instance_at_rest_holds_no_connection() {
    let world = World::new().await;
    let idle = Duration::from_secs(1);
    let postgres = world.with(|settings| settings.idle_most = idle);
    // The one that made the registry has connections of its own.
    world.postgres.retire(&world.target.binding.uid);
    let mine = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenantry' AND datname = '{}'",
        world.management
    );
    let watcher = world.server.superuser("postgres").await.unwrap();
    let held = async || {
        watcher
            .query_one(&mine, &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
    };
    let none = async || {
        let held = held().await;
        anyhow::ensure!(held == 0, "{held} connections");
        Ok(())
    };
    until(Duration::from_secs(10), "no connection is held", none)
        .await
        .unwrap();
    postgres.claims(&world.target).await.unwrap();
    assert_eq!(held().await, 1);
    until(Duration::from_secs(10), "no connection is held", none)
        .await
        .unwrap();
    // The next call just makes another one.
    postgres.claims(&world.target).await.unwrap();
}

#[tokio::test]
async fn d14_a_statement_that_waits_ends_in_time_and_leaves_no_lock_and_no_session_behind() {
    let world = World::new().await;
    let tenant = world.tenant();
    let postgres = world.with(|settings| settings.statement_timeout = Duration::from_secs(1));
    let holder = world.server.superuser(&world.management).await.unwrap();
    holder
        .batch_execute("BEGIN; LOCK TABLE tenantry.claim")
        .await
        .unwrap();
    let start = Instant::now();
    let outcome = within(
        Duration::from_secs(5),
        postgres.claim(&world.target, &tenant.new_claim()),
    )
    .await;
    let failure = refused(outcome, Class::Unavailable, "claiming database");
    assert!(start.elapsed() < Duration::from_secs(3), "{failure}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'",
        world.management
    );
    assert_eq!(
        world.value("postgres", &waiting).await.as_deref(),
        Some("0"),
        "cancelled"
    );
    holder.batch_execute("ROLLBACK").await.unwrap();
    postgres
        .claim(&world.target, &tenant.new_claim())
        .await
        .unwrap();
}

#[tokio::test]
async fn pg_cron_318_statements_that_hang_do_not_keep_other_tenants_waiting() {
    let world = World::new().await;
    let postgres = world.with(|settings| settings.statement_timeout = Duration::from_secs(4));
    let holder = world.server.superuser(&world.management).await.unwrap();
    // What migrations wait for; they count as long statements.
    let key = i64::from_be_bytes(*b"tenantry");
    holder
        .execute("SELECT pg_advisory_lock($1)", &[&key])
        .await
        .unwrap();
    let stuck: Vec<_> = (0..8)
        .map(|_| postgres.migrate_registry(&world.target))
        .collect();
    let others = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        for _ in 0..20 {
            within(
                Duration::from_secs(1),
                postgres.observe(&world.target, &world.tenant().query),
            )
            .await
            .unwrap();
        }
        holder
            .execute("SELECT pg_advisory_unlock($1)", &[&key])
            .await
            .unwrap();
    };
    let (outcomes, ()) = tokio::join!(futures::future::join_all(stuck), others);
    for outcome in outcomes {
        outcome.unwrap();
    }
}

#[tokio::test]
async fn a_dropped_round_does_not_leave_its_connection_to_the_next_one() {
    let world = World::new().await;
    let tenant = world.tenant();
    let holder = world.server.superuser(&world.management).await.unwrap();
    holder
        .batch_execute("BEGIN; LOCK TABLE tenantry.claim")
        .await
        .unwrap();
    for _ in 0..4 {
        let new = tenant.new_claim();
        let round = world.postgres.claim(&world.target, &new);
        assert!(
            tokio::time::timeout(Duration::from_millis(200), round)
                .await
                .is_err()
        );
    }
    let seen = within(
        Duration::from_secs(2),
        world.postgres.inspect(&world.target, Depth::Extensions),
    )
    .await;
    assert_eq!(seen.access, domain::tenancy::capability::Check::Passed);
    holder.batch_execute("ROLLBACK").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        tenant.facts().await.claim,
        None,
        "nothing of the dropped rounds happened"
    );
}

#[tokio::test]
async fn a_pooled_connection_that_died_is_replaced_within_the_call() {
    let world = World::new().await;
    let tenant = world.tenant();
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND application_name = 'tenantry'",
        world.management
    );
    for round in 0..5 {
        tenant.facts().await;
        assert!(world.value("postgres", &end).await.is_some());
        // At once: whether the client has noticed by then or not.
        if round % 2 == 0 {
            tenant.facts().await;
        } else {
            let seen = world
                .postgres
                .inspect(&world.target, Depth::Extensions)
                .await;
            assert_eq!(seen.metadata, domain::tenancy::capability::Check::Passed);
        }
    }
}
