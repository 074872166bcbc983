//! Reads and runs cases: a list of `{name, source, op, input, expect, note?}`; `op` names the step.
//!
//! A step says what it got; each key that a case expects is compared, at every depth, and an `error` is a part of the text got.

mod config;
#[path = "../../cases/files.rs"]
mod files;
mod outputs;
mod running;

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    name: String,
    #[serde(rename = "source")]
    _source: String,
    op: String,
    input: Value,
    expect: Value,
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// All cases of a folder, by file and in order.
pub fn read(folder: &Path) -> Result<Vec<Case>, String> {
    let read = files::json::<Vec<Case>>(folder)?;
    Ok(read.into_iter().flat_map(|(_, cases)| cases).collect())
}

impl Case {
    /// Step and name.
    pub fn title(&self) -> String {
        format!("{}::{}", self.op, self.name)
    }

    /// Runs the case and compares.
    pub fn run(&self) -> Result<(), String> {
        let input = &self.input;
        let got = match self.op.as_str() {
            "discover" => config::discover(input),
            "parse_config" => config::parse_config(input),
            "parse_config_errors" => config::parse_config_errors(input),
            "load" => config::load(input),
            "binding_context" => running::binding_context(input),
            "jq" => running::jq(input),
            "check" => running::check(input),
            "run" => running::run(input),
            "values_patch" => outputs::values_patch(input),
            "object_patch" => outputs::object_patch(input),
            "object_patch_errors" => outputs::object_patch_errors(input),
            "metrics" => outputs::metrics(input),
            other => return Err(format!("  no runner knows the step {other}")),
        };
        agree("", &self.expect, &got)
    }
}

/// Everything that is expected must be got; lists have the same length.
fn agree(path: &str, expected: &Value, got: &Value) -> Result<(), String> {
    let differs = || {
        Err(format!(
            "  {path}: expected {expected}\n  {path}: got      {got}"
        ))
    };
    match (expected, got) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().try_for_each(|(key, value)| {
                let path = format!("{path}/{key}");
                let error = found
                    .get(key)
                    .filter(|_| key == "error")
                    .and_then(Value::as_str);
                match (error, value) {
                    (Some(error), Value::String(part)) if error.contains(part.as_str()) => Ok(()),
                    (Some(_), Value::Bool(true)) => Ok(()),
                    _ => agree(&path, value, found.get(key).unwrap_or(&json!(null))),
                }
            })
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => expected
            .iter()
            .zip(found)
            .enumerate()
            .try_for_each(|(at, (expected, found))| {
                agree(&format!("{path}/{at}"), expected, found)
            }),
        _ if domain::settings::document::equal(expected, got) => Ok(()),
        _ => differs(),
    }
}

/// A text of the input.
fn text<'v>(input: &'v Value, key: &str) -> &'v str {
    input[key].as_str().unwrap_or_default()
}

/// A list of the input.
fn list<'v>(input: &'v Value, key: &str) -> &'v [Value] {
    input[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// `{error: …}`.
fn error(error: &dyn std::fmt::Display) -> Value {
    json!({"error": error.to_string()})
}

/// `all`, if all cases came to the same, else what each came to.
fn same(outcomes: Vec<Value>) -> Value {
    let first = outcomes.first().cloned().unwrap_or_default();
    if outcomes.iter().all(|outcome| *outcome == first) {
        first
    } else {
        outcomes.into()
    }
}
