//! `immutable` and `enum-switch`.

use domain::settings::defaults::apply_defaults;
use domain::settings::immutable::check;
use domain::settings::limits::Limits;
use domain::settings::schema::{Schema, publish};
use domain::settings::switch::{
    ACKNOWLEDGEMENT, Confirmation, Impact, confirmations, unacknowledged,
};
use serde_json::{Value, json};

use super::{Failure, Given, Got};

const LIMITS: Limits = Limits::DEFAULT;

fn defaulted(document: &Value, schema: &Schema) -> Result<Value, Failure> {
    let mut document = document.clone();
    apply_defaults(&mut document, schema, LIMITS.settings_bytes, &LIMITS)?;
    Ok(document)
}

/// The old side stands as it is (S18).
pub fn immutable(given: &mut Given) -> Result<Got, Failure> {
    let schema = given.closed()?;
    let new = if given.context.take_flag("apply_defaults") {
        defaulted(&given.new, &schema)?
    } else {
        given.new.clone()
    };
    let changed = check(&schema, &given.old, &new, &LIMITS);
    let fields: Vec<&str> = changed
        .iter()
        .map(|violation| violation.path.as_str())
        .collect();
    Ok(Got::from([
        ("allowed", json!(changed.is_empty())),
        ("fields", json!(fields)),
    ]))
}

pub fn enum_switch(given: &mut Given) -> Result<Got, Failure> {
    match given.context.take_text("op").as_deref() {
        None => {
            let found = found(given)?;
            let destructive = found
                .iter()
                .any(|confirmation| confirmation.impact == Impact::Destructive);
            Ok(Got::from([
                ("confirmations", json!(found)),
                ("destructive", json!(destructive)),
            ]))
        }
        Some("decode") => {
            let error = publish::publish(&given.schema, &LIMITS).is_err();
            Ok(Got::from([("error", json!(error))]))
        }
        Some("publish") => {
            let written = publish::publish(&given.schema, &LIMITS)?;
            let kept = branch_extension(&written).cloned().unwrap_or_default();
            Ok(Got::from([("published_branch_extension", kept)]))
        }
        Some("admission") => {
            let annotations = given.context.take("annotations").unwrap_or_default();
            let found = found(given)?;
            let missing = unacknowledged(&found, annotations[ACKNOWLEDGEMENT].as_str(), None);
            let warnings: Vec<String> = missing
                .iter()
                .map(|confirmation| confirmation.entry())
                .collect();
            // Without the server's option a missing acknowledgement only warns (S8).
            Ok(Got::from([
                ("allowed", json!(true)),
                ("warnings", json!(warnings)),
            ]))
        }
        Some(other) => Err(Failure(format!(
            "  enum-switch does not know the op {other:?}"
        ))),
    }
}

fn found(given: &mut Given) -> Result<Vec<Confirmation>, Failure> {
    let schema = given.closed()?;
    let (mut old, mut new) = (given.old.clone(), given.new.clone());
    if given.context.take_flag("apply_defaults") {
        old = defaulted(&old, &schema)?;
        new = defaulted(&new, &schema)?;
    }
    Ok(confirmations(&schema, &old, &new))
}

/// The first list on a `oneOf` branch, wherever it stands.
fn branch_extension(node: &Value) -> Option<&Value> {
    let mut branches = node["oneOf"].as_array().into_iter().flatten();
    let own = branches.find_map(|branch| branch.get("x-deckhouse-enum-switch-settings"));
    own.or_else(|| {
        node["properties"]
            .as_object()?
            .values()
            .find_map(branch_extension)
    })
}
