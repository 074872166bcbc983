//! The parser that is used against the interpreter's other one: what one accepts the other does, with the same tree.
//!
//! The other one is generated from the grammar of the reference implementation, so it stands for the language.

use cel_interpreter::Env;
use cel_interpreter::common::ast::{EntryExpr, Expr, IdedEntryExpr};
use cel_interpreter::parser::{Expression, PrattParser};
use domain::settings::rules::limits::{RuleLimits, check_source};
use proptest::prelude::*;

use crate::hostile::expression;

/// The same tree without the numbers of its nodes, which depend on the parser.
fn unnumbered(mut expression: Expression) -> Expression {
    expression.id = 0;
    match &mut expression.expr {
        Expr::Call(call) => {
            for part in call.target.as_deref_mut().into_iter().chain(&mut call.args) {
                forget(part);
            }
        }
        Expr::Comprehension(of) => {
            for part in [
                &mut of.iter_range,
                &mut of.accu_init,
                &mut of.loop_cond,
                &mut of.loop_step,
                &mut of.result,
            ] {
                forget(part);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(forget),
        Expr::Map(map) => map.entries.iter_mut().for_each(forget_entry),
        Expr::Struct(message) => message.entries.iter_mut().for_each(forget_entry),
        Expr::Select(select) => forget(&mut select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
    expression
}

fn forget(expression: &mut Expression) {
    *expression = unnumbered(std::mem::take(expression));
}

fn forget_entry(entry: &mut IdedEntryExpr) {
    entry.id = 0;
    match &mut entry.expr {
        EntryExpr::MapEntry(entry) => {
            forget(&mut entry.key);
            forget(&mut entry.value);
        }
        EntryExpr::StructField(field) => forget(&mut field.value),
    }
}

fn trees(text: &str) -> (Option<Expression>, Option<Expression>) {
    let grammar = Env::stdlib().parser().parse(text).ok();
    let used = PrattParser::default().parse(text).ok();
    (grammar.map(unnumbered), used.map(unnumbered))
}

const TOKENS: &[&str] = &[
    "self",
    "x",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "?",
    "!",
    "-",
    "+",
    "*",
    "%",
    "==",
    "<",
    " in ",
    "&&",
    "||",
    "1",
    "1.5",
    "2u",
    "'a'",
    "\"b\\n\"",
    "true",
    "null",
    "b'x'",
    "r'\\d'",
    "0x1",
    "1e2",
    "//c\n",
    "\n",
    " ",
    "has(",
    "all(x,",
    "if",
    "_",
    "'\\q'",
    "'''t\n'''",
    "=",
    "&",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn both_parsers_build_the_same_tree_of_an_expression(text in expression()) {
        let (grammar, used) = trees(&text);
        prop_assert_eq!(grammar, used, "{}", text);
    }

    #[test]
    fn both_parsers_accept_the_same_texts(picks in proptest::collection::vec(0..TOKENS.len(), 0..9), spaced in any::<bool>()) {
        let tokens: Vec<_> = picks.into_iter().map(|pick| TOKENS[pick]).collect();
        let text = tokens.join(if spaced { " " } else { "" });
        if check_source(&text, &RuleLimits::DEFAULT).is_err() {
            return Ok(());
        }
        let (grammar, used) = trees(&text);
        // `self.ain x` and `1in x`: the grammar reads a number and a keyword, the other parser asks for a space.
        let touching = text.as_bytes().windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic());
        // `.?if` and `[?0]` select from optional values, which no rule may: both ends are a refusal.
        let optional = format!("{grammar:?}").contains("_?._") || format!("{grammar:?}").contains("_[?_]");
        if used.is_some() || !(touching || optional) {
            prop_assert_eq!(grammar, used, "{}", text);
        }
    }
}
