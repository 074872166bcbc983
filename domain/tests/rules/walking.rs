//! Where rules stand, in which order they are evaluated, and what they see of the old document (section 5.3, S9, S10).

use domain::settings::conform::conform;
use domain::settings::limits::Limits;
use domain::settings::rules::cost::Budget;
use domain::settings::rules::limits::RuleLimits;
use domain::settings::rules::set::Rules;
use domain::settings::rules::walk::{ErrorKind, RuleError, evaluate_all};
use domain::settings::schema::{Schema, open};
use serde_json::{Value, json};

const LIMITS: Limits = Limits::DEFAULT;

fn schema(document: &Value) -> Schema {
    Schema::close(open(document, &LIMITS).unwrap())
}

fn walk(document: &Value, new: &Value, old: Option<&Value>) -> Result<Vec<String>, RuleError> {
    let schema = schema(document);
    let rules = Rules::collect(&schema, &RuleLimits::DEFAULT).unwrap();
    let violations = evaluate_all(&schema, &rules, new, old, &mut Budget::default(), &LIMITS)?;
    Ok(violations
        .iter()
        .map(|violation| format!("{}: {}", violation.path, violation.text))
        .collect())
}

fn messages(document: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    walk(document, new, old).unwrap()
}

fn rule(expression: &str, message: &str) -> Value {
    json!([{"expression": expression, "message": message}])
}

#[test]
fn nested_rules_speak_before_the_objects_own_and_each_names_its_path() {
    let document = json!({
        "type": "object",
        "properties": {"in": {"type": "object", "properties": {"x": {"type": "integer", "x-deckhouse-validations": rule("self > 1", "x")}}, "x-deckhouse-validations": rule("self.x > 2", "in")}},
        "x-deckhouse-validations": [{"expression": "has(self.a)", "message": "first"}, {"expression": "has(self.b)", "message": "second"}],
    });
    assert_eq!(
        messages(&document, &json!({"in": {"x": 0}}), None),
        ["in.x: x", "in: in", ": first", ": second"]
    );
}

#[test]
fn rules_are_reached_through_properties_items_and_map_values_s9() {
    let entry = json!({"type": "object", "properties": {"v": {}}, "x-deckhouse-validations": rule("self.v > 1", "small")});
    let document = json!({"type": "object", "properties": {
        "list": {"type": "array", "items": entry}, "map": {"type": "object", "additionalProperties": entry},
        "pattern": {"type": "object", "patternProperties": {"^a": entry}, "additionalProperties": true}, "tuple": {"type": "array", "items": [entry]},
    }});
    let low = json!({"v": 1});
    let new = json!({"list": [low, {"v": 2}, low], "map": {"k": low}, "pattern": {"ab": low, "b": low}, "tuple": [low]});
    let mut found = messages(&document, &new, None);
    found.sort();
    assert_eq!(
        found,
        [
            "list[0]: small",
            "list[2]: small",
            "map.k: small",
            "pattern.ab: small"
        ]
    );
}

#[test]
fn rules_in_branches_are_not_even_compiled_s9() {
    let broken = json!({"x-deckhouse-validations": rule("this is no rule", "m")});
    for keyword in ["oneOf", "anyOf", "allOf"] {
        let document = json!({"type": "object", "properties": {"x": {}}, keyword: [broken]});
        assert_eq!(
            messages(&document, &json!({"x": 0}), None),
            Vec::<String>::new()
        );
    }
    let document = json!({"type": "object", "properties": {"x": {}}, "not": broken, "dependencies": {"x": broken}});
    assert_eq!(
        messages(&document, &json!({"x": 0}), None),
        Vec::<String>::new()
    );
}

#[test]
fn a_rule_below_an_absent_key_is_not_evaluated_but_null_is_present() {
    let document = json!({"type": "object", "properties": {"a": {"nullable": true, "x-deckhouse-validations": rule("self != null", "null")}}});
    assert_eq!(messages(&document, &json!({}), None), Vec::<String>::new());
    assert_eq!(messages(&document, &json!({"a": null}), None), ["a: null"]);
    assert_eq!(
        messages(&document, &json!({"a": 1}), None),
        Vec::<String>::new()
    );
}

#[test]
fn transition_rules_of_map_entries_follow_their_key_and_those_of_elements_are_skipped_s9() {
    let entry = json!({"type": "object", "properties": {"v": {}}, "x-deckhouse-validations": rule("self.v == oldSelf.v", "changed")});
    let document = json!({"type": "object", "properties": {"map": {"type": "object", "additionalProperties": entry}, "list": {"type": "array", "items": entry}}});
    let new =
        json!({"map": {"kept": {"v": 1}, "new": {"v": 1}, "moved": {"v": 2}}, "list": [{"v": 1}]});
    let old =
        json!({"map": {"kept": {"v": 1}, "moved": {"v": 1}, "gone": {"v": 9}}, "list": [{"v": 2}]});
    assert_eq!(
        messages(&document, &new, Some(&old)),
        ["map.moved: changed"]
    );
    // Below an element there is no old value either.
    let deep = json!({"type": "array", "items": {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": entry}}}});
    let (new, old) = (
        json!([{"m": {"k": {"v": 1}}}]),
        json!([{"m": {"k": {"v": 2}}}]),
    );
    assert_eq!(messages(&deep, &new, Some(&old)), Vec::<String>::new());
}

#[test]
fn null_is_no_old_value_and_an_empty_object_is_one() {
    let document = json!({"type": "object", "properties": {"a": {"x-deckhouse-validations": rule("oldSelf == self", "changed")}}});
    let new = json!({"a": {"x": 1}});
    for old in [
        json!({"a": null}),
        json!({}),
        json!({"b": 1}),
        json!(null),
        json!([1]),
        json!("a"),
    ] {
        assert_eq!(
            messages(&document, &new, Some(&old)),
            Vec::<String>::new(),
            "{old}"
        );
    }
    assert_eq!(
        messages(&document, &new, Some(&json!({"a": {}}))),
        ["a: changed"]
    );
}

#[test]
fn the_first_error_ends_the_walk_and_names_its_expression() {
    let document = json!({"type": "object", "properties": {"n": {}}, "x-deckhouse-validations": [
        {"expression": "self.n > 5", "message": "small"}, {"expression": "self.n % 2 == 0", "message": "m"}, {"expression": "nonsense", "message": "m"}]});
    let error = walk(&document, &json!({"n": 1}), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Eval);
    assert_eq!(
        error.to_string(),
        "rule `self.n % 2 == 0`: `rem` does not take (double, int)"
    );
    let document = json!({"type": "object", "properties": {"a": {"x-deckhouse-validations": rule("self.size()", "m")}}});
    let error = walk(&document, &json!({"a": "abc"}), None).unwrap_err();
    assert_eq!(
        (error.kind, error.to_string().as_str()),
        (
            ErrorKind::NonBool,
            "a: rule `self.size()`: the result is a int, not a boolean"
        )
    );
}

#[test]
fn a_configuration_error_is_raised_when_its_node_is_reached() {
    for (extension, text) in [
        (
            json!("self.a > 1"),
            "x-deckhouse-validations must be a list of rules",
        ),
        (
            json!(null),
            "x-deckhouse-validations must be a list of rules",
        ),
        (
            json!({"expression": "true", "message": "m"}),
            "x-deckhouse-validations must be a list of rules",
        ),
        (
            json!(["true"]),
            "x-deckhouse-validations[0] must be a map with `expression` and `message`",
        ),
        (
            json!([{}]),
            "x-deckhouse-validations[0] must be a map with `expression` and `message`",
        ),
        (
            json!([{"expression": "true", "message": "m"}, {"message": "m"}]),
            "x-deckhouse-validations[1].expression must be a non-empty text",
        ),
        (
            json!([{"expression": "", "message": "m"}]),
            "x-deckhouse-validations[0].expression must be a non-empty text",
        ),
        (
            json!([{"expression": 5, "message": "m"}]),
            "x-deckhouse-validations[0].expression must be a non-empty text",
        ),
        (
            json!([{"expression": "true"}]),
            "x-deckhouse-validations[0].message must be a non-empty text",
        ),
        (
            json!([{"expression": "true", "message": ["m"]}]),
            "x-deckhouse-validations[0].message must be a non-empty text",
        ),
    ] {
        let document =
            json!({"type": "object", "properties": {"a": {"x-deckhouse-validations": extension}}});
        let error = walk(&document, &json!({"a": 1}), None).unwrap_err();
        assert_eq!((error.kind, error.text.as_str()), (ErrorKind::Config, text));
        assert!(walk(&document, &json!({}), None).is_ok());
    }
    let empty = json!({"type": "object", "x-deckhouse-validations": []});
    assert!(walk(&empty, &json!({}), None).is_ok());
}

#[test]
fn a_broken_rule_is_an_error_where_it_is_reached_and_known_before() {
    let document = json!({"type": "object", "properties": {"o": {"type": "object", "x-deckhouse-validations": rule("self[0] == 1", "m")}, "l": {"type": "array", "x-deckhouse-validations": rule("self.x == 1", "m")},
        "any": {"x-deckhouse-validations": rule("self.x == 1", "m")}, "p": {"type": ["object", "null"], "x-deckhouse-validations": rule("self == null", "m")}, "text": {"type": "string", "x-deckhouse-validations": rule("self.split(',').size() > 0", "m")}}});
    let schema = schema(&document);
    let rules = Rules::collect(&schema, &RuleLimits::DEFAULT).unwrap();
    let broken: Vec<_> = rules
        .broken(&schema)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        broken,
        [
            "rule `self.x == 1`: `.x` cannot be selected on a list(dyn)",
            "rule `self[0] == 1`: `[ ]` does not take (map(string, dyn), int)",
            "rule `self.split(',').size() > 0`: there is no function `split` in the standard library of CEL"
        ]
    );
    assert_eq!(
        walk(&document, &json!({"l": [1]}), None).unwrap_err().kind,
        ErrorKind::Compile
    );
    assert!(walk(&document, &json!({"any": {"x": 1}, "p": null}), None).is_ok());
}

#[test]
fn a_schema_with_too_many_rules_is_refused_s20() {
    let many: Vec<_> = (0..=RuleLimits::DEFAULT.rules)
        .map(|_| json!({"expression": "true", "message": "m"}))
        .collect();
    let schema = schema(&json!({"type": "object", "x-deckhouse-validations": many}));
    let error = Rules::collect(&schema, &RuleLimits::DEFAULT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the schema has more than 512 rules: merge some"
    );
}

#[test]
fn a_rule_over_the_budget_is_an_error_of_its_own_s24() {
    let document = json!({"type": "object", "properties": {"l": {"type": "array", "items": {}}}, "x-deckhouse-validations": rule("self.l.all(x, self.l.all(y, self.l.all(z, true)))", "m")});
    let error = walk(&document, &json!({"l": vec![1; 1000]}), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    assert!(
        error
            .to_string()
            .contains("may cost more than the budget of a request"),
        "{error}"
    );
}

#[test]
fn rules_of_recursive_definitions_are_found_at_every_level() {
    let document = json!({"type": "object", "properties": {"tree": {"$ref": "#/definitions/tree"}}, "definitions": {"tree": {"type": "object",
        "properties": {"name": {"type": "string", "x-deckhouse-validations": rule("self != ''", "empty")}, "children": {"type": "array", "items": {"$ref": "#/definitions/tree"}}}}}});
    let new =
        json!({"tree": {"name": "a", "children": [{"name": "", "children": [{"name": ""}]}]}});
    let mut found = messages(&document, &new, None);
    found.sort();
    assert_eq!(
        found,
        [
            "tree.children[0].children[0].name: empty",
            "tree.children[0].name: empty"
        ]
    );
}

#[test]
fn an_error_is_left_out_when_the_document_violates_its_schema_and_messages_are_not() {
    let document = json!({"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "x-deckhouse-validations": [
        {"expression": "self.n > 5", "message": "small"}, {"expression": "self.s.startsWith('a')", "message": "no a"}]});
    let schema = schema(&document);
    let rules = Rules::collect(&schema, &RuleLimits::DEFAULT).unwrap();
    let said = |new: Value| -> Vec<String> {
        let violations = conform(&new, None, &schema, &rules, &mut Budget::default(), &LIMITS);
        violations.iter().map(ToString::to_string).collect()
    };
    assert_eq!(said(json!({"n": 1, "s": "b"})), [": small", ": no a"]);
    assert_eq!(
        said(json!({"n": 9, "s": 1})),
        ["s: must be of type string: \"integer\""]
    );
    assert_eq!(said(json!({"n": 1, "s": "a", "more": 1})).len(), 2);
    assert_eq!(said(json!({"n": 9, "s": "a"})), Vec::<String>::new());
}
