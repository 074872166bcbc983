//! Requests without a pause, each on a new connection that trusts what the API server trusts now; every failure is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::ensure;
use e2e::world::tenancy::{API_VERSION, World};
use e2e::world::tenantry::{Tenantry, trusting};
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use webhook::Route;

use super::service::Service;

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

    /// Reviews of new Tenants, in turn one to allow and one to deny, each to the next endpoint of a Service. An answer other than that is a
    /// failure.
    pub fn reviews(service: &Service, authority: &[u8]) -> Self {
        let (client, service) = (trusting(authority).unwrap(), service.clone());
        let numbers = AtomicU64::new(0);
        Self::of(move || {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            let url = format!("{}{}", service.next(), Route::Tenant.path());
            let request = client
                .post(url)
                .header("content-type", "application/json")
                .body(review(number).to_string())
                .send();
            async move {
                let answer = request.await?.error_for_status()?;
                judged_right(number, &serde_json::from_slice(&answer.bytes().await?)?)
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

fn is_to_be_allowed(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// What the API server asks about a new Tenant.
fn review(number: u64) -> Value {
    let database = if is_to_be_allowed(number) {
        "shop"
    } else {
        "template1"
    };
    let kind = json!({"group": "database.ddupan.top", "version": "v1alpha1", "kind": Route::Tenant.kind()});
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": number.to_string(), "kind": kind, "operation": "CREATE", "name": "shop", "namespace": "team",
            "resource": {"group": "database.ddupan.top", "version": "v1alpha1", "resource": Route::Tenant.resource()},
            "userInfo": {"username": "jane"}, "dryRun": false, "oldObject": null,
            "object": {
                "apiVersion": API_VERSION, "kind": Route::Tenant.kind(),
                "metadata": {"name": "shop", "namespace": "team"},
                "spec": {"instanceRef": "main", "database": database},
            },
        },
    })
}

fn judged_right(number: u64, answer: &Value) -> anyhow::Result<()> {
    let response = &answer["response"];
    let uid = response["uid"].as_str().unwrap_or_default();
    ensure!(uid == number.to_string(), "{answer}");
    ensure!(response["allowed"] == is_to_be_allowed(number), "{answer}");
    let says = response["status"]["message"].as_str().unwrap_or_default();
    ensure!(
        is_to_be_allowed(number) || says.contains("spec.database"),
        "{answer}"
    );
    Ok(())
}
