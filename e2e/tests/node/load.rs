//! Calls of the webhook in a loop.

use e2e::world::load::Load;
use e2e::world::objects;
use e2e::world::tenancy::API_VERSION;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::scene::Scene;

/// Three callers of server-side applies (dry run, so nothing is left) of Tenants that the webhook allows.
pub async fn applies(scene: &Scene) -> Load {
    let client = scene.bed.kube().await.unwrap();
    let tenants = objects::namespaced(&client, "team", API_VERSION, "PostgreSQLTenant");
    Load::of(3, move |number| {
        let tenants = tenants.clone();
        async move {
            let name = format!("load{number}");
            let object = json!({
                "apiVersion": API_VERSION, "kind": "PostgreSQLTenant", "metadata": {"name": name},
                "spec": {"instanceRef": "shared"},
            });
            let params = PatchParams::apply("load").dry_run();
            tenants.patch(&name, &params, &Patch::Apply(object)).await?;
            Ok(())
        }
    })
}
