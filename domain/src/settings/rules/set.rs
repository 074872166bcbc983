//! The rules of one closed schema, kept by node and each compiled once (section 5.3, S9, S20).
//!
//! Only nodes that documents reach through `properties`, `items`, `additionalProperties` and `patternProperties` count; rules in
//! branches are never compiled. This file evaluates nothing.

use std::collections::HashMap;

use super::check::Container;
use super::compile::{CompileError, Rule};
use super::decode::{ConfigError, decode};
use super::limits::RuleLimits;
use crate::settings::schema::Schema;
use crate::settings::schema::node::{Node, NodeId};

/// The schema has more rules than [`RuleLimits::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema has more than {most} rules: merge some")]
pub struct TooManyRules {
    /// The limit.
    pub most: usize,
}

/// A rule that can never be evaluated; it refuses publication (section 3.5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenRule {
    /// The extension is no list of rules.
    #[error("{0}")]
    Config(ConfigError),
    /// The expression is no rule, or can never work on the values that the schema allows.
    #[error("rule `{expression}`: {error}")]
    Compile {
        /// The expression.
        expression: String,
        /// Why.
        error: CompileError,
    },
}

/// The rules of one schema.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    by_node: HashMap<NodeId, Result<Box<[Rule]>, ConfigError>>,
    /// Nodes at or below which there are rules; by number.
    leads: Vec<bool>,
}

impl Rules {
    /// Collects the rules of a schema. Each is compiled when its node is first reached, and what is wrong with it is reported then.
    ///
    /// # Errors
    /// There are too many.
    pub fn collect(schema: &Schema, limits: &RuleLimits) -> Result<Self, TooManyRules> {
        let mut rules = Self {
            by_node: HashMap::new(),
            leads: vec![false; schema.nodes() as usize],
        };
        let mut count = 0;
        for tree in schema.trees() {
            rules.take(tree, limits, &mut count);
            if count > limits.rules {
                return Err(TooManyRules { most: limits.rules });
            }
        }
        // A reference leads wherever its definition does; definitions may refer to each other in circles.
        let mut changed = !rules.by_node.is_empty();
        while changed {
            changed = false;
            for tree in schema.trees() {
                rules.mark(schema, tree, &mut changed);
            }
        }
        Ok(rules)
    }

    /// True if there is no rule at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    /// Compiles those that were not needed yet, so that no later request pays for it.
    pub fn compile(&self) {
        for rule in self.all() {
            // What is wrong with a rule is reported where it is reached.
            let _compiled = rule.expression();
        }
    }

    /// True if every rule was compiled.
    #[must_use]
    pub fn are_compiled(&self) -> bool {
        self.all().all(Rule::is_compiled)
    }

    fn all(&self) -> impl Iterator<Item = &Rule> {
        self.by_node.values().flatten().flat_map(|rules| &**rules)
    }

    /// True if the node, or a node below it, has rules.
    pub(super) fn leads(&self, node: &Node) -> bool {
        self.leads.get(node.id.0 as usize).copied().unwrap_or(false)
    }

    /// The rules of a node, if it has any.
    pub(super) fn of(&self, node: &Node) -> Option<&Result<Box<[Rule]>, ConfigError>> {
        self.by_node.get(&node.id)
    }

    /// Rules that can never be evaluated on the values that their node's `type` allows, in the order of the schema.
    #[must_use]
    pub fn broken(&self, schema: &Schema) -> Vec<BrokenRule> {
        let mut found = Vec::new();
        for tree in schema.trees() {
            self.collect_broken(tree, &mut found);
        }
        found
    }

    fn take(&mut self, node: &Node, limits: &RuleLimits, count: &mut usize) {
        // What stands beside a reference was laid over its definition, in a tree of its own.
        if node.reference.is_some() {
            return;
        }
        if let Some(extension) = node.extensions.validations() {
            *count += extension.as_array().map_or(1, Vec::len);
            if *count > limits.rules {
                return;
            }
            self.by_node.insert(node.id, decode(extension, limits));
        }
        each_reached(node, &mut |child| self.take(child, limits, count));
    }

    fn mark(&mut self, schema: &Schema, node: &Node, changed: &mut bool) -> bool {
        let target = schema.resolve(node);
        let mut leads = self.by_node.contains_key(&node.id) || self.leads(target);
        each_reached(node, &mut |child| {
            leads |= self.mark(schema, child, changed);
        });
        if let Some(mark) = self.leads.get_mut(node.id.0 as usize) {
            *changed |= leads && !*mark;
            *mark |= leads;
        }
        leads
    }

    fn collect_broken(&self, node: &Node, found: &mut Vec<BrokenRule>) {
        match self.of(node) {
            None => {}
            Some(Err(error)) => found.push(BrokenRule::Config(error.clone())),
            Some(Ok(rules)) => found.extend(rules.iter().filter_map(|rule| broken(rule, node))),
        }
        each_reached(node, &mut |child| self.collect_broken(child, found));
    }
}

/// Why a rule can never be evaluated: it does not compile for any kind of value that the node's type allows.
fn broken(rule: &Rule, node: &Node) -> Option<BrokenRule> {
    let names: Vec<&str> = node.types.names().iter().map(AsRef::as_ref).collect();
    let error = rule.check_any(&Container::allowed(&names)).err()?;
    Some(BrokenRule::Compile {
        expression: rule.source().to_owned(),
        error,
    })
}

/// The nodes below a node that documents reach (S9).
fn each_reached(node: &Node, visit: &mut dyn FnMut(&Node)) {
    node.properties().values().for_each(|node| visit(node));
    node.patterns().for_each(|(_, node)| visit(node));
    node.additional_schema().into_iter().for_each(&mut *visit);
    node.every_item().into_iter().for_each(visit);
}
