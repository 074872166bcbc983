//! What processes are asked while their certificates change: each request is a new connection that trusts what the API server trusts
//! at that moment.

use std::sync::Arc;

use anyhow::ensure;
use e2e::world::load::Load;
use e2e::world::tenancy::{API_VERSION, World};
use e2e::world::tenantry::{Tenantry, trusting};
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};
use webhook::Route;

use super::service::Service;

/// Reviews of new Tenants, in turn one to allow and one to deny, each to the next endpoint of a Service. An answer other than that is a
/// failure.
pub fn reviews(service: &Service, authority: &[u8]) -> Load {
    let (client, service) = (trusting(authority).unwrap(), service.clone());
    Load::of(1, move |number| {
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

/// TLS to one process, trusting the `caBundle` of this moment.
pub fn direct(process: &Arc<Tenantry>) -> Load {
    let process = Arc::clone(process);
    Load::of(1, move |_| {
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
pub fn admissions(world: &World) -> Load {
    let tenants: Api<DynamicObject> = world.tenants();
    let manifest = world.tenant_manifest("never", "");
    let tenant: DynamicObject = serde_saphyr::from_str(&manifest).unwrap();
    Load::of(1, move |_| {
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
pub async fn none_failed(load: Load, least: u64) {
    let (done, failures) = load.end().await.unwrap();
    println!("{done} requests, {} failed", failures.len());
    assert!(failures.is_empty(), "of {done}: {failures:?}");
    assert!(done >= least, "{done} requests are too few");
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
