//! `values_patch`, `object_patch`, `object_patch_errors`, `metrics`: what a run has written.

use domain::hooks::environment::Owner;
use domain::hooks::limits::HookLimits;
use domain::hooks::operations::{
    self, Action, DELETE_WAIT_SECONDS, ObjectPatch, OnExists, Operation, Propagation,
};
use domain::hooks::patches::{self, Accepted};
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use domain::settings::values::values;
use serde_json::{Map, Value, json};

use super::{error, list, same, text};

const LIMITS: HookLimits = HookLimits::DEFAULT;

pub fn values_patch(input: &Value) -> Value {
    match &input["file"] {
        Value::Array(files) => {
            let each: Vec<Value> = files.iter().map(|file| one_patch(input, file)).collect();
            json!({"each": each})
        }
        file => one_patch(input, file),
    }
}

/// What templates get after the run: the stored patches replayed on the base, which must be the document that was judged.
fn one_patch(input: &Value, file: &Value) -> Value {
    let base = &input["values"];
    let mut accepted = Accepted::default();
    let mut current = base.clone();
    let mut is_changed = false;
    for file in list(input, "earlier_files").iter().chain([file]) {
        let patch = match patches::read(file.as_str().unwrap().as_bytes(), &LIMITS) {
            Ok(patch) => patch,
            Err(refused) => return error(&refused),
        };
        let schemas =
            PackageSchemas::from_documents(&Value::Null, &input["schema"], &Limits::DEFAULT)
                .unwrap();
        match accepted.accept(&patch, &current, &schemas, &LIMITS, &Limits::DEFAULT) {
            Ok(changed) => {
                is_changed = changed.is_some();
                current = changed.unwrap_or(current);
            }
            Err(refused) => return error(&refused),
        }
    }
    let replayed = values(base, None, accepted.as_slice(), &Limits::DEFAULT).unwrap();
    assert_eq!(
        replayed, current,
        "S12: what is stored replays to what was judged"
    );
    json!({"values": replayed, "changed": is_changed})
}

fn owner(input: &Value) -> Owner<'_> {
    Owner {
        namespace: text(input, "namespace"),
        instance: text(input, "instance"),
    }
}

pub fn object_patch(input: &Value) -> Value {
    match operations::read(text(input, "file").as_bytes(), owner(input), &LIMITS) {
        Ok(operations) => json!({"operations": operations.iter().map(shown).collect::<Vec<_>>()}),
        Err(refused) => error(&refused),
    }
}

pub fn object_patch_errors(input: &Value) -> Value {
    let mut executed = 0;
    let outcomes = list(input, "files")
        .iter()
        .map(|file| {
            match operations::read(file.as_str().unwrap().as_bytes(), owner(input), &LIMITS) {
                Ok(operations) => {
                    executed += operations.len();
                    format!("{file} is accepted").into()
                }
                Err(_) => "error".into(),
            }
        })
        .collect();
    json!({"all": same(outcomes), "executed": executed})
}

fn shown(operation: &Operation) -> Value {
    let target = &operation.target;
    let mut shown = Map::from_iter([
        ("kind".to_owned(), json!(target.kind)),
        ("namespace".to_owned(), json!(target.namespace)),
        ("name".to_owned(), json!(target.name)),
    ]);
    let Value::Object(rest) = action(&operation.action) else {
        unreachable!("an action is shown as an object");
    };
    shown.extend(rest);
    shown.into()
}

fn action(action: &Action) -> Value {
    match action {
        Action::Create { on_exists, object } => {
            let on_exists = match on_exists {
                OnExists::Fail => "error",
                OnExists::Keep => "keep",
                OnExists::Replace => "replace",
            };
            json!({"verb": "create", "on_exists": on_exists, "object": object})
        }
        Action::Delete(propagation) => {
            let (name, wait) = match propagation {
                Propagation::Foreground => ("Foreground", DELETE_WAIT_SECONDS),
                Propagation::Background => ("Background", 0),
                Propagation::Orphan => ("Orphan", 0),
            };
            json!({"verb": "delete", "propagation": name, "wait_seconds": wait, "missing_ok": true})
        }
        Action::Patch {
            patch,
            subresource,
            missing_ok,
            may_fail,
        } => {
            let mut shown = match patch {
                ObjectPatch::Merge(body) => json!({"verb": "patch", "type": "merge", "body": body}),
                ObjectPatch::Json(body) => json!({"verb": "patch", "type": "json", "body": body}),
                ObjectPatch::Jq(filter) => json!({"verb": "get-jq-update", "jq": filter}),
            };
            shown["subresource"] = json!(subresource);
            shown["missing_ok"] = json!(missing_ok);
            shown["may_fail"] = json!(may_fail);
            shown
        }
    }
}

pub fn metrics(input: &Value) -> Value {
    let hook = text(input, "hook");
    match domain::hooks::metrics::read(text(input, "file").as_bytes(), hook, &LIMITS) {
        Ok(samples) => json!({"samples": samples.samples.len(), "warnings": samples.warnings}),
        Err(refused) => error(&refused),
    }
}
