//! What calls of functions and operators cost, and what they may result in.

use cel_interpreter::common::ast::{CallExpr, Expr, LiteralValue, operators as op};
use cel_interpreter::parser::Expression;

use super::super::dialect;
use super::super::pattern::{RulePattern, STATES};
use super::shape::{Shape, Size};
use super::{Bound, CACHED, CALL, COMPARE, COMPILE, MADE, STEP, Visited};

impl<'d, 'r> Bound<'d, 'r> {
    pub(super) fn call(&mut self, call: &'r CallExpr) -> Visited<'d> {
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        for argument in call.target.as_deref().into_iter().chain(&call.args) {
            arguments.push(self.visit(argument)?);
        }
        let name = call.func_name.trim_start_matches('.');
        match (name, arguments.as_slice()) {
            (op::LOGICAL_AND | op::LOGICAL_OR | op::LOGICAL_NOT | op::NOT_STRICTLY_FALSE, _) => {
                self.spend(2 * STEP)?;
                Ok(Shape::scalar())
            }
            (op::CONDITIONAL, [_, one, two]) => Ok(self.document.join(one.clone(), two.clone())),
            (op::INDEX, [operand, index]) => self.index(operand, index, &call.args),
            (dialect::EQUALS | dialect::DIFFERS, [one, two]) => {
                let compare = self
                    .size(one)
                    .compare
                    .saturating_add(self.size(two).compare);
                self.spend(compare.saturating_mul(COMPARE).saturating_add(CALL))?;
                Ok(Shape::scalar())
            }
            (dialect::CONTAINS, [value, range]) => {
                let (value, range) = (self.size(value), self.size(range));
                let element = value.compare.saturating_mul(COMPARE).saturating_add(STEP);
                self.spend(range.length.saturating_mul(element).saturating_add(CALL))?;
                Ok(Shape::scalar())
            }
            (op::ADD, [one, two]) => {
                let size = self.size(one).plus(self.size(two));
                self.spend(size.copy.saturating_mul(MADE).saturating_add(STEP))?;
                let (one, two) = (self.document.elements(one), self.document.elements(two));
                let items = self.document.join(one, two);
                Ok(Shape::made(size, items))
            }
            (dialect::MATCHES, [text, pattern]) => self.matches(text, pattern, call.args.last()),
            (dialect::RANGE | dialect::BACKWARDS, [range]) => self.range(range),
            ("dyn" | dialect::VERDICT, [value]) => {
                self.spend(CALL)?;
                Ok(value.clone())
            }
            (dialect::STRING | "bytes", [value]) => {
                let length = self.size(value).length.saturating_add(40);
                self.spend(CALL + length / 8)?;
                Ok(Shape::text(length))
            }
            _ => self.plain(name, &arguments),
        }
    }

    /// Functions and operators that look at their arguments once and make nothing big.
    fn plain(&mut self, name: &str, arguments: &[Shape<'d>]) -> Visited<'d> {
        let operator = name.starts_with(['_', '-']);
        let mut units = match name {
            _ if operator => CALL / 2,
            "duration" | "timestamp" => 3 * CALL,
            _ if name.starts_with("get") => 2 * CALL,
            _ => CALL,
        };
        for argument in arguments {
            let size = self.size(argument);
            // What does not fit is quoted in the interpreter's error, whole.
            units = units.saturating_add(size.copy);
            if !operator {
                units = units.saturating_add(size.length / 4);
            }
        }
        self.spend(units)?;
        Ok(Shape::scalar())
    }

    fn index(
        &mut self,
        operand: &Shape<'d>,
        index: &Shape<'d>,
        written: &[Expression],
    ) -> Visited<'d> {
        let literal = match written.get(1).map(|index| &index.expr) {
            Some(Expr::Literal(LiteralValue::String(key))) => Some(key.inner()),
            _ => None,
        };
        let (operand_size, key) = (self.size(operand), self.size(index));
        // A fraction as an index quotes the list in the error.
        let quoted = if literal.is_some() {
            0
        } else {
            operand_size.copy
        };
        self.spend(
            (3 * STEP)
                .saturating_add(quoted)
                .saturating_add(key.compare),
        )?;
        Ok(match literal {
            Some(key) => self.document.field(operand, key),
            None => self.document.inside(operand),
        })
    }

    fn matches(
        &mut self,
        text: &Shape<'d>,
        pattern: &Shape<'d>,
        written: Option<&Expression>,
    ) -> Visited<'d> {
        let literal = match written.map(|pattern| &pattern.expr) {
            Some(Expr::Ident(name)) => {
                dialect::pattern_number(name).and_then(|number| self.patterns.get(number))
            }
            _ => None,
        };
        let states = if let Some(pattern) = literal {
            // Compiled once, however often it is asked.
            let states = pattern.states().unwrap_or(1);
            let times = std::mem::replace(&mut self.times, 1);
            let compiled = self.spend(states * COMPILE);
            self.times = times;
            compiled?;
            states
        } else {
            let states = pattern.texts().map_or(STATES, |texts| {
                let states = texts.map(|text| RulePattern::new(text).states().unwrap_or(1));
                states.max().unwrap_or(1)
            });
            self.spend(CALL.saturating_add(states * COMPILE))?;
            states
        };
        let length = self.size(text).length;
        // Few states stay within the engine's cache, where the length alone counts.
        let per_byte = if states <= CACHED {
            length / 4
        } else {
            length.saturating_mul(states)
        };
        self.spend(CALL.saturating_add(per_byte))?;
        Ok(Shape::scalar())
    }

    /// What a macro goes through: the list itself, a copy of it backwards, or the sorted keys of a map.
    fn range(&mut self, range: &Shape<'d>) -> Visited<'d> {
        let size = self.size(range);
        let sorting = if range.may_be_map() {
            u64::from(u64::BITS - size.length.leading_zeros())
        } else {
            0
        };
        let each = size.length.saturating_mul(sorting + STEP);
        self.spend(CALL.saturating_add(size.inside).saturating_add(each))?;
        let elements = self.document.elements(range);
        let size = Size {
            copy: size.inside,
            ..size
        };
        Ok(Shape::made(size, elements))
    }
}
