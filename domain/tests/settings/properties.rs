//! What holds for every schema and document.

use domain::settings::defaults::apply_defaults;
use domain::settings::document::{compare, equal};
use domain::settings::immutable;
use domain::settings::limits::Limits;
use domain::settings::schema::encode::encode;
use domain::settings::schema::pattern::Patterns;
use domain::settings::schema::publish::publish;
use domain::settings::schema::{Schema, load, open};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::LIMITS;
use crate::oracle::{document, keyword, schema_of};

/// Schemas with defaults, marks and every documented extension strewn over them.
fn marked() -> impl Strategy<Value = Value> {
    schema_of(prop_oneof![keyword(), extra()].boxed())
}

fn extra() -> impl Strategy<Value = (String, Value)> {
    let named = |name: &'static str| move |value: Value| (name.to_owned(), value);
    prop_oneof![
        document().prop_map(named("default")),
        document().prop_map(named("example")),
        Just(json!(true)).prop_map(named("x-deckhouse-immutable")),
        document().prop_map(named("x-deckhouse-immutable")),
        Just(json!(0)).prop_map(named("x-deckhouse-ui-order")),
        Just(json!("disks")).prop_map(named("x-deckhouse-grantable-resource")),
        Just(json!([{"to": ["x"], "impact": "info", "more": 1}]))
            .prop_map(named("x-deckhouse-enum-switch-settings")),
        document().prop_map(named("x-other")),
        document().prop_map(named("const")),
        Just(json!("text")).prop_map(named("description")),
        any::<bool>()
            .prop_map(Value::from)
            .prop_map(named("nullable")),
    ]
}

/// A recursive definition, so that walks meet references too.
fn with_recursion(mut schema: Value) -> Value {
    if let Some(keywords) = schema.as_object_mut() {
        let mut definition = Value::Object(keywords.clone());
        definition["properties"]["b"] = json!({"$ref": "#/definitions/again"});
        keywords.insert("definitions".into(), json!({"again": definition}));
        keywords.insert(
            "patternProperties".into(),
            json!({"c": {"$ref": "#/definitions/again", "x-deckhouse-immutable": true}}),
        );
    }
    schema
}

fn closed(schema: &Value) -> Schema {
    Schema::close(open(schema, &LIMITS).unwrap())
}

fn written(schema: &Schema) -> Value {
    encode(schema.root(), &|_, value| Some(value.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn defaults_are_idempotent(schema in marked(), mut document in document()) {
        let schema = closed(&with_recursion(schema));
        if apply_defaults(&mut document, &schema, 10_000, &LIMITS).is_ok() {
            let once = document.clone();
            apply_defaults(&mut document, &schema, 10_000, &LIMITS).unwrap();
            prop_assert_eq!(document, once);
        }
    }

    #[test]
    fn defaults_only_add(schema in marked(), document in document()) {
        let mut defaulted = document.clone();
        if apply_defaults(&mut defaulted, &closed(&schema), 10_000, &LIMITS).is_ok() {
            prop_assert!(contains(&defaulted, &document), "{} {}", defaulted, document);
        }
    }

    #[test]
    fn closing_is_idempotent(schema in marked()) {
        let once = written(&closed(&schema));
        prop_assert_eq!(written(&closed(&once)), once);
    }

    #[test]
    fn a_published_schema_republishes_to_itself(schema in marked()) {
        if let Ok(once) = publish(&with_recursion(schema), &LIMITS) {
            prop_assert_eq!(publish(&once, &LIMITS), Ok(once));
        }
    }

    #[test]
    fn publication_keeps_what_a_document_is_told(schema in marked(), document in document()) {
        if let Ok(copy) = publish(&schema, &LIMITS) {
            let verdict = |schema: &Value| domain::settings::validate::validate(&document, &closed(schema), &LIMITS);
            prop_assert_eq!(verdict(&copy), verdict(&schema));
        }
    }

    #[test]
    fn immutability_never_refuses_an_unchanged_document(schema in marked(), document in document()) {
        let schema = closed(&with_recursion(schema));
        prop_assert_eq!(immutable::check(&schema, &document, &document, &LIMITS), []);
        prop_assert_eq!(immutable::check(&schema, &Value::Null, &document, &LIMITS), []);
    }

    #[test]
    fn the_order_of_documents_agrees_with_their_equality(left in document(), right in document()) {
        prop_assert_eq!(equal(&left, &right), compare(&left, &right).is_eq());
        prop_assert_eq!(compare(&left, &right), compare(&right, &left).reverse());
    }

    #[test]
    fn any_text_is_a_file_or_a_clear_error(text in any::<String>()) {
        let _ = load(&text, &LIMITS).map_err(|error| assert!(!error.to_string().is_empty()));
    }

    #[test]
    fn yaml_like_text_stays_within_the_node_budget(text in "([-&*a-c{}\\[\\]:,<> \n|'\"!?#%@]|&a |\\*a|<<: |: |- ){0,200}") {
        let limits = Limits { file_nodes: 64, file_depth: 16, ..LIMITS };
        if let Ok(document) = load(&text, &limits) {
            prop_assert!(count(&document) <= 64, "{}", document);
        }
    }

    #[test]
    fn any_text_is_a_pattern_or_a_clear_error(text in "([a-c]|[\\\\(){}\\[\\]|^$.*+?,:<>=!&~-]|[0-9P]|\\PC){0,24}") {
        let pattern = Patterns::new(&LIMITS).compile(&text);
        match pattern.broken() {
            Some(error) => prop_assert!(!error.to_string().is_empty()),
            None => { let _ = pattern.is_match(&text); }
        }
    }
}

fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, part)| whole.get(key).is_some_and(|whole| contains(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len()
                && whole
                    .iter()
                    .zip(part)
                    .all(|(whole, part)| contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(count).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(|value| 1 + count(value)).sum::<usize>(),
        _ => 1,
    }
}
