//! Where the interpreter and the reference implementation of CEL part, the expression is rewritten so that the reference wins.
//!
//! | in the rule | becomes | because |
//! | --- | --- | --- |
//! | `has(x.f)` | a function | on `null` or a scalar it is false, not an error |
//! | `a && b`, `a \|\| b` | operands exchanged | if both fail, the error of the first one counts; order cannot be seen otherwise |
//! | a macro's range | a function | a map is gone through in the order of its keys, so that an outcome never depends on chance; for `all` and `exists` backwards, because the interpreter keeps the last error and the reference the first |
//! | `matches` | a function | RE2's syntax, limits on what an expression may compile to, and a literal one is compiled once |
//! | `==`, `!=`, `in` | functions | a container may lie in the document, see [`super::values`]; scalars are left as they are |
//! | the whole | a function | what is no boolean is reduced to the name of its type |
//! | `string` | a function | a double prints as in the reference (`1e+06`) |
//!
//! The rewritten names begin with `@`, which no rule can write. This file decides no outcome.

use std::sync::{Arc, LazyLock};

use cel_interpreter::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators};
use cel_interpreter::common::types::{
    CelBool, CelDouble, CelList, CelMap, CelString, DYN_TYPE, Kind, STRING_TYPE,
};
use cel_interpreter::common::value::{CowVal, Val};
use cel_interpreter::parser::Expression;
use cel_interpreter::{Env, ExecutionError};

use super::pattern::{PATTERN_TYPE, RulePattern};
use super::values;

pub(super) const HAS: &str = "@has";
pub(super) const RANGE: &str = "@range";
pub(super) const BACKWARDS: &str = "@backwards";
pub(super) const MATCHES: &str = "@matches";
pub(super) const STRING: &str = "@string";
pub(super) const EQUALS: &str = "@equals";
pub(super) const DIFFERS: &str = "@differs";
pub(super) const CONTAINS: &str = "@contains";
pub(super) const VERDICT: &str = "@verdict";
/// Begins the variables that stand for literal regular expressions.
const PATTERN: &str = "@pattern";

/// The function that a rewritten name stands for, for messages.
#[must_use]
pub fn shown(name: &str) -> &str {
    name.trim_matches(['@', '_'])
}

/// The environment that rewritten expressions are evaluated in: the standard library without optional values, and the
/// functions of this file.
pub static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::default().with_optional_support(false).with_stdlib();
    let added = env
        .add_overload(HAS, HAS, vec![DYN_TYPE, STRING_TYPE], has)
        .and_then(|()| env.add_overload(RANGE, RANGE, vec![DYN_TYPE], range))
        .and_then(|()| env.add_overload(BACKWARDS, BACKWARDS, vec![DYN_TYPE], backwards))
        .and_then(|()| env.add_overload(MATCHES, MATCHES, vec![STRING_TYPE, STRING_TYPE], matches))
        .and_then(|()| env.add_overload(MATCHES, PATTERN, vec![STRING_TYPE, PATTERN_TYPE], matches))
        .and_then(|()| env.add_overload(STRING, STRING, vec![DYN_TYPE], string))
        .and_then(|()| env.add_overload(EQUALS, EQUALS, vec![DYN_TYPE, DYN_TYPE], equals))
        .and_then(|()| env.add_overload(DIFFERS, DIFFERS, vec![DYN_TYPE, DYN_TYPE], differs))
        .and_then(|()| env.add_overload(CONTAINS, CONTAINS, vec![DYN_TYPE, DYN_TYPE], contains))
        .and_then(|()| env.add_overload(VERDICT, VERDICT, vec![DYN_TYPE], verdict));
    debug_assert!(added.is_ok(), "names that begin with @ are ours alone");
    Arc::new(env)
});

/// Rewrites an expression in place and returns its literal regular expressions, in the order of the variables that now stand for
/// them ([`pattern_number`]).
#[must_use]
pub fn rewrite(expression: &mut Expression) -> Vec<RulePattern> {
    let mut patterns = Vec::new();
    rewrite_in(expression, &mut patterns);
    let whole = std::mem::take(expression);
    *expression = call(VERDICT, vec![whole]);
    patterns
}

/// Which regular expression of the rule a variable stands for, or nothing if it is no such variable.
#[must_use]
pub fn pattern_number(variable: &str) -> Option<usize> {
    variable.strip_prefix(PATTERN)?.parse().ok()
}

fn rewrite_in(expression: &mut Expression, patterns: &mut Vec<RulePattern>) {
    match &mut expression.expr {
        Expr::Call(call) => rewrite_call(call, patterns),
        Expr::Comprehension(of) => {
            for part in [
                &mut of.iter_range,
                &mut of.accu_init,
                &mut of.loop_cond,
                &mut of.loop_step,
                &mut of.result,
            ] {
                rewrite_in(part, patterns);
            }
            let folds = is_logical_fold(&of.loop_step, &of.accu_var);
            if !matches!(of.iter_range.expr, Expr::List(_)) || folds {
                let range = std::mem::take(&mut of.iter_range);
                of.iter_range = call(if folds { BACKWARDS } else { RANGE }, vec![range]);
            }
        }
        Expr::List(list) => list
            .elements
            .iter_mut()
            .for_each(|element| rewrite_in(element, patterns)),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    rewrite_in(&mut entry.key, patterns);
                    rewrite_in(&mut entry.value, patterns);
                }
            }
        }
        Expr::Select(select) => {
            rewrite_in(&mut select.operand, patterns);
            if select.test {
                let operand = std::mem::take(&mut *select.operand);
                let field = Expr::Literal(LiteralValue::String(
                    std::mem::take(&mut select.field).into(),
                ));
                let field = Expression { id: 0, expr: field };
                expression.expr = call(HAS, vec![operand, field]).expr;
            }
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

fn rewrite_call(call: &mut CallExpr, patterns: &mut Vec<RulePattern>) {
    for part in call.target.as_deref_mut().into_iter().chain(&mut call.args) {
        rewrite_in(part, patterns);
    }
    match call.func_name.trim_start_matches('.') {
        operators::LOGICAL_AND | operators::LOGICAL_OR => {
            let folds = matches!(call.args.first(), Some(Expression { expr: Expr::Ident(name), .. }) if name.starts_with('@'));
            if !folds {
                call.args.reverse();
            }
        }
        "matches" => {
            MATCHES.clone_into(&mut call.func_name);
            if let Some(target) = call.target.take() {
                call.args.insert(0, *target);
            }
            if let Some(argument) = call.args.get_mut(1)
                && let Expr::Literal(LiteralValue::String(source)) = &argument.expr
            {
                let variable = format!("{PATTERN}{}", patterns.len());
                patterns.push(RulePattern::new(source.inner()));
                argument.expr = Expr::Ident(variable);
            }
        }
        "string" => STRING.clone_into(&mut call.func_name),
        operators::EQUALS if !call.args.iter().any(is_scalar) => {
            EQUALS.clone_into(&mut call.func_name);
        }
        operators::NOT_EQUALS if !call.args.iter().any(is_scalar) => {
            DIFFERS.clone_into(&mut call.func_name);
        }
        operators::IN => CONTAINS.clone_into(&mut call.func_name),
        _ => {}
    }
}

/// A literal, which equals no container: the interpreter's own comparison is right.
const fn is_scalar(expression: &Expression) -> bool {
    matches!(expression.expr, Expr::Literal(_))
}

/// `@result && x` or `@result || x`: the step of `all` and `exists`.
fn is_logical_fold(step: &Expression, accumulator: &str) -> bool {
    matches!(&step.expr, Expr::Call(call)
        if matches!(call.func_name.as_str(), operators::LOGICAL_AND | operators::LOGICAL_OR)
            && matches!(call.args.first(), Some(Expression { expr: Expr::Ident(name), .. }) if name == accumulator))
}

fn call(name: &str, args: Vec<Expression>) -> Expression {
    Expression {
        id: 0,
        expr: Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target: None,
            args,
        }),
    }
}

/// What the interpreter's overloads return; they take their arguments by value.
type Answer<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

fn no_overload(name: &str, arguments: &[CowVal<'_, '_>]) -> ExecutionError {
    let types = arguments
        .iter()
        .map(|one| one.get_type().name().to_owned())
        .collect();
    ExecutionError::no_such_overload(name, types)
}

fn flag<'b, 'v>(flag: bool) -> CowVal<'b, 'v> {
    CowVal::owned(CelBool::from(flag))
}

#[expect(clippy::needless_pass_by_value, reason = "the interpreter's signature")]
fn has<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let [operand, field] = arguments.as_slice() else {
        return Err(no_overload(HAS, &arguments));
    };
    match (operand.get_type().kind(), operand.as_indexer()) {
        (Kind::Map, Some(map)) => match map.get(field.as_ref()) {
            Ok(_) => Ok(flag(true)),
            Err(ExecutionError::NoSuchKey(_)) => Ok(flag(false)),
            Err(error) => Err(error),
        },
        (Kind::List, _) => Err(no_overload("_._", &arguments)),
        _ => Ok(flag(false)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the interpreter's signature")]
fn equals<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    match arguments.as_slice() {
        [one, two] => Ok(flag(values::equal(one.as_ref(), two.as_ref()))),
        _ => Err(no_overload(EQUALS, &arguments)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the interpreter's signature")]
fn differs<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    match arguments.as_slice() {
        [one, two] => Ok(flag(!values::equal(one.as_ref(), two.as_ref()))),
        _ => Err(no_overload(DIFFERS, &arguments)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the interpreter's signature")]
fn contains<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    match arguments.as_slice() {
        [value, range] => values::contains(range.as_ref(), value.as_ref()).map(flag),
        _ => Err(no_overload(CONTAINS, &arguments)),
    }
}

fn verdict<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    match arguments.pop() {
        Some(said) if said.downcast_ref::<CelBool>().is_some() => Ok(said),
        Some(other) => {
            let name = other.get_type().name().to_owned();
            Ok(CowVal::owned(CelString::from(name)))
        }
        None => Err(no_overload(VERDICT, &arguments)),
    }
}

fn range<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    match arguments.pop() {
        Some(over) if over.get_type().kind() == Kind::Map => Ok(CowVal::owned(CelList::from(
            elements(&over).unwrap_or_default(),
        ))),
        Some(over) => Ok(over),
        None => Err(no_overload(RANGE, &arguments)),
    }
}

fn backwards<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let Some(over) = arguments.pop() else {
        return Err(no_overload(BACKWARDS, &arguments));
    };
    match elements(&over) {
        Some(mut elements) => {
            elements.reverse();
            Ok(CowVal::owned(CelList::from(elements)))
        }
        None => Ok(over),
    }
}

/// The elements of a list, or the keys of a map in their order; nothing if the value has neither.
fn elements<'v>(over: &CowVal<'_, 'v>) -> Option<Vec<Box<dyn Val + 'v>>> {
    if let Some(map) = over.downcast_ref::<CelMap>() {
        let mut keys: Vec<_> = map.inner().keys().collect();
        keys.sort_unstable();
        return Some(
            keys.into_iter()
                .map(|key| key.inner().clone_as_boxed())
                .collect(),
        );
    }
    let mut items = over.as_iterable()?.iter();
    let mut elements = Vec::new();
    while let Some(item) = items.next() {
        elements.push(item.clone_as_boxed());
    }
    Some(elements)
}

#[expect(clippy::needless_pass_by_value, reason = "the interpreter's signature")]
fn matches<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let [text, pattern] = arguments.as_slice() else {
        return Err(no_overload(MATCHES, &arguments));
    };
    let text = text.downcast_ref::<CelString>();
    let found = match (
        text,
        pattern.downcast_ref::<RulePattern>(),
        pattern.downcast_ref::<CelString>(),
    ) {
        (Some(text), Some(literal), _) => literal.is_match(text.inner()),
        (Some(text), None, Some(computed)) => {
            RulePattern::new(computed.inner()).is_match(text.inner())
        }
        _ => return Err(no_overload(MATCHES, &arguments)),
    };
    found
        .map(flag)
        .map_err(|error| ExecutionError::function_error("matches", error))
}

fn string<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    if let [number] = arguments.as_slice()
        && let Some(number) = number.downcast_ref::<CelDouble>()
    {
        return Ok(CowVal::owned(CelString::from(general(*number.inner()))));
    }
    match ENV.find_overload("string", &arguments) {
        Some(convert) => convert(arguments),
        None => Err(no_overload("string", &arguments)),
    }
}

/// A double as `%g` prints it with as many digits as it needs: with an exponent below 1e-4 and from 1e6 on.
fn general(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let power: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&power) {
        return format!("{number}");
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}
