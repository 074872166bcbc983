//! What evaluating a rule may cost at most, before it is evaluated (S24).
//!
//! The interpreter can be neither counted nor stopped. So the rule's tree is walked once with bounds instead of values: which
//! nodes of the document an expression may be, or how long and how heavy a value may be that the rule makes itself. A loop
//! multiplies what is inside it by the most elements its range can have. One unit took two nanoseconds for most rules and at most
//! sixteen for the worst when the constants were measured.
//!
//! The bound never calls the interpreter, and its own work is charged too, so refusing is as cheap as it promises.

mod calls;
mod shape;

use cel_interpreter::common::ast::{
    ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators as op,
};
use cel_interpreter::parser::Expression;
use serde_json::Value;

use super::check::{OLD_SELF, SELF};
use super::compile::Rule;
use super::pattern::RulePattern;
use shape::{Document, Shape, Size};

/// Units that the rules of one request may cost together: some 15 ms as a rule, 80 ms for the worst rules known.
pub const REQUEST: u64 = 5_000_000;

/// What is left for the rules of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    left: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: REQUEST }
    }
}

impl Budget {
    /// A budget of so many units.
    #[must_use]
    pub const fn of(units: u64) -> Self {
        Self { left: units }
    }

    /// True once a rule cost more than was left.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Units left.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }
}

/// A rule may cost more than is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "on this document the rule may cost more than the budget of a request: make the lists smaller, or nest fewer macros in the rule"
)]
pub struct OverBudget;

/// Takes the most that a rule may cost on these values from the budget.
///
/// # Errors
/// It is more than is left; then nothing is left.
pub fn charge(
    rule: &Rule,
    own: &Value,
    old: Option<&Value>,
    budget: &mut Budget,
) -> Result<(), OverBudget> {
    let mut bound = Bound {
        document: Document::new(own, old),
        own: Shape::node(own),
        old: old.map(Shape::node).unwrap_or_default(),
        patterns: rule.patterns(),
        scopes: Vec::new(),
        times: 1,
        left: budget.left,
    };
    // A rule that is none costs nothing: it is not evaluated.
    let outcome = rule
        .expression()
        .map_or(Ok(()), |expression| bound.visit(expression).map(drop));
    budget.left = if outcome.is_ok() { bound.left } else { 0 };
    outcome
}

/// A step of the interpreter: a node of the tree, a variable looked up in one scope, a small allocation.
const STEP: u64 = 4;
/// A call of a function of the environment, with its arguments collected and its overload found.
const CALL: u64 = 30;
/// One turn of a loop.
const TURN: u64 = 20;
/// How much more it takes to make a value than to look at it: memory that is new.
const MADE: u64 = 4;
/// How much more it takes to compare values that lie in the document.
const COMPARE: u64 = 3;
/// States of a regular expression whose automaton surely fits the engine's cache.
const CACHED: u64 = 10;
/// Compiling a regular expression, for each of its states.
const COMPILE: u64 = 100;

struct Bound<'d, 'r> {
    document: Document<'d>,
    own: Shape<'d>,
    old: Shape<'d>,
    patterns: &'r [RulePattern],
    scopes: Vec<(&'r str, Shape<'d>)>,
    /// How often what is visited now may be evaluated.
    times: u64,
    left: u64,
}

type Visited<'d> = Result<Shape<'d>, OverBudget>;

impl<'d, 'r> Bound<'d, 'r> {
    fn spend(&mut self, units: u64) -> Result<(), OverBudget> {
        self.left = self
            .left
            .checked_sub(units.saturating_mul(self.times))
            // Finding the bound is done once, but it is work too.
            .and_then(|left| left.checked_sub(self.document.take_work()))
            .ok_or(OverBudget)?;
        Ok(())
    }

    fn size(&mut self, shape: &Shape<'d>) -> Size {
        self.document.size(shape)
    }

    fn visit(&mut self, expression: &'r Expression) -> Visited<'d> {
        self.spend(STEP)?;
        match &expression.expr {
            Expr::Literal(literal) => Ok(literal_shape(literal)),
            Expr::Ident(name) => {
                self.spend(STEP * (self.scopes.len() as u64 + 1))?;
                Ok(self.variable(name))
            }
            Expr::Select(select) => {
                let operand = self.visit(&select.operand)?;
                self.spend(STEP * (self.scopes.len() as u64 + 2) + select.field.len() as u64 / 16)?;
                Ok(self.document.field(&operand, &select.field))
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.literal(list.elements.iter()),
            Expr::Map(map) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some(entry),
                    EntryExpr::StructField(_) => None,
                });
                self.literal(entries.flat_map(|entry| [&entry.key, &entry.value]))
            }
            Expr::Comprehension(of) => self.comprehension(of),
            Expr::Struct(_) | Expr::Unspecified => Ok(Shape::scalar()),
        }
    }

    /// A list, or keys and values in turn.
    fn literal(&mut self, parts: impl Iterator<Item = &'r Expression>) -> Visited<'d> {
        let mut items = Shape::default();
        let mut size = Size::default();
        for part in parts {
            let item = self.visit(part)?;
            size = size.with(self.size(&item));
            items = self.document.join(items, item);
        }
        self.spend(
            size.copy
                .saturating_mul(MADE)
                .saturating_add(size.length * STEP),
        )?;
        Ok(Shape::made(size, items))
    }

    fn variable(&self, name: &str) -> Shape<'d> {
        let scoped = self
            .scopes
            .iter()
            .rev()
            .find(|(variable, _)| *variable == name);
        if let Some((_, shape)) = scoped {
            return shape.clone();
        }
        match name.trim_start_matches('.') {
            SELF => self.own.clone(),
            OLD_SELF => self.old.clone(),
            _ => Shape::scalar(),
        }
    }

    fn comprehension(&mut self, of: &'r ComprehensionExpr) -> Visited<'d> {
        let range = self.visit(&of.iter_range)?;
        let size = self.size(&range);
        // Every element is copied into the variable.
        let turns = size.length.saturating_mul(TURN);
        self.spend(STEP.saturating_add(size.inside).saturating_add(turns))?;
        if size.length == 0 {
            return Ok(Shape::scalar());
        }
        let item = self.document.elements(&range);
        let outside = self.times;
        self.times = self.times.saturating_mul(size.length);
        self.scopes.push((&of.accu_var, Shape::scalar()));
        self.scopes.push((&of.iter_var, item));
        self.visit(&of.loop_cond)?;
        let result = match appended(of) {
            Some((guard, appended)) => {
                if let Some(guard) = guard {
                    self.visit(guard)?;
                }
                let appended = self.visit(appended)?;
                let element = self.size(&appended);
                self.spend(element.copy.saturating_mul(MADE).saturating_add(TURN))?;
                Shape::made(element.repeated(size.length), appended)
            }
            None => self.visit(&of.loop_step)?,
        };
        self.scopes.truncate(self.scopes.len() - 2);
        self.times = outside;
        Ok(result)
    }
}

/// The guard and the element of the step of `map` and `filter`, which the interpreter appends in place.
fn appended(of: &ComprehensionExpr) -> Option<(Option<&Expression>, &Expression)> {
    if !matches!(of.accu_init.expr, Expr::List(_)) {
        return None;
    }
    match &of.loop_step.expr {
        Expr::Call(call) if call.func_name == op::CONDITIONAL => match call.args.as_slice() {
            [guard, step, _] => Some((Some(guard), element_of(step)?)),
            _ => None,
        },
        _ => Some((None, element_of(&of.loop_step)?)),
    }
}

fn element_of(step: &Expression) -> Option<&Expression> {
    match &step.expr {
        Expr::Call(call) if call.func_name == op::ADD => match call.args.as_slice() {
            [
                _,
                Expression {
                    expr: Expr::List(list),
                    ..
                },
            ] => list.elements.first(),
            _ => None,
        },
        _ => None,
    }
}

fn literal_shape<'d>(literal: &LiteralValue) -> Shape<'d> {
    match literal {
        LiteralValue::String(text) => Shape::text(text.inner().len() as u64),
        LiteralValue::Bytes(bytes) => Shape::text(bytes.inner().len() as u64),
        _ => Shape::scalar(),
    }
}
