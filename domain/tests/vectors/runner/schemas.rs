//! `validation`, `extend` and `publish`.

use domain::settings::limits::Limits;
use domain::settings::schema::encode::encode;
use domain::settings::schema::extend::extend as join;
use domain::settings::schema::{Schema, publish as publication};
use domain::settings::validate::validate;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Failure, Given, Got, open_document};

pub fn validation(given: &Given) -> Result<Got, Failure> {
    let violations = validate(&given.new, &given.closed()?, &Limits::DEFAULT);
    let paths: Vec<&str> = violations
        .iter()
        .map(|violation| violation.path.as_str())
        .collect();
    Ok(Got::from([
        ("valid", json!(violations.is_empty())),
        ("paths", json!(paths)),
    ]))
}

/// One entry of `expect.validate`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    values: Value,
    #[serde(rename = "valid")]
    _valid: bool,
}

pub fn extend(given: &Given) -> Result<Got, Failure> {
    let settings = given.open()?;
    let values = open_document(&given.values_schema)?.unwrap_or_default();
    let merged = join(values, settings.as_ref());
    let written = encode(merged.root(), &|_, value| Some(value.clone()));
    let schema = Schema::close(merged);
    let checks: Vec<Check> = match given.expect.get("validate") {
        None => Vec::new(),
        Some(checks) => serde_json::from_value(checks.clone())?,
    };
    let answers: Vec<Value> = checks
        .iter()
        .map(|check| {
            let valid = validate(&check.values, &schema, &Limits::DEFAULT).is_empty();
            json!({"values": check.values, "valid": valid})
        })
        .collect();
    Ok(Got::from([
        ("merged", written),
        ("validate", answers.into()),
    ]))
}

pub fn publish(given: &Given) -> Got {
    match publication::publish(&given.schema, &Limits::DEFAULT) {
        Err(_) => Got::from([("error", json!(true))]),
        Ok(written) => Got::from([("error", json!(false)), ("published", written)]),
    }
}

/// Keywords that are kept whatever their value.
const KEPT: [&str; 5] = [
    "default",
    "example",
    "enum",
    "additionalProperties",
    "additionalItems",
];

/// A schema without what "may be omitted": false booleans, empty texts and empty lists.
pub fn lean(node: &Value) -> Value {
    match node {
        Value::Object(keywords) => keywords
            .iter()
            .filter(|(key, value)| KEPT.contains(&key.as_str()) || !is_empty(value))
            .map(|(key, value)| {
                let free = matches!(key.as_str(), "default" | "example" | "enum");
                (key.clone(), if free { value.clone() } else { lean(value) })
            })
            .collect(),
        Value::Array(list) => list.iter().map(lean).collect(),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}
