//! `verify` and `orphans`: what is said of a package's files, and what is deleted with an instance.

use std::collections::{BTreeMap, BTreeSet};

use domain::settings::defaults::apply_defaults;
use domain::settings::limits::Limits;
use domain::settings::orphans::{
    Answer, Declared, Event, Listed, Served, declared, is_deleted, resolve,
};
use domain::settings::schema::{Schema, open};
use domain::settings::verify::{passes, verify as verify_files};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Failure, Given, Got};

const LIMITS: Limits = Limits::DEFAULT;

/// Of the findings only those of the upstream rules are compared.
pub fn verify(given: &mut Given) -> Result<Got, Failure> {
    let files: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_value(given.context.take("files").unwrap_or_default())?;
    let mut written = BTreeMap::new();
    for (path, content) in files {
        let bytes = match (content.get("raw"), content.get("yaml")) {
            (Some(Value::String(raw)), None) => raw.clone().into_bytes(),
            (None, Some(yaml)) => yaml.to_string().into_bytes(),
            _ => {
                return Err(Failure(format!(
                    "  {path}: neither `yaml` nor a `raw` text"
                )));
            }
        };
        written.insert(path, bytes);
    }
    let findings = verify_files(&written, &LIMITS);
    let shown: Vec<Value> = findings
        .iter()
        .filter(|finding| finding.rule.is_upstream())
        .map(|finding| {
            let mut shown = json!({"rule": finding.rule.as_str(), "level": finding.level.as_str(), "path": finding.path});
            if !finding.pointer.is_empty() {
                shown["pointer"] = json!(finding.pointer);
            }
            shown
        })
        .collect();
    Ok(Got::from([
        ("findings", json!(shown)),
        ("exit_ok", json!(passes(&findings))),
    ]))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
    resources: Vec<Resource>,
}

/// Plural, kind, namespaced, and verbs if not all.
#[derive(Deserialize)]
struct Resource(String, String, bool, #[serde(default)] Option<Vec<String>>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    api_version: String,
    kind: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    deletion_timestamp: Option<String>,
}

pub fn orphans(given: &mut Given) -> Result<Got, Failure> {
    match given.context.take_text("op").as_deref() {
        None => purge(given),
        Some("read") => read(given),
        Some("events") => {
            let events: Vec<String> =
                serde_json::from_value(given.context.take("events").unwrap_or_default())?;
            let purged = events.iter().any(|event| {
                let event = match event.as_str() {
                    "suspend" => Event::Suspended,
                    "version_change" => Event::VersionChanged,
                    _ => Event::Deleted,
                };
                event.purges()
            });
            Ok(Got::from([("purged", json!(purged))]))
        }
        Some(other) => Err(Failure(format!("  no runner knows the operation {other}"))),
    }
}

/// The current values, or those of the defaults on the given settings.
fn read(given: &mut Given) -> Result<Got, Failure> {
    let values = if let Some(values) = given.context.take("values") {
        values
    } else {
        let mut values = given.new.clone();
        if !given.values_schema.is_null() {
            let schema = Schema::close(open(&given.values_schema, &LIMITS)?);
            apply_defaults(&mut values, &schema, LIMITS.settings_bytes, &LIMITS)?;
        }
        values
    };
    Ok(match declared(&values) {
        Ok(kinds) => {
            let shown: Vec<_> = kinds
                .iter()
                .map(|one| json!({"kind": one.kind, "version": one.version}))
                .collect();
            Got::from([("declared", json!(shown))])
        }
        // A malformed declaration skips the purge and never the removal.
        Err(_) => Got::from([
            ("malformed", json!(true)),
            ("removal_blocked", json!(false)),
        ]),
    })
}

fn declared_in(context: Option<Value>) -> Result<Vec<Declared>, Failure> {
    let values = json!({ "orphanResources": context.unwrap_or_default() });
    declared(&values).map_err(Failure::from)
}

fn served_in(context: Value) -> Result<Vec<Served>, Failure> {
    let all = || {
        [
            "create", "delete", "get", "list", "patch", "update", "watch",
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let groups: Vec<GroupVersion> = serde_json::from_value(context)?;
    let served = groups.into_iter().flat_map(|group| {
        let version = group.group_version;
        group
            .resources
            .into_iter()
            .map(move |Resource(plural, kind, namespaced, verbs)| Served {
                group_version: version.clone(),
                plural,
                kind,
                namespaced,
                verbs: verbs.unwrap_or_else(all),
            })
    });
    Ok(served.collect())
}

/// What the adapter does with these functions, on a cluster that is a list of objects.
fn purge(given: &mut Given) -> Result<Got, Failure> {
    let context = &mut given.context;
    let namespace = context.take_text("namespace").unwrap_or_default();
    let named = context.take_text("instance").unwrap_or_default();
    let instance = context.take_text("instance_override").unwrap_or(named);
    let declared = declared_in(context.take("declared"))?;
    let served = served_in(context.take("served").unwrap_or_else(|| json!([])))?;
    let objects: Vec<Object> =
        serde_json::from_value(context.take("objects").unwrap_or_else(|| json!([])))?;
    let discovery_fails = context.take_flag("discovery_error");
    let fail_list = context.take("fail_list");
    let fail_delete: BTreeMap<String, String> =
        serde_json::from_value(context.take("fail_delete").unwrap_or_else(|| json!({})))?;
    let mut error = discovery_fails;
    let mut deleted = BTreeSet::new();
    let resources = if discovery_fails {
        Vec::new()
    } else {
        resolve(&declared, &served).resources
    };
    for resource in resources {
        if list_fails(fail_list.as_ref(), &resource) {
            error = true;
            continue;
        }
        for object in &objects {
            let here = object.kind == resource.kind
                && object.api_version == resource.group_version
                && object.metadata.namespace.as_deref() == Some(&namespace);
            if !here || !is_deleted(&listed(object), &instance) {
                continue;
            }
            let name = &object.metadata.name;
            let answer = match fail_delete.get(name).map(String::as_str) {
                None => Answer::Accepted,
                Some("NotFound") => Answer::NotFound,
                Some("Conflict") => Answer::Conflict,
                Some(_) => Answer::Failed,
            };
            error |= !answer.is_fine();
            if answer == Answer::Accepted {
                deleted.insert(format!("{}/{name}", object.kind));
            }
        }
    }
    Ok(Got::from([
        ("deleted", json!(deleted)),
        ("error", json!(error)),
    ]))
}

fn listed(object: &Object) -> Listed {
    Listed {
        labels: object.metadata.labels.clone(),
        annotations: object.metadata.annotations.clone(),
        deleting: object.metadata.deletion_timestamp.is_some(),
    }
}

/// `fail_list` names what fails to be listed, by plural or kind, once or in a list; a flag means everything.
fn list_fails(fail: Option<&Value>, resource: &Served) -> bool {
    match fail {
        Some(Value::Bool(all)) => *all,
        Some(Value::String(name)) => *name == resource.plural || *name == resource.kind,
        Some(Value::Array(names)) => names.iter().any(|name| list_fails(Some(name), resource)),
        Some(Value::Object(names)) => {
            names.contains_key(&resource.plural) || names.contains_key(&resource.kind)
        }
        _ => false,
    }
}
