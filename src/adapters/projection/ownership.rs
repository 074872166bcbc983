//! Which fields the API server has down as ours.
//!
//! The object is made by a POST, which alone can say "only if there is none", and changed by server-side apply. The API server
//! keeps the two as two managers; a key that we no longer want would stay, held by the first. So the first is turned into the
//! second before the first apply, as kubectl does it for itself.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::DynamicObject;
use serde_json::Value;

use super::FIELD_MANAGER;

const APPLY: &str = "Apply";

fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() == Some(FIELD_MANAGER)
        && entry.subresource.as_deref().unwrap_or_default().is_empty()
}

fn is_applied(entry: &ManagedFieldsEntry) -> bool {
    entry.operation.as_deref() == Some(APPLY)
}

/// The managed fields with what we created held as applied; `None` if they are so already.
pub(super) fn as_applied(live: &DynamicObject) -> Option<Vec<ManagedFieldsEntry>> {
    let present = live.metadata.managed_fields.as_deref().unwrap_or_default();
    if !present
        .iter()
        .any(|entry| is_ours(entry) && !is_applied(entry))
    {
        return None;
    }
    let applied_before = present
        .iter()
        .any(|entry| is_ours(entry) && is_applied(entry));
    let turned = present.iter().filter_map(|entry| {
        if !is_ours(entry) || is_applied(entry) {
            return Some(entry.clone());
        }
        // An older applied entry already stands for what we want.
        (!applied_before).then(|| ManagedFieldsEntry {
            operation: Some(APPLY.to_owned()),
            ..entry.clone()
        })
    });
    Some(turned.collect())
}

/// Keys of the template that we once set and no longer want, such as `ca.crt`.
pub(super) fn keys_left_over(live: &DynamicObject, wanted: &Value) -> BTreeSet<String> {
    let wanted = wanted.pointer("/spec/target/template/data");
    let entries = live.metadata.managed_fields.as_deref().unwrap_or_default();
    let held = entries
        .iter()
        .filter(|entry| is_ours(entry))
        .filter_map(|entry| entry.fields_v1.as_ref());
    held.filter_map(|fields| {
        fields
            .0
            .pointer("/f:spec/f:target/f:template/f:data")?
            .as_object()
    })
    .flat_map(serde_json::Map::keys)
    .filter_map(|key| key.strip_prefix("f:"))
    .filter(|key| wanted.and_then(|wanted| wanted.get(key)).is_none())
    .map(str::to_owned)
    .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::super::body;
    use super::super::example::intent;
    use super::*;

    fn live(entries: &Value) -> DynamicObject {
        let mut live = body(&intent());
        live["metadata"]["managedFields"] = entries.clone();
        serde_json::from_value(live).unwrap()
    }

    fn entry(manager: &str, operation: &str, keys: &[&str]) -> Value {
        let data: serde_json::Map<String, Value> = keys
            .iter()
            .map(|key| (format!("f:{key}"), json!({})))
            .collect();
        json!({"manager": manager, "operation": operation, "fieldsV1": {"f:spec": {"f:target": {"f:template": {"f:data": data}}}}})
    }

    #[test]
    fn what_we_created_becomes_what_we_applied_and_others_stay() {
        let created = live(&json!([
            entry("tenantry", "Update", &["uri"]),
            entry("kubectl", "Update", &["x"])
        ]));
        let turned = as_applied(&created).unwrap();
        assert_eq!(turned[0].operation.as_deref(), Some("Apply"));
        assert_eq!(turned[1].operation.as_deref(), Some("Update"));
        assert!(as_applied(&live(&json!([entry("tenantry", "Apply", &["uri"])]))).is_none());
        let both = live(&json!([
            entry("tenantry", "Apply", &["uri"]),
            entry("tenantry", "Update", &["uri"])
        ]));
        assert_eq!(as_applied(&both).unwrap().len(), 1);
    }

    #[test]
    fn d7_a_key_that_we_no_longer_want_is_found_and_a_key_of_others_is_not_ours_to_mind() {
        let wanted = body(&intent());
        let entries = json!([
            entry("tenantry", "Apply", &["uri", "ca.crt"]),
            entry("kubectl", "Update", &["extra"])
        ]);
        assert_eq!(
            keys_left_over(&live(&entries), &wanted),
            BTreeSet::from(["ca.crt".to_owned()])
        );
    }
}
