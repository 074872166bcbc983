//! One document against its schema and its rules together (section 5.1).
//!
//! Both are run and both reported. An error of a rule on a document that already violates the schema is left out: a value of a
//! wrong type is its usual cause.

use serde_json::Value;

use super::limits::Limits;
use super::rules::cost::Budget;
use super::rules::set::Rules;
use super::rules::walk::evaluate_all;
use super::schema::Schema;
use super::validate::validate;
use crate::violation::Violation;

/// Everything that is wrong with a document; paths are relative to it. Without an old document transition rules are skipped.
#[must_use]
pub fn conform(
    document: &Value,
    old: Option<&Value>,
    schema: &Schema,
    rules: &Rules,
    budget: &mut Budget,
    limits: &Limits,
) -> Vec<Violation> {
    let mut violations = validate(document, schema, limits);
    match evaluate_all(schema, rules, document, old, budget, limits) {
        Ok(messages) => violations.extend(messages),
        Err(error) if violations.is_empty() => violations.push(error.violation()),
        Err(_) => {}
    }
    violations
}
