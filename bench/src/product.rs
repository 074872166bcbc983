//! Tenantry's side: apply a Tenant and wait until a watch shows it `Ready`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use e2e::world::condition::condition;
use e2e::world::tenancy::{API_VERSION, World};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(120);

/// See the module text.
pub struct Product<'w> {
    world: &'w World,
}

impl<'w> Product<'w> {
    pub fn new(world: &'w World) -> Self {
        Self { world }
    }

    /// From the create request until the watch shows `Ready=True`.
    pub async fn create(&self, name: &str) -> Result<Duration> {
        let tenants = self.world.tenants();
        let filter = WatchParams::default()
            .fields(&format!("metadata.name={name}"))
            .timeout(120);
        let mut events = tenants.watch(&filter, "0").await?.boxed();
        let started = Instant::now();
        tenants
            .create(&PostParams::default(), &self.tenant(name)?)
            .await?;
        while let Some(event) = events.try_next().await? {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event
                && is_ready(&object)
            {
                return Ok(started.elapsed());
            }
        }
        bail!("{name} did not become Ready")
    }

    /// Tenants per second from the first create request until all are `Ready`, and the most connections seen meanwhile.
    pub async fn burst(&self, prefix: &str, count: usize) -> Result<(f64, i64)> {
        let sampler = tokio::spawn(sample_connections(self.world.bed.postgres()));
        let tenants = self.world.tenants();
        let began = tenants.list(&ListParams::default().limit(1)).await?;
        let version = began.metadata.resource_version.unwrap_or_default();
        let started = Instant::now();
        let create = async {
            futures::stream::iter(0..count)
                .map(|position| async move {
                    let tenant = self.tenant(&format!("{prefix}-{position}"))?;
                    self.world
                        .tenants()
                        .create(&PostParams::default(), &tenant)
                        .await
                        .map_err(anyhow::Error::from)
                })
                .buffer_unordered(16)
                .try_for_each(|_created| std::future::ready(Ok(())))
                .await
        };
        let all_ready = async {
            let filter = WatchParams::default().timeout(290);
            let mut events = tenants.watch(&filter, &version).await?.boxed();
            let mut ready = HashSet::new();
            while ready.len() < count {
                let Some(event) = events.try_next().await? else {
                    bail!("only {} of {count} are Ready", ready.len());
                };
                if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event
                    && is_ready(&object)
                {
                    ready.insert(object.name_any());
                }
            }
            Ok(())
        };
        tokio::time::timeout(LIMIT * 2, async { tokio::try_join!(create, all_ready) })
            .await
            .context("too slow")??;
        let elapsed = started.elapsed();
        sampler.abort();
        let most = sampler
            .await
            .err()
            .map_or(0, |_| MOST.swap(0, std::sync::atomic::Ordering::Relaxed));
        Ok((per_second(count, elapsed), most))
    }

    fn tenant(&self, name: &str) -> Result<DynamicObject> {
        let identifier = self.world.identifier(&name.replace('-', "_"));
        Ok(serde_json::from_value(json!({
            "apiVersion": API_VERSION,
            "kind": "PostgreSQLTenant",
            "metadata": {"name": name},
            "spec": {"instanceRef": self.world.instance, "database": identifier, "loginRole": identifier},
        }))?)
    }
}

/// Tenants per second.
#[allow(clippy::cast_precision_loss)] // a few hundred tenants
pub fn per_second(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}

static MOST: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);

/// Looks every 20 ms, over one connection of its own, how many clients beside this one and the bare client's are connected by TCP.
async fn sample_connections(server: e2e::bed::postgres::Postgres) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND client_addr IS NOT NULL \
               AND application_name LIKE 'tenantry%'";
    let Ok(client) = server.superuser("postgres").await else {
        return;
    };
    while let Ok(row) = client.query_one(sql, &[]).await {
        MOST.fetch_max(row.get(0), std::sync::atomic::Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_ready(object: &DynamicObject) -> bool {
    condition(object, "Ready").is_some_and(|condition| condition.status == "True")
}
