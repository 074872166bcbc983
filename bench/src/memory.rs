//! Memory: what Tenantry holds while it is idle and with many Tenants, its peak, and how soon it works after a start.
//!
//! The Tenants name an Instance that does not exist: each gets one status, and no server limits how fast they are made.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::bed::wait::until;
use e2e::world::tenancy::{API_VERSION, World};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{DynamicObject, PostParams};
use serde_json::json;

use crate::process::Memory;

/// Creates at once.
const CONCURRENCY: usize = 16;
/// After it nothing has to be done any more.
const QUIET: Duration = Duration::from_secs(30);

/// Runs it; prints the figures.
pub async fn run(world: &World, tenants: usize) -> Result<()> {
    tokio::time::sleep(QUIET).await;
    println!("idle: RSS {:.1} MB", now(world)?.resident);
    let began = Instant::now();
    futures::stream::iter(0..tenants)
        .map(|position| async move {
            let tenant = tenant(position)?;
            world
                .tenants()
                .create(&PostParams::default(), &tenant)
                .await?;
            anyhow::Ok(())
        })
        .buffer_unordered(CONCURRENCY)
        .try_for_each(|()| std::future::ready(Ok(())))
        .await?;
    println!(
        "made {tenants} tenants in {:.0} s",
        began.elapsed().as_secs_f64()
    );
    settled(world, tenants).await?;
    let memory = now(world)?;
    println!(
        "after making them: RSS {:.1} MB, peak {:.1} MB",
        memory.resident, memory.peak
    );
    world.tenantry.stop();
    let began = Instant::now();
    world.tenantry.spawn()?;
    until(Duration::from_secs(60), "the first reconcile", async || {
        ensure!(reconciles(world).await? > 0, "none yet");
        Ok(())
    })
    .await?;
    println!(
        "first reconcile {:.2} s after the start",
        began.elapsed().as_secs_f64()
    );
    settled(world, tenants).await?;
    let memory = now(world)?;
    println!(
        "with {tenants} tenants: RSS {:.1} MB, peak {:.1} MB",
        memory.resident, memory.peak
    );
    Ok(())
}

/// What Tenantry holds now.
pub fn now(world: &World) -> Result<Memory> {
    let process = world.tenantry.process().context("Tenantry does not run")?;
    Memory::of(process.pid)
}

/// Every Tenant was looked at, and then nothing happened for a while.
async fn settled(world: &World, tenants: usize) -> Result<()> {
    until(
        Duration::from_secs(600),
        "every tenant was looked at",
        async || {
            let done = reconciles(world).await?;
            ensure!(done >= tenants, "{done} of {tenants}");
            Ok(())
        },
    )
    .await?;
    tokio::time::sleep(QUIET).await;
    Ok(())
}

/// Rounds of Tenants since the process began.
async fn reconciles(world: &World) -> Result<usize> {
    let (_, text) = world.tenantry.get("/metrics").await?;
    let counts = text
        .lines()
        .filter(|line| {
            line.starts_with("controller_runtime_reconcile_total{") && line.contains("tenant")
        })
        .filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    Ok(counts.sum())
}

fn tenant(position: usize) -> Result<DynamicObject> {
    let name = format!("t{position}");
    let notes =
        "{\"apiVersion\":\"database.ddupan.top/v1alpha1\",\"kind\":\"PostgreSQLTenant\"}".repeat(4);
    Ok(serde_json::from_value(json!({
        "apiVersion": API_VERSION, "kind": "PostgreSQLTenant",
        "metadata": {"name": name, "labels": {"team": "bench"}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": notes}},
        "spec": {"instanceRef": "nowhere", "extensions": ["pg_trgm", "btree_gist"]},
    }))?)
}
