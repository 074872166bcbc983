//! Text that nobody means well with: never a panic, never more stack than promised (H14).

use domain::settings::rules::limits::{RuleLimits, STACK_BYTES};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::outcome;

/// Runs on a thread with exactly the stack that is promised to be enough; an overflow would end the test process.
fn on_promised_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

/// One expression per way to nest, `times` deep.
fn nested(times: usize) -> Vec<String> {
    let around = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    vec![
        around("(", "1", ")"),
        around("[", "1", "]"),
        around("{1:", "1", "}"),
        around("{'a':[", "1", "]}"),
        around("size(", "self", ")"),
        around("string(", "1", ")"),
        around("dyn(", "self", ")"),
        around("type(", "self", ")"),
        around("has(self.a[", "0", "].b)"),
        around("!(", "true", ")"),
        around("-(", "1", ")"),
        around("!", "true", ""),
        around("-", "1", ""),
        around("(1+", "1", ")"),
        around("(true||", "true", ")"),
        around("(true&&", "true", ")"),
        around("(1==1?", "1", ":2)"),
        around("self[", "0", "]"),
        around("self.l.all(x,", "true", ")"),
        around("self.l.exists(x,", "true", ")"),
        around("self.l.exists_one(x,", "true", ")"),
        around("[1].map(x,", "1", ")"),
        around("[1].filter(x,", "true", ")"),
        around("'a'.matches(", "'a'", ")"),
        around("matches('a',", "'a'", ")"),
        format!("self{}", ".a".repeat(times)),
        format!("self{}", "[0]".repeat(times)),
        format!("self{}", ".a()".repeat(times)),
        format!("[1]{}", ".map(x,x)".repeat(times)),
        format!("''{}", ".startsWith('')".repeat(times)),
        format!("has(self{}.a)", ".a".repeat(times)),
        vec!["1"; times + 1].join("+"),
        vec!["1.0"; times + 1].join("*"),
        vec!["1"; times + 1].join("<"),
        vec!["1"; times + 1].join("=="),
        vec!["'a'"; times + 1].join(" in "),
        vec!["true"; times + 1].join("||"),
        vec!["true"; times + 1].join("&&"),
        vec!["true||false"; times + 1].join("&&"),
        format!("{}1", "true?1:".repeat(times)),
        format!("true{}", "?true:true".repeat(times)),
        format!("{}true{}", "true?".repeat(times), ":true".repeat(times)),
        format!("{}1", "//\n".repeat(times)),
        format!("{}1", "(".repeat(times)),
        format!("1{}", ")".repeat(times)),
        "[".repeat(times),
        "{".repeat(times),
        "a{".repeat(times),
        "self.all(x,".repeat(times),
        "true?".repeat(times),
        "'''".repeat(times),
        "\\".repeat(times),
        "-!".repeat(times),
        "(.".repeat(times),
    ]
}

/// A document as deep as settings may be.
fn deep() -> Value {
    (0..64).fold(json!(1), |inner, level| {
        if level % 2 == 0 {
            json!([inner])
        } else {
            json!({ "a": inner })
        }
    })
}

#[test]
fn nesting_of_any_kind_stays_within_the_promised_stack_h14() {
    on_promised_stack(|| {
        let small = json!({"l": [1], "a": [1]});
        for times in [1, 2, 3, 5, 10, 15, 20, 30, 45, 47, 48, 49, 100, 1000] {
            for expression in nested(times) {
                let said = outcome(&expression, &small, Some(&small));
                if times > RuleLimits::DEFAULT.operators {
                    assert!(
                        ["limit", "compile", "non_bool"].contains(&said),
                        "{said}: {expression}"
                    );
                }
            }
        }
    });
}

#[test]
fn deep_documents_stay_within_the_promised_stack_h14() {
    on_promised_stack(|| {
        let document = deep();
        for expression in [
            "self == oldSelf",
            "dyn(self) != [oldSelf]",
            "[self, self] == [oldSelf, oldSelf]",
            "self in [oldSelf]",
            "[self].map(x, [x]) == [[oldSelf]]",
            "dyn(self) == 1.0",
            "dyn(self) < 1",
            "dyn(1) + dyn(self) == 1",
            "dyn(1.0) == self",
            "{dyn(self): 1}.size() == 1",
            "{'a': self}.a == oldSelf",
        ] {
            let said = outcome(expression, &document, Some(&document));
            assert!(
                ["pass", "fail", "eval"].contains(&said),
                "{expression}: {said}"
            );
        }
    });
}

#[test]
fn hostile_texts_of_h14_are_refused_or_cheap() {
    on_promised_stack(|| {
        let document = json!({"s": "a".repeat(10_000), "l": [1]});
        let chain = vec!["true"; 100_000].join("||");
        assert_eq!(outcome(&chain, &document, None), "limit");
        let parentheses = format!("{}true{}", "(".repeat(2000), ")".repeat(2000));
        assert_eq!(outcome(&parentheses, &document, None), "limit");
        assert_eq!(outcome("self.s.matches('(a+)+$')", &document, None), "pass");
        assert_eq!(
            outcome("self.s.matches('(a{1000}){1000}')", &document, None),
            "eval"
        );
        let doubling = vec!["self.s"; 600].join("+");
        assert_eq!(outcome(&doubling, &document, None), "limit");
    });
}

const TOKENS: &[&str] = &[
    "self",
    "oldSelf",
    "x",
    "y",
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
    "/",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    "in",
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
    "0x",
    "1e",
    "//c\n",
    "\n",
    " ",
    "has(",
    ".all(x,",
    ".map(x,",
    ".exists_one(x,",
    ".filter(x,",
    "size(",
    ".matches(",
    "duration(",
    "timestamp(",
    "string(",
    "int(",
    "type(",
    "dyn(",
    "`a`",
    "if",
    "_",
    "é",
    "'\\q'",
    "'''t\n'''",
    "=",
    "&",
    "|",
    "@",
    "1..",
    ".l",
    ".s",
    ".n",
    ".m",
    "[0]",
    "9223372036854775807",
    "google.protobuf.Timestamp",
    "{'a':1}",
    "\u{b}",
    "'",
    "\"",
    "\\",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        outcome(&text, &json!({"a": 1}), None);
    }

    #[test]
    fn random_texts_never_panic(text in "\\PC{0,80}") {
        outcome(&text, &json!({"a": 1}), Some(&json!([1])));
    }

    #[test]
    fn random_tokens_never_panic(picks in proptest::collection::vec(0..TOKENS.len(), 0..24), spaced in any::<bool>()) {
        let tokens: Vec<_> = picks.into_iter().map(|pick| TOKENS[pick]).collect();
        let text = tokens.join(if spaced { " " } else { "" });
        let document = json!({"l": [1, "a", null, {"n": 2}], "s": "2024-01-01T00:00:00Z", "n": 1.5, "m": {"a": [], "b": {}}});
        outcome(&text, &document, Some(&document));
    }

    #[test]
    fn random_expressions_never_panic(text in expression()) {
        let document = json!({"l": [1, "a", null, {"n": 2}], "s": "2024-01-01T00:00:00Z", "n": 1.5, "m": {"a": [], "b": {}}});
        outcome(&text, &document, Some(&document));
    }
}

/// Well-formed expressions, whatever their types.
pub fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "self",
        "oldSelf",
        "x",
        "1",
        "-1",
        "1.5",
        "2u",
        "'a'",
        "'1h'",
        "true",
        "false",
        "null",
        "b'x'",
        "[]",
        "{}",
        "self.l",
        "self.s",
        "self.n",
        "self.m",
        "self.m.a",
        "9223372036854775807",
        "1e308",
        "''",
        "int",
        "'(a'",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 3, |inner| {
        let operator = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", " in ", "&&", "||",
        ]);
        let macro_ = prop::sample::select(vec!["all", "exists", "exists_one", "map", "filter"]);
        let function = prop::sample::select(vec![
            "size",
            "int",
            "uint",
            "double",
            "string",
            "bytes",
            "bool",
            "type",
            "dyn",
            "duration",
            "timestamp",
        ]);
        let method = prop::sample::select(vec![
            "startsWith",
            "endsWith",
            "contains",
            "matches",
            "getHours",
        ]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("({a}{op}{b})")),
            (inner.clone(), macro_, inner.clone())
                .prop_map(|(a, name, b)| format!("{a}.{name}(x, {b})")),
            (function, inner.clone()).prop_map(|(name, a)| format!("{name}({a})")),
            (inner.clone(), method, inner.clone())
                .prop_map(|(a, name, b)| format!("{a}.{name}({b})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}: {b}}}")),
            inner.clone().prop_map(|a| format!("has({a}.n)")),
            inner.clone().prop_map(|a| format!("{a}.n")),
            inner.clone().prop_map(|a| format!("!({a})")),
            inner.prop_map(|a| format!("-({a})")),
        ]
    })
}
