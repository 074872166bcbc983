//! The reviews that are sent: a create of 2.5 kB and an update of 6 kB with managed fields, as an API server writes them.

#![allow(clippy::indexing_slicing)] // of JSON that is made here

use serde_json::{Value, json};

/// A review as it goes over the wire.
pub struct Review {
    /// What it asks.
    pub name: &'static str,
    /// JSON.
    pub body: String,
}

const CREATE_BYTES: usize = 2_500;
const UPDATE_BYTES: usize = 6_000;

/// A new Tenant with what kubectl adds to it.
pub fn create() -> Review {
    let mut object = tenant(&["pg_trgm"]);
    object["metadata"]["managedFields"] = json!([managed(
        "kubectl-client-side-apply",
        &["f:instanceRef", "f:extensions"]
    )]);
    padded("create", CREATE_BYTES, |pad| {
        object["metadata"]["annotations"] = json!({"example.org/notes": pad});
        review("CREATE", &object, &Value::Null)
    })
}

/// One more extension for a Tenant that is Ready; both objects hold the fields of three managers.
pub fn update() -> Review {
    let mut old = tenant(&["pg_trgm"]);
    old["status"] = json!({
        "observedGeneration": 1, "phase": "Ready", "database": "shop", "loginRole": "shop", "databaseOID": 16_412,
        "credential": {"secretRef": {"name": "shared-shop-postgresql"}, "openBaoURL": "https://openbao.example.org:8200/v1/secret/data/tenantry/shop/shop"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "the tenant is ready", "observedGeneration": 1,
            "lastTransitionTime": "2026-11-01T10:00:00Z"}],
    });
    old["metadata"]["managedFields"] = json!([
        managed(
            "kubectl-client-side-apply",
            &["f:instanceRef", "f:extensions", "f:deletionPolicy"]
        ),
        managed("argocd-controller", &["f:instanceRef", "f:extensions"]),
        managed(
            "tenantry",
            &[
                "f:phase",
                "f:database",
                "f:loginRole",
                "f:databaseOID",
                "f:credential",
                "f:conditions"
            ]
        ),
    ]);
    let mut new = old.clone();
    new["spec"]["extensions"] = json!(["pg_trgm", "btree_gist"]);
    padded("update", UPDATE_BYTES, |pad| {
        old["metadata"]["annotations"] = json!({"example.org/notes": pad});
        new["metadata"]["annotations"] = old["metadata"]["annotations"].clone();
        review("UPDATE", &new, &old)
    })
}

fn tenant(extensions: &[&str]) -> Value {
    json!({
        "apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLTenant",
        "metadata": {"name": "shop", "namespace": "shop", "uid": "4a3f1f3e-6f0a-4a53-9d5c-0a5b2f1f5c11", "generation": 1,
            "resourceVersion": "", "creationTimestamp": "2026-11-01T10:00:00Z", "labels": {"app.kubernetes.io/name": "shop", "team": "checkout"}},
        "spec": {"instanceRef": "shared", "extensions": extensions, "deletionPolicy": "Retain"},
    })
}

fn managed(manager: &str, fields: &[&str]) -> Value {
    let owned: serde_json::Map<String, Value> = fields
        .iter()
        .map(|field| {
            (
                (*field).to_owned(),
                json!({".": {}, "k:{\"type\":\"Ready\"}": {"f:status": {}}}),
            )
        })
        .collect();
    json!({"manager": manager, "operation": "Update", "apiVersion": "database.ddupan.top/v1alpha1", "time": "2026-11-01T10:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:team": {}}}, "f:spec": owned}})
}

fn review(operation: &str, object: &Value, old: &Value) -> Value {
    let kind =
        json!({"group": "database.ddupan.top", "version": "v1alpha1", "kind": "PostgreSQLTenant"});
    let resource = json!({"group": "database.ddupan.top", "version": "v1alpha1", "resource": "postgresqltenants"});
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "resource": resource,
            "requestKind": kind, "requestResource": resource, "name": "shop", "namespace": "shop", "operation": operation,
            "userInfo": {"username": "system:serviceaccount:ci:deployer", "uid": "9a1c", "groups": ["system:serviceaccounts", "system:authenticated"]},
            "object": object, "oldObject": old, "dryRun": false,
            "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-client-side-apply"},
        },
    })
}

/// The review with notes that bring it to its size.
fn padded(name: &'static str, bytes: usize, mut review: impl FnMut(&str) -> Value) -> Review {
    let bare = review("").to_string().len();
    let copies = if name == "update" { 2 } else { 1 };
    let pad = "x".repeat(bytes.saturating_sub(bare) / copies);
    Review {
        name,
        body: review(&pad).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{create, update};

    #[test]
    fn the_reviews_have_the_sizes_that_are_promised() {
        assert!(
            (2_400..=2_600).contains(&create().body.len()),
            "{}",
            create().body.len()
        );
        assert!(
            (5_900..=6_100).contains(&update().body.len()),
            "{}",
            update().body.len()
        );
    }
}
