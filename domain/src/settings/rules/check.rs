//! Whether an expression can work at all: names, functions, numbers of arguments, static types (section 5.3, `compile`).
//!
//! Says what the type checker of CEL says of an expression over `self` and `oldSelf`, whose types come from the values: an
//! object is a `map(string, dyn)`, an array a `list(dyn)`, anything else and a missing old value `dyn`. It evaluates nothing.

use cel_interpreter::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, LiteralValue, SelectExpr,
    operators,
};
use cel_interpreter::parser::Expression;
use serde_json::Value;

use super::functions::{is_type_name, overloads};
use super::types::{Bound, Type};

/// The name of the value a rule stands on.
pub const SELF: &str = "self";
/// The name of the value at the same path in the old document.
pub const OLD_SELF: &str = "oldSelf";

/// Which container a value is, as far as the type of `self` or `oldSelf` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// An object: `map(string, dyn)`.
    Object,
    /// An array: `list(dyn)`.
    Array,
    /// Anything else, or nothing: `dyn`.
    Other,
}

impl Container {
    /// Of a JSON value.
    #[must_use]
    pub const fn of(value: &Value) -> Self {
        match value {
            Value::Object(_) => Self::Object,
            Value::Array(_) => Self::Array,
            _ => Self::Other,
        }
    }

    /// The kinds of value that a schema's `type` allows; no name allows all.
    #[must_use]
    pub fn allowed(types: &[&str]) -> Vec<Self> {
        let allows = |name: &str| types.is_empty() || types.contains(&name);
        let mut kinds = Vec::new();
        if allows("object") {
            kinds.push(Self::Object);
        }
        if allows("array") {
            kinds.push(Self::Array);
        }
        if types.is_empty()
            || types
                .iter()
                .any(|name| !matches!(*name, "object" | "array"))
        {
            kinds.push(Self::Other);
        }
        kinds
    }

    fn as_type(self) -> Type {
        match self {
            Self::Object => Type::map(Type::String, Type::Dyn),
            Self::Array => Type::list(Type::Dyn),
            Self::Other => Type::Dyn,
        }
    }
}

/// Why an expression can never work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// A name that is neither `self`, `oldSelf`, a macro's variable nor a type.
    #[error("there is no `{0}`: a rule sees `self` and `oldSelf`")]
    Name(String),
    /// A function that the standard library does not have.
    #[error("there is no function `{0}` in the standard library of CEL")]
    Function(String),
    /// A call with arguments that no overload takes.
    #[error("`{function}` does not take ({arguments})")]
    Arguments {
        /// The function or operator.
        function: String,
        /// The types of the arguments.
        arguments: String,
    },
    /// `x.f` on what has no fields.
    #[error("`.{field}` cannot be selected on a {operand}")]
    Field {
        /// The field.
        field: String,
        /// The type of the operand.
        operand: Type,
    },
    /// A macro over what has no elements.
    #[error("a {0} has no elements to go through")]
    Range(Type),
    /// Syntax of CEL that section 5.3 leaves out.
    #[error("{0} cannot be used in a rule")]
    Syntax(&'static str),
}

/// Checks an expression for values of these kinds.
///
/// # Errors
/// The first thing, from left to right, that can never work.
pub fn check(expression: &Expression, own: Container, old: Container) -> Result<(), CheckError> {
    let mut checker = Checker {
        own: own.as_type(),
        old: old.as_type(),
        scopes: Vec::new(),
    };
    checker.expression(expression).map(drop)
}

/// True if the tree mentions `oldSelf` anywhere: the rule is a transition rule (section 5.3).
#[must_use]
pub fn mentions_old(expression: &Expression) -> bool {
    match &expression.expr {
        Expr::Ident(name) => name.trim_start_matches('.') == OLD_SELF,
        Expr::Call(call) => {
            call.target.iter().any(|target| mentions_old(target))
                || call.args.iter().any(mentions_old)
        }
        Expr::Comprehension(macro_) => [
            &macro_.iter_range,
            &macro_.accu_init,
            &macro_.loop_cond,
            &macro_.loop_step,
            &macro_.result,
        ]
        .into_iter()
        .any(mentions_old),
        Expr::List(list) => list.elements.iter().any(mentions_old),
        Expr::Map(map) => map
            .entries
            .iter()
            .any(|entry| entry_mentions_old(&entry.expr)),
        Expr::Struct(message) => message
            .entries
            .iter()
            .any(|entry| entry_mentions_old(&entry.expr)),
        Expr::Select(select) => mentions_old(&select.operand),
        Expr::Literal(_) | Expr::Unspecified => false,
    }
}

fn entry_mentions_old(entry: &EntryExpr) -> bool {
    match entry {
        EntryExpr::MapEntry(entry) => mentions_old(&entry.key) || mentions_old(&entry.value),
        EntryExpr::StructField(field) => mentions_old(&field.value),
    }
}

struct Checker<'e> {
    own: Type,
    old: Type,
    /// Variables of the macros around the cursor, innermost last.
    scopes: Vec<(&'e str, Type)>,
}

impl<'e> Checker<'e> {
    fn expression(&mut self, expression: &'e Expression) -> Result<Type, CheckError> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(literal_type(literal)),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                if !list.optional_indices.is_empty() {
                    return Err(CheckError::Syntax("an optional element"));
                }
                self.common(&list.elements).map(Type::list)
            }
            Expr::Map(map) => self.map(&map.entries),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) => Err(CheckError::Syntax("a message literal")),
            Expr::Unspecified => Err(CheckError::Syntax("an empty expression")),
        }
    }

    fn variable(&self, name: &str) -> Option<Type> {
        if let Some(absolute) = name.strip_prefix('.') {
            return self.root(absolute);
        }
        let scoped = self
            .scopes
            .iter()
            .rev()
            .find(|(variable, _)| *variable == name);
        scoped.map_or_else(|| self.root(name), |(_, kind)| Some(kind.clone()))
    }

    fn root(&self, name: &str) -> Option<Type> {
        match name {
            SELF => Some(self.own.clone()),
            OLD_SELF => Some(self.old.clone()),
            _ => None,
        }
    }

    fn name(&self, name: &str) -> Result<Type, CheckError> {
        if let Some(found) = self.variable(name) {
            return Ok(found);
        }
        if is_type_name(name.trim_start_matches('.')) {
            return Ok(Type::Type);
        }
        Err(CheckError::Name(name.to_owned()))
    }

    fn select(&mut self, select: &'e SelectExpr) -> Result<Type, CheckError> {
        if !select.test && self.is_qualified_type(select) {
            return Ok(Type::Type);
        }
        let selected = match self.expression(&select.operand)? {
            Type::Dyn => Type::Dyn,
            Type::Map(_, value) => *value,
            operand => {
                return Err(CheckError::Field {
                    field: select.field.clone(),
                    operand,
                });
            }
        };
        Ok(if select.test { Type::Bool } else { selected })
    }

    /// `google.protobuf.Timestamp` is one name, unless a macro's variable is called `google`.
    fn is_qualified_type(&self, select: &SelectExpr) -> bool {
        let mut parts = vec![select.field.as_str()];
        let mut operand = &select.operand.expr;
        loop {
            match operand {
                Expr::Select(inner) if !inner.test => {
                    parts.push(&inner.field);
                    operand = &inner.operand.expr;
                }
                Expr::Ident(root) => {
                    parts.push(root.trim_start_matches('.'));
                    parts.reverse();
                    return self.variable(root).is_none() && is_type_name(&parts.join("."));
                }
                _ => return false,
            }
        }
    }

    fn call(&mut self, call: &'e CallExpr) -> Result<Type, CheckError> {
        if matches!(
            call.func_name.as_str(),
            operators::OPT_SELECT | operators::OPT_INDEX
        ) {
            return Err(CheckError::Syntax("an optional selection"));
        }
        let overloads = overloads(call.func_name.trim_start_matches('.'))
            .ok_or_else(|| CheckError::Function(shown(&call.func_name)))?;
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        for argument in call.target.as_deref().into_iter().chain(&call.args) {
            arguments.push(self.expression(argument)?);
        }
        let mut result: Option<Type> = None;
        for overload in overloads {
            if overload.member != call.target.is_some()
                || overload.parameters.len() != arguments.len()
            {
                continue;
            }
            let mut bound = Bound::default();
            if overload
                .parameters
                .iter()
                .zip(&arguments)
                .all(|(sign, argument)| bound.accept(*sign, argument))
            {
                let found = bound.result(overload.result);
                result = Some(match result {
                    Some(before) if before != found => Type::Dyn,
                    _ => found,
                });
            }
        }
        result.ok_or_else(|| CheckError::Arguments {
            function: shown(&call.func_name),
            arguments: arguments
                .iter()
                .map(Type::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    fn common(&mut self, elements: &'e [Expression]) -> Result<Type, CheckError> {
        let mut common: Option<Type> = None;
        for element in elements {
            let found = self.expression(element)?;
            common = Some(match common {
                None => found,
                Some(before) => before.join(found),
            });
        }
        Ok(common.unwrap_or(Type::Dyn))
    }

    fn map(&mut self, entries: &'e [IdedEntryExpr]) -> Result<Type, CheckError> {
        let (mut keys, mut values): (Option<Type>, Option<Type>) = (None, None);
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(CheckError::Syntax("a message literal"));
            };
            if entry.optional {
                return Err(CheckError::Syntax("an optional entry"));
            }
            let (key, value) = (self.expression(&entry.key)?, self.expression(&entry.value)?);
            keys = Some(keys.map_or_else(|| key.clone(), |before| before.join(key.clone())));
            values =
                Some(values.map_or_else(|| value.clone(), |before| before.join(value.clone())));
        }
        Ok(Type::map(
            keys.unwrap_or(Type::Dyn),
            values.unwrap_or(Type::Dyn),
        ))
    }

    fn comprehension(&mut self, of: &'e ComprehensionExpr) -> Result<Type, CheckError> {
        let item = match self.expression(&of.iter_range)? {
            Type::Dyn => Type::Dyn,
            Type::List(item) => *item,
            Type::Map(key, _) => *key,
            other => return Err(CheckError::Range(other)),
        };
        if of.iter_var2.is_some() || of.iter_var.starts_with('.') {
            return Err(CheckError::Syntax("a macro with such a variable"));
        }
        let start = self.expression(&of.accu_init)?;
        self.scopes.push((&of.accu_var, start));
        self.scopes.push((&of.iter_var, item));
        let inner = self
            .expression(&of.loop_cond)
            .and_then(|_| self.expression(&of.loop_step));
        self.scopes.pop();
        let result = inner.and_then(|_| self.expression(&of.result));
        self.scopes.pop();
        result
    }
}

/// A function as its author wrote it.
fn shown(name: &str) -> String {
    match name {
        operators::CONDITIONAL => "? :".to_owned(),
        operators::INDEX => "[ ]".to_owned(),
        operators::IN => "in".to_owned(),
        _ => name.trim_matches(['_', '@', '.']).to_owned(),
    }
}

const fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}
