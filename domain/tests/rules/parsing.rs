//! What is known of a rule from its text alone (S20).

use domain::settings::rules::check::Container;
use domain::settings::rules::compile::{CompileError, Rule};
use domain::settings::rules::limits::{RuleLimits, SourceError};
use serde_json::json;

use crate::outcome;

#[test]
fn a_rule_says_whether_it_is_a_transition_rule() {
    for (expression, transition) in [
        ("self.a == oldSelf.a", true),
        ("self.l.all(x, x in oldSelf.l)", true),
        ("has(oldSelf.a)", true),
        ("[oldSelf].size() == 1", true),
        ("{'a': oldSelf}.size() == 1", true),
        ("self.oldSelf == 1", false),
        ("'oldSelf' == self.a", false),
        ("self.a == 1 // oldSelf", false),
        ("true ? true : oldSelf.a", true),
        ("type(oldSelf) == int", true),
        (".oldSelf.a == 1", true),
    ] {
        let rule = Rule::parse(expression, "m", &RuleLimits::DEFAULT).unwrap();
        assert_eq!(rule.is_transition(), transition, "{expression}");
    }
}

#[test]
fn a_rule_over_a_limit_is_refused_unread_s20() {
    let limits = RuleLimits::DEFAULT;
    let parse = |text: &str| Rule::parse(text, "m", &limits).unwrap_err();
    let long = format!("self.a == '{}'", "x".repeat(limits.source_bytes));
    assert!(matches!(
        parse(&long),
        CompileError::Source(SourceError::TooLong { .. })
    ));
    let wide = vec!["true"; limits.operators + 2].join("||");
    assert!(matches!(
        parse(&wide),
        CompileError::Source(SourceError::TooManyOperators { .. })
    ));
    let deep = format!(
        "{}true{}",
        "(".repeat(limits.depth + 1),
        ")".repeat(limits.depth + 1)
    );
    assert!(matches!(
        parse(&deep),
        CompileError::Source(SourceError::TooDeep { .. })
    ));
    let chain = vec!["1"; limits.depth + 2].join("+");
    assert!(matches!(
        parse(&chain),
        CompileError::Source(SourceError::TooDeep { .. })
    ));
    for error in [parse(&long), parse(&wide), parse(&deep), parse(&chain)] {
        assert!(error.is_limit());
        assert!(error.to_string().contains("split it into several rules"));
    }
}

#[test]
fn a_long_list_of_alternatives_is_no_depth() {
    let values: Vec<_> = (0..300).map(|i| format!("'value-{i}'")).collect();
    assert_eq!(
        outcome(
            &format!("self.a in [{}]", values.join(",")),
            &json!({"a": "value-7"}),
            None
        ),
        "pass"
    );
    let terms: Vec<_> = (0..100).map(|i| format!("self.a == 'v{i}'")).collect();
    assert_eq!(
        outcome(&terms.join(" || "), &json!({"a": "v99"}), None),
        "pass"
    );
}

#[test]
fn a_syntax_error_says_where() {
    let error = Rule::parse("self.a ==\n  == 1", "m", &RuleLimits::DEFAULT).unwrap_err();
    assert_eq!(error.to_string(), "at 2:3: unexpected token");
    let error = Rule::parse("self.a ==", "m", &RuleLimits::DEFAULT).unwrap_err();
    assert!(error.to_string().contains("<EOF>"), "{error}");
    let rule = Rule::parse("self.a.lower() == 'a'", "m", &RuleLimits::DEFAULT).unwrap();
    let error = rule.check(Container::Object, Container::Other).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no function `lower` in the standard library of CEL"
    );
}

#[test]
fn brackets_and_chains_add_up() {
    let depth = RuleLimits::DEFAULT.depth;
    let nested =
        |open: &str, times: usize| format!("{}1{} == 1", open.repeat(times), ")".repeat(times));
    assert_eq!(
        outcome(&nested("(1 + ", depth / 2 - 2), &json!({}), None),
        "fail"
    );
    assert_eq!(
        outcome(&nested("(1 + ", depth / 2 + 1), &json!({}), None),
        "limit"
    );
    assert_eq!(outcome(&nested("(", depth - 2), &json!({}), None), "pass");
    // What stands side by side is no deeper than its deepest part.
    let wide = vec![nested("(1 + ", 10); 20].join(" || ");
    assert_eq!(outcome(&wide, &json!({}), None), "fail");
    let list = format!(
        "[{}].size() == 20",
        vec![nested("(1 + ", 10); 20].join(", ")
    );
    assert_eq!(outcome(&list, &json!({}), None), "pass");
}
