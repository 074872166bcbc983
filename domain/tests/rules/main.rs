//! Rules of `x-deckhouse-validations`, one expression at a time (section 5.3).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod compiling;
mod costs;
mod evaluating;
mod hostile;
mod outcomes;
mod parsers;
mod parsing;
mod scalars;
mod texts;
mod walking;

use domain::settings::rules::check::Container;
use domain::settings::rules::compile::Rule;
use domain::settings::rules::cost::{Budget, charge};
use domain::settings::rules::evaluate::{EvaluateError, Outcome, evaluate};
use domain::settings::rules::limits::RuleLimits;
use serde_json::{Value, json};

/// The outcome in one word: `pass`, `fail`, `skip`, `limit`, `compile`, `eval`, `non_bool`.
fn outcome(expression: &str, own: &Value, old: Option<&Value>) -> &'static str {
    let rule = match Rule::parse(expression, "message", &RuleLimits::DEFAULT) {
        Ok(rule) => rule,
        Err(error) if error.is_limit() => return "limit",
        Err(_) => return "compile",
    };
    let kinds = (
        Container::of(own),
        old.map_or(Container::Other, Container::of),
    );
    if rule.check(kinds.0, kinds.1).is_err() {
        return "compile";
    }

    if charge(&rule, own, old, &mut Budget::default()).is_err() {
        return "limit";
    }
    match evaluate(&rule, own, old) {
        Ok(Outcome::Passed) => "pass",
        Ok(Outcome::Failed) => "fail",
        Ok(Outcome::NotApplicable) => "skip",
        Err(EvaluateError::Failed(_)) => "eval",
        Err(EvaluateError::NotBoolean(_)) => "non_bool",
    }
}

/// Every expression has this outcome on this value.
fn all(expected: &str, own: &Value, expressions: &[&str]) {
    for expression in expressions {
        assert_eq!(outcome(expression, own, None), expected, "{expression}");
    }
}

/// A document with a value of every kind.
fn sample() -> Value {
    json!({
        "n": 3, "half": 0.5, "zero": 0, "neg": -2, "big": 1_500_000, "s": "abc", "word": "πέντε", "empty": "", "t": true, "f": false,
        "nil": null, "l": [1, 2, 3], "names": ["a", "b"], "none": [], "m": {"a": 1, "b": 2}, "o": {"x": {"y": 7}},
        "objects": [{"s": 2}, {"s": 5}], "when": "2024-02-29T12:30:45.5Z", "span": "1h30m", "key-with-dash": 1
    })
}
