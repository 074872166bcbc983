//! Whether a living ExternalSecret is as wanted (H29).
//!
//! Everything that we set must have our value; fields that others or the API server added beside ours are theirs, because
//! server-side apply would not remove them and a comparison that minded them would write for ever.

use kube::api::DynamicObject;
use serde_json::Value;

use super::ownership::keys_left_over;

/// True if applying `wanted` would change nothing of what is ours.
pub(super) fn as_wanted(live: &DynamicObject, wanted: &Value) -> bool {
    let metadata = ["labels", "annotations"].iter().all(|kind| {
        let live = match *kind {
            "labels" => &live.metadata.labels,
            _ => &live.metadata.annotations,
        };
        let wanted = wanted
            .pointer(&format!("/metadata/{kind}"))
            .and_then(Value::as_object);
        wanted.into_iter().flatten().all(|(key, value)| {
            live.as_ref()
                .and_then(|live| live.get(key))
                .map(String::as_str)
                == value.as_str()
        })
    });
    let spec = live.data.get("spec").unwrap_or(&Value::Null);
    let wanted_spec = wanted.get("spec").unwrap_or(&Value::Null);
    metadata
        && covers(spec, wanted_spec)
        && !takes_from_elsewhere(spec)
        && keys_left_over(live, wanted).is_empty()
}

/// True if `live` has every wanted value. Lists are compared in full; an empty one may have been left out by an
/// operator that rewrote the object.
fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| covers(live.get(key).unwrap_or(&Value::Null), wanted)),
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len()
                && live
                    .iter()
                    .zip(wanted)
                    .all(|(live, wanted)| covers(live, wanted))
        }
        (Value::Null, Value::Array(wanted)) => wanted.is_empty(),
        (live, wanted) => live == wanted,
    }
}

/// A `sourceRef` beside our `remoteRef` would make ESO read another store. The list is one value to server-side apply, so
/// applying ours takes it away.
fn takes_from_elsewhere(spec: &Value) -> bool {
    let data = spec.get("data").and_then(Value::as_array);
    data.into_iter()
        .flatten()
        .any(|item| item.get("sourceRef").is_some())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::super::body;
    use super::super::example::intent;
    use super::*;

    fn judged(change: impl FnOnce(&mut Value)) -> bool {
        let wanted = body(&intent());
        let mut live = wanted.clone();
        change(&mut live);
        as_wanted(&serde_json::from_value(live).unwrap(), &wanted)
    }

    fn set(pointer: &'static str, key: &'static str, value: Value) -> impl FnOnce(&mut Value) {
        move |live| {
            live.pointer_mut(pointer)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .insert(key.to_owned(), value);
        }
    }

    #[test]
    fn what_the_api_server_or_others_add_beside_ours_is_no_difference() {
        assert!(judged(|_| {}));
        assert!(judged(set(
            "/metadata/annotations",
            "force-sync",
            json!("1")
        )));
        assert!(judged(set("/metadata/labels", "team", json!("net"))));
        assert!(judged(set("/spec", "status", json!({}))));
        assert!(judged(set("/spec/target", "immutable", json!(false))));
        assert!(judged(set(
            "/spec/target/template",
            "metadata",
            json!({"labels": {"x": "y"}})
        )));
        assert!(judged(set(
            "/spec/target/template/data",
            "extra",
            json!("x")
        )));
        assert!(judged(set(
            "/spec/data/0/remoteRef",
            "nullBytePolicy",
            json!("Ignore")
        )));
        assert!(judged(|live| {
            live.pointer_mut("/spec")
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove("dataFrom");
        }));
    }

    #[test]
    fn h29_every_field_of_ours_that_someone_changes_is_a_difference() {
        let changes = [
            ("/spec/secretStoreRef", "name", json!("other")),
            ("/spec/secretStoreRef", "kind", json!("SecretStore")),
            ("/spec", "refreshInterval", json!("0s")),
            ("/spec", "refreshPolicy", json!("CreatedOnce")),
            ("/spec/target", "name", json!("other")),
            ("/spec/target", "creationPolicy", json!("Orphan")),
            ("/spec/target", "deletionPolicy", json!("Delete")),
            ("/spec/target/template", "type", json!("Opaque")),
            ("/spec/target/template", "mergePolicy", json!("Merge")),
            (
                "/spec/target/template",
                "templateFrom",
                json!([{"literal": "x"}]),
            ),
            ("/spec/target/template/data", "uri", json!("x")),
            ("/spec/data/0", "secretKey", json!("pw")),
            (
                "/spec/data/0",
                "sourceRef",
                json!({"storeRef": {"name": "x"}}),
            ),
            ("/spec/data/0/remoteRef", "key", json!("x")),
            ("/spec/data/0/remoteRef", "version", json!("6")),
            ("/spec/data/0/remoteRef", "property", json!("x")),
            ("/spec", "dataFrom", json!([{"extract": {"key": "x"}}])),
            (
                "/metadata/labels",
                "app.kubernetes.io/managed-by",
                json!("helm"),
            ),
            (
                "/metadata/annotations",
                "database.ddupan.top/tenant-uid",
                json!("t-2"),
            ),
        ];
        for (pointer, key, value) in changes {
            assert!(!judged(set(pointer, key, value)), "{pointer}/{key}");
        }
        assert!(!judged(|live| live
            .pointer_mut("/spec/data")
            .unwrap()
            .as_array_mut()
            .unwrap()
            .clear()));
        assert!(!judged(|live| live["spec"] = Value::Null));
    }
}
