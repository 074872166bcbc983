//! Calls of the webhook in a loop, and what became of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use e2e::world::objects;
use e2e::world::tenancy::API_VERSION;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::scene::Scene;

/// Server-side applies (dry run, so nothing is left) of Tenants that the webhook allows.
pub struct Load {
    stop: Arc<AtomicBool>,
    callers: Vec<JoinHandle<(usize, Vec<String>)>>,
}

impl Load {
    /// Starts three callers.
    pub async fn start(scene: &Scene) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let client = scene.bed.kube().await.unwrap();
        let callers = (0..3)
            .map(|caller| {
                let (client, stop) = (client.clone(), Arc::clone(&stop));
                tokio::spawn(async move {
                    let tenants = objects::namespaced(&client, "team", API_VERSION, "PostgreSQLTenant");
                    let params = PatchParams::apply("load").dry_run();
                    let (mut calls, mut failures) = (0, Vec::new());
                    while !stop.load(Ordering::Relaxed) {
                        let name = format!("load{caller}x{calls}");
                        let object = json!({
                            "apiVersion": API_VERSION, "kind": "PostgreSQLTenant", "metadata": {"name": name},
                            "spec": {"instanceRef": "shared"},
                        });
                        let applied = tenants.patch(&name, &params, &Patch::Apply(object)).await;
                        calls += 1;
                        if let Err(error) = applied {
                            failures.push(format!("call {calls}: {error}"));
                        }
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    (calls, failures)
                })
            })
            .collect();
        Self { stop, callers }
    }

    /// Stops the callers: all calls, and what those that failed said.
    pub async fn stop(self) -> (usize, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        let (mut calls, mut failures) = (0, Vec::new());
        for caller in self.callers {
            let (made, failed) = caller.await.unwrap();
            calls += made;
            failures.extend(failed);
        }
        (calls, failures)
    }
}
