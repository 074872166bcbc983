//! All rules of a schema on one document (section 5.3): where they stand, in which order, with which old value.
//!
//! For an object first what is nested, then the node's own rules in their order; all messages are collected, the first error
//! ends it. Rules below list elements see no old value, those below map entries the one under the same key (S9).

use serde_json::Value;

use super::check::Container;
use super::compile::Rule;
use super::cost::{Budget, charge};
use super::evaluate::{EvaluateError, Outcome, evaluate};
use super::set::Rules;
use crate::settings::document::Path;
use crate::settings::limits::Limits;
use crate::settings::schema::Schema;
use crate::settings::schema::node::Node;
use crate::violation::{FieldPath, Kind, Violation};

/// Which row of the table of section 5.3 an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The extension is no list of rules.
    Config,
    /// The expression does not parse or type-check on these values.
    Compile,
    /// The evaluation failed.
    Eval,
    /// The result is no boolean.
    NonBool,
    /// A limit of S20 or the budget of S24.
    Limit,
}

/// A rule that could not be evaluated: the document is refused just as by a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// Where the rule stands in the document.
    pub path: FieldPath,
    /// What kind of error it is.
    pub kind: ErrorKind,
    /// The expression, if the error is not about the list of rules itself.
    pub expression: Option<String>,
    /// What is wrong.
    pub text: String,
}

impl RuleError {
    /// The error as a violation of the document.
    #[must_use]
    pub fn violation(&self) -> Violation {
        let kind = if self.kind == ErrorKind::Limit {
            Kind::TooLong
        } else {
            Kind::Invalid
        };
        Violation::new(self.path.clone(), kind, self.described())
    }

    fn described(&self) -> String {
        match &self.expression {
            Some(expression) => format!("rule `{expression}`: {}", self.text),
            None => self.text.clone(),
        }
    }
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.described()),
            path => write!(f, "{path}: {}", self.described()),
        }
    }
}

impl std::error::Error for RuleError {}

/// The messages of all rules that say false, in the order of section 5.3. `old` is the document before, if there is one.
///
/// # Errors
/// The first rule that could not be evaluated, or may cost more than is left of the budget (S24).
pub fn evaluate_all(
    schema: &Schema,
    rules: &Rules,
    document: &Value,
    old: Option<&Value>,
    budget: &mut Budget,
    limits: &Limits,
) -> Result<Vec<Violation>, RuleError> {
    let mut walk = Walk {
        schema,
        rules,
        budget,
        limits,
        depth: 0,
        messages: Vec::new(),
    };
    walk.visit(schema.root(), document, old, &Path::Root)?;
    Ok(walk.messages)
}

struct Walk<'a, 'b> {
    schema: &'a Schema,
    rules: &'a Rules,
    budget: &'b mut Budget,
    limits: &'a Limits,
    depth: usize,
    messages: Vec<Violation>,
}

impl<'a> Walk<'a, '_> {
    fn visit(
        &mut self,
        node: &'a Node,
        own: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
    ) -> Result<(), RuleError> {
        let node = self.schema.resolve(node);
        if !self.rules.leads(node) {
            return Ok(());
        }
        if self.depth > self.limits.settings_depth {
            return Err(error(
                path,
                ErrorKind::Limit,
                None,
                "the document is nested too deeply".to_owned(),
            ));
        }
        self.depth += 1;
        // `null` is no old value.
        let old = old.filter(|old| !old.is_null());
        match own {
            Value::Object(fields) => {
                for (key, value) in fields {
                    if let Some(child) = node
                        .properties()
                        .get(key)
                        .map(AsRef::as_ref)
                        .or_else(|| node.other_key(key))
                    {
                        self.visit(
                            child,
                            value,
                            old.and_then(|old| old.get(key)),
                            &path.key(key),
                        )?;
                    }
                }
            }
            Value::Array(items) => {
                if let Some(child) = node.every_item() {
                    for (position, item) in items.iter().enumerate() {
                        self.visit(child, item, None, &path.index(position))?;
                    }
                }
            }
            _ => {}
        }
        self.depth -= 1;
        match self.rules.of(node) {
            None => Ok(()),
            Some(Err(problem)) => Err(error(path, ErrorKind::Config, None, problem.to_string())),
            Some(Ok(rules)) => rules
                .iter()
                .try_for_each(|rule| self.report(rule, own, old, path)),
        }
    }

    fn report(
        &mut self,
        rule: &Rule,
        own: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
    ) -> Result<(), RuleError> {
        match self.rule(rule, own, old) {
            Ok(Outcome::Passed | Outcome::NotApplicable) => Ok(()),
            Ok(Outcome::Failed) => {
                if self.messages.len() < self.limits.violations {
                    let path = FieldPath::new(path.to_string());
                    self.messages
                        .push(Violation::new(path, Kind::Invalid, rule.message()));
                }
                Ok(())
            }
            Err((kind, text)) => Err(error(path, kind, Some(rule.source()), text)),
        }
    }

    fn rule(
        &mut self,
        rule: &Rule,
        own: &Value,
        old: Option<&Value>,
    ) -> Result<Outcome, (ErrorKind, String)> {
        rule.check(
            Container::of(own),
            old.map_or(Container::Other, Container::of),
        )
        .map_err(|problem| {
            let kind = if problem.is_limit() {
                ErrorKind::Limit
            } else {
                ErrorKind::Compile
            };
            (kind, problem.to_string())
        })?;
        if rule.is_transition() && old.is_none() {
            return Ok(Outcome::NotApplicable);
        }
        charge(rule, own, old, self.budget)
            .map_err(|problem| (ErrorKind::Limit, problem.to_string()))?;
        evaluate(rule, own, old).map_err(|problem| {
            let kind = match problem {
                EvaluateError::Failed(_) => ErrorKind::Eval,
                EvaluateError::NotBoolean(_) => ErrorKind::NonBool,
            };
            (kind, problem.to_string())
        })
    }
}

fn error(path: &Path<'_>, kind: ErrorKind, expression: Option<&str>, text: String) -> RuleError {
    RuleError {
        path: FieldPath::new(path.to_string()),
        kind,
        expression: expression.map(ToOwned::to_owned),
        text,
    }
}
