//! The outcome of one rule on one value: the table of section 5.3.
//!
//! The caller has bounded the cost ([`super::cost`]) and runs on a thread with enough stack. Texts of errors name types and
//! functions, never values: settings may be nobody else's business.

use cel_interpreter::common::value::CowVal;
use cel_interpreter::context::VariableResolver;
use cel_interpreter::{Context, ExecutionError, Value};
use serde_json::Value as Json;
use std::sync::Arc;

use super::check::{OLD_SELF, SELF};
use super::compile::Rule;
use super::dialect::{self, ENV};
use super::values::{Boxed, value};

/// What a rule says of a value, when it says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// True.
    Passed,
    /// False: its message is reported.
    Failed,
    /// A key that the rule looks at is missing (S10), or it is a transition rule and there is no old value.
    NotApplicable,
}

/// Why a rule says nothing at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// The interpreter stopped.
    #[error("{0}")]
    Failed(String),
    /// The result is neither true nor false.
    #[error("the result is a {0}, not a boolean")]
    NotBoolean(String),
}

/// Evaluates a rule that was checked for values of these kinds.
///
/// # Errors
/// Everything that is neither true, false nor a missing key.
pub fn evaluate(rule: &Rule, own: &Json, old: Option<&Json>) -> Result<Outcome, EvaluateError> {
    if rule.is_transition() && old.is_none() {
        return Ok(Outcome::NotApplicable);
    }
    let names = Names {
        rule,
        own: value(own),
        old: old.map(value),
    };
    let mut context = Context::with_env(Arc::clone(&ENV));
    context.set_variable_resolver(&names);
    // Not `resolve_val`, which would be compiled into this crate, without optimisation and with huge frames in a debug build.
    let expression = rule
        .expression()
        .map_err(|error| EvaluateError::Failed(error.to_string()))?;
    match Value::resolve(expression, &context) {
        Ok(Value::Bool(true)) => Ok(Outcome::Passed),
        Ok(Value::Bool(false)) => Ok(Outcome::Failed),
        Ok(Value::String(name)) => Err(EvaluateError::NotBoolean(type_name(&name).to_owned())),
        Ok(other) => Err(EvaluateError::NotBoolean(value_type(&other))),
        Err(error) if is_missing_key(&error) => Ok(Outcome::NotApplicable),
        Err(error) => Err(EvaluateError::Failed(describe(&error))),
    }
}

/// What an expression finds under a name.
struct Names<'d> {
    rule: &'d Rule,
    own: Boxed<'d>,
    old: Option<Boxed<'d>>,
}

impl VariableResolver for Names<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        match variable {
            SELF => Some(CowVal::Borrowed(self.own.as_ref())),
            OLD_SELF => self.old.as_ref().map(|old| CowVal::Borrowed(old.as_ref())),
            other => {
                let pattern = self.rule.patterns().get(dialect::pattern_number(other)?)?;
                Some(CowVal::Borrowed(pattern))
            }
        }
    }
}

/// A missing key of a map, or selecting and indexing on `null` or a scalar, which the reference reports with the same words.
fn is_missing_key(error: &ExecutionError) -> bool {
    match error {
        ExecutionError::NoSuchKey(_) => true,
        ExecutionError::NoSuchOverload(overload) => {
            matches!(overload.function(), "_._" | "_[_]")
                && overload
                    .argument_types()
                    .first()
                    .is_some_and(|operand| !matches!(operand.as_str(), "list" | "map"))
        }
        _ => false,
    }
}

/// An error without the values that the interpreter's own text quotes.
fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchOverload(overload) => {
            let types: Vec<_> = overload
                .argument_types()
                .iter()
                .map(|name| type_name(name))
                .collect();
            format!(
                "`{}` does not take ({})",
                dialect::shown(overload.function()),
                types.join(", ")
            )
        }
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            format!(
                "`{operator}` does not take ({}, {})",
                value_type(left),
                value_type(right)
            )
        }
        ExecutionError::IndexOutOfBounds(_) => "index out of range".to_owned(),
        ExecutionError::UnsupportedIndex(index, _) => {
            format!("a list cannot be indexed by such a {}", value_type(index))
        }
        ExecutionError::UnsupportedKeyType(_) => "such a value cannot be a key".to_owned(),
        ExecutionError::UnexpectedType { got, want } => {
            format!("a {} stands where {want} is needed", type_name(got))
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            format!(
                "a {} and a {} have no order",
                value_type(left),
                value_type(right)
            )
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(operator, ..) => format!("`{operator}` overflows"),
        ExecutionError::DuplicateKey(_) => "a map repeats a key".to_owned(),
        ExecutionError::FunctionError { function, message } if function == "matches" => {
            message.clone()
        }
        ExecutionError::FunctionError { function, .. } => {
            format!("`{function}` cannot read its argument")
        }
        ExecutionError::UndeclaredReference(name) => format!("there is no `{name}`"),
        _ => "the evaluation failed".to_owned(),
    }
}

fn value_type(value: &Value) -> String {
    match value.type_of() {
        cel_interpreter::objects::ValueType::Float => "double".to_owned(),
        other => other.to_string(),
    }
}

fn type_name(name: &str) -> &str {
    match name {
        "null_type" => "null",
        "google.protobuf.Duration" => "duration",
        "google.protobuf.Timestamp" => "timestamp",
        other => other,
    }
}
