//! Application settings, beyond the vectors: hostile input with its bounds, the dialect's corners, and properties.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::struct_excessive_bools
)]

mod admission;
mod dialect;
mod form;
mod hostile;
mod loading;
mod oracle;
mod packages;
mod patches;
mod patterns;
mod properties;
mod publication;
mod references;

use domain::settings::limits::Limits;
use domain::settings::schema::{Schema, open};
use domain::settings::validate::validate;
use serde_json::Value;

const LIMITS: Limits = Limits::DEFAULT;

fn closed(document: &Value) -> Schema {
    Schema::close(open(document, &LIMITS).unwrap())
}

/// Violations as `path: text`.
fn violations(schema: &Value, document: &Value) -> Vec<String> {
    validate(document, &closed(schema), &LIMITS)
        .iter()
        .map(|violation| format!("{}: {}", violation.path, violation.text))
        .collect()
}

fn is_valid(schema: &Value, document: &Value) -> bool {
    violations(schema, document).is_empty()
}
