//! A living ExternalSecret, or a Secret's metadata, as a fact (D6, D8).

use std::time::Duration;

use domain::tenancy::facts::{Projection, ProjectionFact, ProjectionReady, SecretFact};
use domain::tenancy::names::Uid;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use serde_json::Value;

use super::compare::as_wanted;
use super::{FORCE_SYNC, Intent, TENANT_UID, body};

/// How ESO words that the target Secret has another owner; its condition has one reason for every error.
const OWNED_BY_ANOTHER: &str = "owned by another ExternalSecret";

/// The Tenant UID in our annotation, if the object carries one.
#[must_use]
pub fn owner_of(metadata: &ObjectMeta) -> Option<Uid> {
    metadata
        .annotations
        .as_ref()?
        .get(TENANT_UID)
        .filter(|uid| !uid.is_empty())
        .map(Uid::new)
}

/// The fact of a living ExternalSecret.
pub(super) fn projection(
    live: &DynamicObject,
    wanted: Option<&Intent>,
    now: Timestamp,
) -> ProjectionFact {
    ProjectionFact::Present(Projection {
        uid: Uid::new(live.metadata.uid.clone().unwrap_or_default()),
        owner: owner_of(&live.metadata),
        deleting: live.metadata.deletion_timestamp.is_some(),
        as_wanted: wanted.is_some_and(|intent| as_wanted(live, &body(intent))),
        synced: is_synced(live),
        ready: ready(live, now),
        written_age: written_age(&live.metadata, now),
        force_sync_age: force_sync_age(&live.metadata, now),
    })
}

/// The prefix of `syncedResourceVersion` is the generation that ESO last delivered (D8).
fn is_synced(live: &DynamicObject) -> bool {
    let synced = live
        .data
        .pointer("/status/syncedResourceVersion")
        .and_then(Value::as_str);
    let delivered = synced
        .and_then(|synced| synced.split_once('-'))
        .and_then(|(generation, _)| generation.parse::<i64>().ok());
    delivered.is_some() && delivered == live.metadata.generation
}

fn ready(live: &DynamicObject, now: Timestamp) -> ProjectionReady {
    let conditions = live
        .data
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    let field = |condition: &Value, name: &str| {
        condition
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let Some(condition) = conditions
        .into_iter()
        .flatten()
        .find(|condition| field(condition, "type") == "Ready")
    else {
        return ProjectionReady::Unknown;
    };
    match field(condition, "status").as_str() {
        "True" => ProjectionReady::True,
        "False" => ProjectionReady::False {
            age: field(condition, "lastTransitionTime")
                .parse()
                .map_or(Duration::ZERO, |since| age(since, now)),
            owned_by_another: field(condition, "message").contains(OWNED_BY_ANOTHER),
            reason: word(&field(condition, "reason")),
        },
        _ => ProjectionReady::Unknown,
    }
}

/// A reason is one word by convention; whoever may write the status could put a text there, and it is shown to people (H38).
fn word(reason: &str) -> String {
    let plain = !reason.is_empty()
        && reason.len() <= 64
        && reason.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if plain {
        reason.to_owned()
    } else {
        "an error".to_owned()
    }
}

/// The API server notes when a field manager last changed an object.
fn written_age(metadata: &ObjectMeta, now: Timestamp) -> Duration {
    let writes = metadata.managed_fields.iter().flatten().filter(|entry| {
        entry.manager.as_deref() == Some(super::FIELD_MANAGER) && entry.subresource.is_none()
    });
    let last = writes
        .filter_map(|entry| entry.time.as_ref())
        .map(|time| time.0)
        .max();
    last.map_or(Duration::ZERO, |last| age(last, now))
}

/// A time that lies ahead is of another clock, or written by hand: it does not count.
fn force_sync_age(metadata: &ObjectMeta, now: Timestamp) -> Option<Duration> {
    let seconds: i64 = metadata
        .annotations
        .as_ref()?
        .get(FORCE_SYNC)?
        .parse()
        .ok()?;
    let at = Timestamp::from_second(seconds).ok()?;
    (at <= now).then(|| age(at, now))
}

fn age(since: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(since)).unwrap_or_default()
}

/// Who controls a Secret, by its metadata alone (D6).
pub(super) fn secret(metadata: &ObjectMeta, projection_name: &str) -> SecretFact {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let controller = owners.iter().find(|owner| {
        owner.controller == Some(true)
            && owner.kind == "ExternalSecret"
            && owner.api_version.split('/').next() == Some("external-secrets.io")
            && owner.name == projection_name
    });
    controller.map_or(SecretFact::Foreign, |owner| {
        SecretFact::OfProjection(Uid::new(&owner.uid))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use serde_json::json;

    use super::super::example::intent;
    use super::*;

    const NOW: &str = "2026-01-01T00:01:00Z";

    fn seen(status: &Value, generation: i64, annotations: &Value) -> Projection {
        let mut live = body(&intent());
        live["metadata"]["uid"] = json!("e-1");
        live["metadata"]["generation"] = json!(generation);
        live["metadata"]["annotations"]
            .as_object_mut()
            .unwrap()
            .extend(annotations.as_object().unwrap().clone());
        live["status"] = status.clone();
        let live: DynamicObject = serde_json::from_value(live).unwrap();
        match projection(&live, Some(&intent()), NOW.parse().unwrap()) {
            ProjectionFact::Present(projection) => projection,
            ProjectionFact::Absent => panic!("present"),
        }
    }

    #[test]
    fn d8_synced_means_that_the_present_generation_was_delivered() {
        for (synced, generation, expected) in [
            ("3-abc", 3, true),
            ("2-abc", 3, false),
            ("33-abc", 3, false),
            ("3", 3, false),
            ("", 3, false),
            ("x-3", 3, false),
        ] {
            let status = json!({"syncedResourceVersion": synced});
            assert_eq!(
                seen(&status, generation, &json!({})).synced,
                expected,
                "{synced}"
            );
        }
        assert!(!seen(&json!(null), 1, &json!({})).synced);
    }

    #[test]
    fn d8_a_failure_has_its_age_and_another_owner_is_told_apart() {
        let condition = |status: &str, message: &str| {
            json!({"conditions": [{"type": "Deleted", "status": "False"}, {"type": "Ready", "status": status,
                "reason": "SecretSyncedError", "message": message, "lastTransitionTime": "2026-01-01T00:00:48Z"}]})
        };
        assert_eq!(
            seen(&json!({}), 1, &json!({})).ready,
            ProjectionReady::Unknown
        );
        assert_eq!(
            seen(&condition("True", "secret synced"), 1, &json!({})).ready,
            ProjectionReady::True
        );
        assert_eq!(
            seen(&condition("Unknown", ""), 1, &json!({})).ready,
            ProjectionReady::Unknown
        );
        for (message, owned_by_another) in [
            ("could not get secret data from provider", false),
            ("target is owned by another ExternalSecret", true),
        ] {
            let reason = "SecretSyncedError".to_owned();
            let expected = ProjectionReady::False {
                age: Duration::from_secs(12),
                owned_by_another,
                reason,
            };
            assert_eq!(
                seen(&condition("False", message), 1, &json!({})).ready,
                expected
            );
        }
    }

    #[test]
    fn h38_a_reason_that_is_no_word_is_not_passed_on() {
        assert_eq!(word("SecretSyncedError"), "SecretSyncedError");
        for text in ["", "two words", "a\nb", "{{x}}", &"a".repeat(65)] {
            assert_eq!(word(text), "an error");
        }
    }

    #[test]
    fn d8_the_age_of_a_forced_sync_is_read_from_our_annotation() {
        let second = NOW.parse::<Timestamp>().unwrap().as_second();
        let age = |text: String| seen(&json!({}), 1, &json!({"force-sync": text})).force_sync_age;
        assert_eq!(
            age((second - 30).to_string()),
            Some(Duration::from_secs(30))
        );
        assert_eq!(age((second + 30).to_string()), None);
        assert_eq!(age("now".to_owned()), None);
        assert_eq!(seen(&json!({}), 1, &json!({})).force_sync_age, None);
    }

    #[test]
    fn d6_only_a_controlling_external_secret_of_our_name_makes_a_secret_ours() {
        let metadata =
            |owner: Value| serde_json::from_value(json!({"ownerReferences": [owner]})).unwrap();
        let owner = json!({"apiVersion": "external-secrets.io/v1beta1", "kind": "ExternalSecret", "name": "p", "uid": "e-1", "controller": true});
        assert_eq!(
            secret(&metadata(owner.clone()), "p"),
            SecretFact::OfProjection(Uid::new("e-1"))
        );
        for (key, value) in [
            ("apiVersion", json!("other.io/v1")),
            ("kind", json!("Deployment")),
            ("name", json!("q")),
            ("controller", json!(false)),
        ] {
            let mut owner = owner.clone();
            owner[key] = value;
            assert_eq!(secret(&metadata(owner), "p"), SecretFact::Foreign, "{key}");
        }
        assert_eq!(secret(&ObjectMeta::default(), "p"), SecretFact::Foreign);
    }
}
