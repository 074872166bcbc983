//! Orphan resources: what is declared, what it is in a cluster, what goes (section 9).

use std::collections::BTreeMap;

use domain::settings::orphans::{
    Answer, Declared, Event, INSTANCE_LABEL, Listed, Served, declared, declared_by_schema,
    is_deleted, is_label_value, resolve,
};
use serde_json::json;

fn kind(kind: &str, version: &str) -> Declared {
    Declared {
        kind: kind.to_owned(),
        version: version.to_owned(),
    }
}

fn served(
    group_version: &str,
    plural: &str,
    kind: &str,
    namespaced: bool,
    verbs: &[&str],
) -> Served {
    Served {
        group_version: group_version.to_owned(),
        plural: plural.to_owned(),
        kind: kind.to_owned(),
        namespaced,
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
    }
}

#[test]
fn a_missing_or_null_field_declares_nothing_and_another_value_is_malformed() {
    for nothing in [
        json!({}),
        json!({"orphanResources": null}),
        json!({"orphanResources": []}),
        json!(null),
    ] {
        assert_eq!(declared(&nothing), Ok(vec![]), "{nothing}");
    }
    for malformed in [
        json!("Job"),
        json!({}),
        json!(5),
        json!(["Job"]),
        json!([null]),
        json!([{"kind": 5, "version": "v1"}]),
        json!([[]]),
    ] {
        assert!(
            declared(&json!({"orphanResources": malformed})).is_err(),
            "{malformed}"
        );
    }
    let values = json!({"orphanResources": [{"kind": "Job", "version": "batch/v1"}, {"kind": "Secret"}, {}]});
    assert_eq!(
        declared(&values),
        Ok(vec![
            kind("Job", "batch/v1"),
            kind("Secret", ""),
            kind("", "")
        ])
    );
}

#[test]
fn a_package_that_is_not_loaded_declares_by_its_schemas_default() {
    let schema = json!({"type": "object", "properties": {"orphanResources": {"type": "array", "default": [{"kind": "Job", "version": "batch/v1"}]}}});
    assert_eq!(
        declared_by_schema(&schema),
        Ok(vec![kind("Job", "batch/v1")])
    );
    for none in [
        json!(null),
        json!({}),
        json!({"properties": {"orphanResources": {"type": "array"}}}),
    ] {
        assert_eq!(declared_by_schema(&none), Ok(vec![]), "{none}");
    }
    assert!(
        declared_by_schema(&json!({"properties": {"orphanResources": {"default": "Job"}}}))
            .is_err()
    );
}

#[test]
fn kinds_are_found_where_they_can_be_listed_and_deleted() {
    let all = ["get", "list", "delete"];
    let discovery = [
        served("v1", "pods", "Pod", true, &all),
        served("v1", "pods/log", "Pod", true, &all),
        served("v1", "namespaces", "Namespace", false, &all),
        served("v1", "bindings", "Binding", true, &["create"]),
        served("v1", "events", "Event", true, &["list"]),
        served("batch/v1", "jobs", "Job", true, &all),
        served("batch/v1beta1", "jobs", "Job", true, &all),
        served("example.org/v1", "jobs", "Job", true, &all),
    ];
    let plurals = |wanted: &[Declared]| -> Vec<String> {
        resolve(wanted, &discovery)
            .resources
            .iter()
            .map(|one| format!("{}/{}", one.group_version, one.plural))
            .collect()
    };
    assert_eq!(
        plurals(&[kind("Job", "v1")]),
        ["batch/v1/jobs", "example.org/v1/jobs"]
    );
    assert_eq!(plurals(&[kind("Job", "batch/v1")]), ["batch/v1/jobs"]);
    assert_eq!(
        plurals(&[kind("Job", "v1beta1"), kind("Job", "batch/v1beta1")]),
        ["batch/v1beta1/jobs"],
        "each once"
    );
    assert_eq!(plurals(&[kind("Pod", "v1")]), ["v1/pods"]);
    assert!(
        plurals(&[
            kind("", "v1"),
            kind("Job", ""),
            kind("job", "v1"),
            kind("Job", "apps/v1"),
            kind("Binding", "v1"),
            kind("Event", "v1"),
            kind("Job", "/v1")
        ])
        .is_empty()
    );
    let resolved = resolve(
        &[kind("Namespace", "v1"), kind("Gone", "v1"), kind("", "v1")],
        &discovery,
    );
    assert_eq!(resolved.cluster_scoped, [kind("Namespace", "v1")]);
    assert_eq!(resolved.unknown, [kind("Gone", "v1")]);
    assert!(resolved.resources.is_empty());
}

fn object(annotations: &[(&str, &str)]) -> Listed {
    Listed {
        labels: BTreeMap::from([(INSTANCE_LABEL.to_owned(), "cache".to_owned())]),
        annotations: annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        deleting: false,
    }
}

#[test]
fn objects_that_outlive_their_release_stay() {
    for kept in [
        [("werf.io/ownership", "anyone")].as_slice(),
        &[("werf.io/resource-policy", "keep")],
        &[("werf.io/resource-policy", "skip-update, skip-delete")],
        &[("helm.sh/resource-policy", "keep")],
        &[("helm.sh/resource-policy", "delete,skip-delete")],
        &[
            ("werf.io/ownership", "anyone"),
            ("werf.io/resource-policy", ""),
        ],
    ] {
        assert!(!is_deleted(&object(kept), "cache"), "{kept:?}");
    }
    for gone in [
        [].as_slice(),
        &[("werf.io/ownership", "release")],
        &[("helm.sh/resource-policy", "delete")],
        &[("helm.sh/hook", "pre-install")],
        &[
            ("werf.io/resource-policy", "skip-update"),
            ("helm.sh/resource-policy", "keep"),
        ],
        &[
            ("werf.io/resource-policy", ""),
            ("helm.sh/resource-policy", "keep"),
        ],
    ] {
        assert!(is_deleted(&object(gone), "cache"), "{gone:?}");
    }
}

#[test]
fn only_labelled_objects_that_are_not_going_already_are_deleted() {
    assert!(is_deleted(&object(&[]), "cache"));
    assert!(!is_deleted(&object(&[]), "other"));
    assert!(!is_deleted(&Listed::default(), "cache"));
    assert!(!is_deleted(
        &Listed {
            deleting: true,
            ..object(&[])
        },
        "cache"
    ));
    let long = "a".repeat(64);
    let impossible = Listed {
        labels: BTreeMap::from([(INSTANCE_LABEL.to_owned(), long.clone())]),
        ..Listed::default()
    };
    assert!(
        !is_deleted(&impossible, &long),
        "a name that cannot be a label deletes nothing"
    );
}

#[test]
fn label_values_are_those_of_kubernetes() {
    for value in ["a", "cache", "a-b_c.d", "A1", &"a".repeat(63)] {
        assert!(is_label_value(value), "{value}");
    }
    for value in ["", "-a", "a-", ".a", "a b", "é", "a/b", &"a".repeat(64)] {
        assert!(!is_label_value(value), "{value}");
    }
}

#[test]
fn a_step_fails_by_answers_that_are_no_success() {
    assert!(Answer::Accepted.is_fine() && Answer::NotFound.is_fine() && Answer::Conflict.is_fine());
    assert!(!Answer::Failed.is_fine());
}

#[test]
fn orphans_go_with_the_application_only() {
    assert!(Event::Deleted.purges());
    assert!(!Event::Suspended.purges() && !Event::VersionChanged.purges());
}
