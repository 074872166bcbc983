//! What a rule's result or error amounts to (the table of section 5.3).

use serde_json::json;

use crate::{all, outcome, sample};

#[test]
fn of_two_errors_the_first_one_counts() {
    all(
        "skip",
        &sample(),
        &[
            "self.absent == 1 && self.n % 2 == 0",
            "self.absent == 1 || self.n % 2 == 0",
            "[self.o, self.n].all(x, x.absent > 1 || self.n % 2 == 0)",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "self.n % 2 == 0 && self.absent == 1",
            "self.n % 2 == 0 || self.absent == 1",
        ],
    );
    let mixed = json!({"l": [{"p": "x"}, {}], "r": [{}, {"p": "x"}], "m": {"a": {}, "b": {"p": "x"}}, "w": {"a": {"p": "x"}, "b": {}}});
    for _ in 0..20 {
        assert_eq!(outcome("self.l.all(i, i.p > 1)", &mixed, None), "eval");
        assert_eq!(outcome("self.r.all(i, i.p > 1)", &mixed, None), "skip");
        assert_eq!(
            outcome("self.m.all(k, self.m[k].p > 1)", &mixed, None),
            "skip"
        );
        assert_eq!(
            outcome("self.w.exists(k, self.w[k].p > 1)", &mixed, None),
            "eval"
        );
    }
}

#[test]
fn what_is_no_boolean_is_reported() {
    all(
        "non_bool",
        &sample(),
        &[
            "self.n",
            "'yes'",
            "self.l",
            "1",
            "null",
            "self.m",
            "size(self.l)",
            "self.l.map(x, x)",
            "type(self.n)",
            "self.s + ''",
            "self.n == 3 ? 1 : 2",
            "self.nil",
            "{}",
            "b'a'",
            "duration('1s')",
        ],
    );
}

#[test]
fn rules_stand_on_values_of_every_kind() {
    assert_eq!(outcome("self > 3", &json!(4), None), "pass");
    assert_eq!(
        outcome("self.matches('^[a-z.]+$')", &json!("A_B"), None),
        "fail"
    );
    assert_eq!(outcome("self", &json!(true), None), "pass");
    assert_eq!(outcome("self == null", &json!(null), None), "pass");
    assert_eq!(
        outcome(
            "self.size() == 2 && self[1] == 'b'",
            &json!(["a", "b"]),
            None
        ),
        "pass"
    );
    assert_eq!(outcome("self.x == 1", &json!(5), None), "skip");
    assert_eq!(outcome("self.x == 1", &json!(null), None), "skip");
}

#[test]
fn a_transition_rule_needs_an_old_value() {
    let new = json!({"zone": "b", "tags": ["a", "c"]});
    assert_eq!(outcome("self.zone == oldSelf.zone", &new, None), "skip");
    assert_eq!(
        outcome(
            "self.zone == oldSelf.zone",
            &new,
            Some(&json!({"zone": "a"}))
        ),
        "fail"
    );
    assert_eq!(
        outcome(
            "self.zone == oldSelf.zone",
            &new,
            Some(&json!({"zone": "b"}))
        ),
        "pass"
    );
    assert_eq!(
        outcome("self.zone == oldSelf.zone", &new, Some(&json!({}))),
        "skip"
    );
    assert_eq!(
        outcome(
            "self.tags.all(t, t in oldSelf.tags)",
            &new,
            Some(&json!({"tags": ["a", "b"]}))
        ),
        "fail"
    );
    assert_eq!(
        outcome("self.tags.all(t, has(oldSelf.tags))", &new, None),
        "skip"
    );
    assert_eq!(outcome("self == oldSelf", &new, Some(&new)), "pass");
    assert_eq!(
        outcome("self >= oldSelf", &json!(2), Some(&json!(3))),
        "fail"
    );
    assert_eq!(outcome("true || oldSelf.x", &new, None), "skip");
}

#[test]
fn an_error_names_types_and_never_quotes_the_document() {
    use domain::settings::rules::compile::Rule;
    use domain::settings::rules::evaluate::evaluate;
    use domain::settings::rules::limits::RuleLimits;
    let own = json!({"s": "CANARY", "l": ["CANARY"], "n": 1, "m": {"CANARY": "CANARY"}});
    for (expression, text) in [
        (
            "self.s + self.n == ''",
            "`add` does not take (string, double)",
        ),
        ("self.l[4] == 1", "index out of range"),
        ("self.l < self.l", "`<` does not take (list, list)"),
        (
            "duration(self.s) > duration('1s')",
            "`duration` cannot read its argument",
        ),
        ("int(self.s) > 1", "`int` cannot read its argument"),
        ("self.s", "the result is a string, not a boolean"),
        (
            "self.s.all(x, true)",
            "a string stands where iterable is needed",
        ),
        ("{self.l: 1}.size() == 1", "such a value cannot be a key"),
        (
            "self.n.matches('a')",
            "`matches` does not take (double, pattern)",
        ),
    ] {
        let rule = Rule::parse(expression, "m", &RuleLimits::DEFAULT).unwrap();
        let error = evaluate(&rule, &own, None).unwrap_err().to_string();
        assert_eq!(error, text, "{expression}");
        assert!(!error.contains("CANARY"));
    }
}
