//! A document against a closed schema: draft 4 as section 5.2 reads it, with every violation and its path.
//!
//! Rules, grants and immutability are checked elsewhere. The work is bounded (S20): a schema that makes one document cost
//! more than [`Limits::steps`] comparisons is an answer of its own, never a stall.

mod composition;
pub mod format;
mod lists;
mod objects;
mod report;
mod scalars;

pub use report::{Finding, message};
use report::{First, Report};

use serde_json::Value;

use super::document::{self, Path};
use super::limits::Limits;
use super::schema::Schema;
use super::schema::node::{Node, NodeId, Type, Types};
use crate::violation::{Kind, Violation};

/// All violations of a document, in the order of the document; paths are relative to it, the root's is empty.
#[must_use]
pub fn validate(document: &Value, schema: &Schema, limits: &Limits) -> Vec<Violation> {
    let found = findings(document, schema, limits);
    found.into_iter().map(|finding| finding.violation).collect()
}

/// The same, with the place of each as a JSON pointer.
#[must_use]
pub fn findings(document: &Value, schema: &Schema, limits: &Limits) -> Vec<Finding> {
    let mut report = report::All::new(limits.violations);
    let mut validator = Validator::new(schema, limits);
    validator.check(schema.root(), document, &Path::Root, &mut report);
    report.finish(validator.exhausted)
}

struct Validator<'s> {
    schema: &'s Schema,
    limits: &'s Limits,
    steps: usize,
    depth: usize,
    exhausted: bool,
    /// Recursive definitions already entered for the value in work: meeting one again adds nothing.
    here: Vec<NodeId>,
}

impl<'s> Validator<'s> {
    const fn new(schema: &'s Schema, limits: &'s Limits) -> Self {
        Self {
            schema,
            limits,
            steps: 0,
            depth: 0,
            exhausted: false,
            here: Vec::new(),
        }
    }

    /// Counts work; false once the limit is reached, and then nothing more is checked.
    fn charge(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.limits.steps || self.depth > self.limits.walk_depth {
            self.exhausted = true;
        }
        !self.exhausted
    }

    /// Checks one value, whatever node led here.
    fn check<R: Report>(&mut self, node: &Node, value: &Value, path: &Path<'_>, report: &mut R) {
        if report.is_decided() || !self.charge(1) {
            return;
        }
        self.depth += 1;
        if node.reference.is_none() {
            self.check_resolved(node, value, path, report);
        } else {
            let target = self.schema.resolve(node);
            if !self.here.contains(&target.id) {
                self.here.push(target.id);
                self.check_resolved(target, value, path, report);
                self.here.pop();
            }
        }
        self.depth -= 1;
    }

    /// Checks a value inside the one in work, so that definitions may be entered again.
    fn check_inside<R: Report>(
        &mut self,
        node: &Node,
        value: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        let here = std::mem::take(&mut self.here);
        self.check(node, value, path, report);
        self.here = here;
    }

    fn check_resolved<R: Report>(
        &mut self,
        node: &Node,
        value: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        if !is_of_type(&node.types, node.nullable, value) {
            report.add(path, Kind::Invalid, || {
                format!(
                    "must be of type {}: \"{}\"",
                    node.types.names().join(","),
                    type_name(value)
                )
            });
            return;
        }
        self.check_enum(node, value, path, report);
        match value {
            Value::String(text) => {
                if let Some(rules) = &node.text {
                    self.check_text(rules, text, path, report);
                }
            }
            Value::Number(number) => {
                if let Some(rules) = &node.number {
                    scalars::check_number(rules, number, path, report);
                }
            }
            Value::Array(list) => {
                if let Some(rules) = &node.list {
                    self.check_list(rules, list, path, report);
                }
            }
            Value::Object(object) => {
                if let Some(rules) = &node.object {
                    self.check_object(rules, object, value, path, report);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
        if let Some(branches) = &node.branches {
            self.check_branches(branches, value, path, report);
        }
    }

    fn check_enum<R: Report>(
        &mut self,
        node: &Node,
        value: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        let Some(values) = node
            .enumeration
            .as_deref()
            .filter(|values| !values.is_empty())
        else {
            return;
        };
        if !self.charge(values.len() / 8) {
            return;
        }
        if !values.iter().any(|allowed| document::equal(allowed, value)) {
            report.add(path, Kind::Unsupported, || {
                let shown: Vec<String> = values.iter().map(scalars::shown).collect();
                format!("should be one of [{}]", shown.join(" "))
            });
        }
    }

    /// True if the value satisfies the node; stops at the first violation.
    fn satisfies(&mut self, node: &Node, value: &Value, path: &Path<'_>) -> bool {
        let mut first = First::default();
        self.check(node, value, path, &mut first);
        !first.found
    }
}

/// No coercion: a text is never a number. A whole number within ±2^53 is an integer, however it is written.
fn is_of_type(types: &Types, nullable: bool, value: &Value) -> bool {
    if types.is_any() {
        return true;
    }
    match value {
        Value::Null => nullable || types.contains(Type::Null),
        Value::Bool(_) => types.contains(Type::Boolean),
        Value::String(_) => types.contains(Type::String),
        Value::Array(_) => types.contains(Type::Array),
        Value::Object(_) => types.contains(Type::Object),
        Value::Number(number) => {
            types.contains(Type::Number)
                || (types.contains(Type::Integer) && scalars::is_integer(number))
        }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if scalars::is_integer(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
