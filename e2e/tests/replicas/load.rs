//! Requests without a pause, each on a new connection that trusts what the API server trusts now; every failure is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use e2e::world::tenancy::World;
use e2e::world::tenantry::{Tenantry, trusting};
use kube::api::{Api, DynamicObject, PostParams};
use tokio::task::JoinHandle;

/// Load that runs until it is asked for its result.
pub struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    task: JoinHandle<Vec<String>>,
}

impl Load {
    /// Runs `request` again and again.
    fn of<F>(request: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = anyhow::Result<()>> + Send,
    {
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&done));
        let task = tokio::spawn(async move {
            let mut failures = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                if let Err(error) = request().await {
                    failures.push(format!("{error:#}"));
                }
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            failures
        });
        Self { stop, done, task }
    }

    /// TLS to one process, trusting one authority.
    pub fn trusting(process: &Tenantry, authority: &[u8]) -> Self {
        let (client, url) = (
            trusting(authority).unwrap(),
            format!("{}/livez", process.url),
        );
        Self::of(move || {
            let request = client.get(&url).send();
            async move {
                request.await?.error_for_status()?;
                Ok(())
            }
        })
    }

    /// Waits until so many more requests were made.
    pub async fn further(&self, count: u64) {
        let enough = self.done.load(Ordering::Relaxed) + count;
        while self.done.load(Ordering::Relaxed) < enough {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// TLS to one process, trusting the `caBundle` of this moment.
    pub fn direct(process: &Arc<Tenantry>) -> Self {
        let process = Arc::clone(process);
        Self::of(move || {
            let process = Arc::clone(&process);
            async move {
                let authority = process.ca_bundle().await?.into_bytes();
                let url = format!("{}/livez", process.url);
                let answer = trusting(&authority)?.get(url).send().await?;
                answer.error_for_status()?;
                Ok(())
            }
        })
    }

    /// Creations that are not carried out, through the API server and its webhook.
    pub fn admissions(world: &World) -> Self {
        let tenants: Api<DynamicObject> = world.tenants();
        let manifest = world.tenant_manifest("never", "");
        let tenant: DynamicObject = serde_saphyr::from_str(&manifest).unwrap();
        Self::of(move || {
            let (tenants, tenant) = (tenants.clone(), tenant.clone());
            async move {
                let dry = PostParams {
                    dry_run: true,
                    ..PostParams::default()
                };
                tenants.create(&dry, &tenant).await?;
                Ok(())
            }
        })
    }

    /// Ends it: there were at least `least` requests, and none failed.
    pub async fn none_failed(self, least: u64) {
        self.stop.store(true, Ordering::Relaxed);
        let failures = self.task.await.unwrap();
        let done = self.done.load(Ordering::Relaxed);
        println!("{done} requests, {} failed", failures.len());
        assert!(failures.is_empty(), "of {done}: {failures:?}");
        assert!(done >= least, "{done} requests are too few");
    }
}
