//! The validator against a second implementation of draft 4, on what both mean alike.
//!
//! Left out, because the contract departs from draft 4 there: `nullable`, `required` beside a default, formats, integers
//! beyond 2^53, patterns that RE2 and ECMA read differently, closing (done by hand for both).

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{LIMITS, closed};
use domain::settings::validate::validate;

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(&KEYS[..]).prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-3_i32..4).prop_map(|n| json!(f64::from(n))),
        prop::sample::select(&["", "a", "ab", "aab", "ы"][..]).prop_map(Value::from),
        Just(json!(0.5)),
    ]
}

pub fn document() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

pub fn keyword() -> impl Strategy<Value = (String, Value)> {
    let types = [
        "object", "array", "string", "number", "integer", "boolean", "null",
    ];
    let named = |name: &'static str| move |value: Value| (name.to_owned(), value);
    let small = || (0_u64..4).prop_map(Value::from);
    prop_oneof![
        prop::sample::select(types.to_vec())
            .prop_map(Value::from)
            .prop_map(named("type")),
        vec(prop::sample::select(types.to_vec()), 1..3)
            .prop_map(|mut names| {
                names.dedup();
                json!(names)
            })
            .prop_map(named("type")),
        vec(document(), 1..4)
            .prop_map(Value::from)
            .prop_map(named("enum")),
        prop::sample::select(&["a", "^a$", "b$", "^$", "[ab]{2}"][..])
            .prop_map(Value::from)
            .prop_map(named("pattern")),
        small().prop_map(named("minLength")),
        small().prop_map(named("maxLength")),
        (-3_i64..4).prop_map(Value::from).prop_map(named("minimum")),
        (-3_i64..4).prop_map(Value::from).prop_map(named("maximum")),
        (1_i64..4)
            .prop_map(Value::from)
            .prop_map(named("multipleOf")),
        small().prop_map(named("minItems")),
        small().prop_map(named("maxItems")),
        any::<bool>()
            .prop_map(Value::from)
            .prop_map(named("uniqueItems")),
        small().prop_map(named("minProperties")),
        small().prop_map(named("maxProperties")),
        vec(key(), 1..3)
            .prop_map(|mut keys| {
                keys.sort();
                keys.dedup();
                json!(keys)
            })
            .prop_map(named("required")),
    ]
}

/// Schemas with an explicit `additionalProperties`, so that closing changes nothing.
fn schema() -> impl Strategy<Value = Value> {
    schema_of(keyword().boxed())
}

/// Schemas whose nodes hold any of these keywords.
pub fn schema_of(keyword: BoxedStrategy<(String, Value)>) -> impl Strategy<Value = Value> {
    let leaf = vec(keyword.clone(), 0..4)
        .prop_map(|keywords| Value::Object(keywords.into_iter().collect()));
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let map = |keys| {
            btree_map(keys, inner.clone(), 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
        };
        let part = prop_oneof![
            map(key().boxed()).prop_map(|value| ("properties", value)),
            map(prop::sample::select(&["^a", "b|c"][..])
                .prop_map(str::to_owned)
                .boxed())
            .prop_map(|value| ("patternProperties", value)),
            inner.clone().prop_map(|value| ("items", value)),
            vec(inner.clone(), 1..3).prop_map(|value| ("items", value.into())),
            any::<bool>().prop_map(|flag| ("additionalItems", flag.into())),
            vec(inner.clone(), 1..3).prop_map(|value| ("allOf", value.into())),
            vec(inner.clone(), 1..3).prop_map(|value| ("anyOf", value.into())),
            vec(inner.clone(), 1..3).prop_map(|value| ("oneOf", value.into())),
            inner.clone().prop_map(|value| ("not", value)),
            map(key().boxed()).prop_map(|value| ("dependencies", value)),
        ];
        let additional = prop_oneof![any::<bool>().prop_map(Value::from), inner.clone(),];
        (vec(keyword.clone(), 0..3), vec(part, 1..4), additional).prop_map(
            |(keywords, parts, additional)| {
                let mut node: Map<String, Value> = keywords.into_iter().collect();
                node.extend(
                    parts
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value)),
                );
                node.insert("additionalProperties".into(), additional);
                Value::Object(node)
            },
        )
    })
}

/// `additionalProperties: true` on every node that the contract would close, for the side that does not close.
fn opened(node: &mut Value) {
    let Some(keywords) = node.as_object_mut() else {
        return;
    };
    for (keyword, value) in keywords.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "dependencies", Value::Object(nodes)) => {
                nodes.values_mut().for_each(opened);
            }
            ("allOf" | "anyOf" | "oneOf" | "items", Value::Array(nodes)) => {
                nodes.iter_mut().for_each(opened);
            }
            ("items" | "not" | "additionalProperties", node) => opened(node),
            _ => {}
        }
    }
    keywords
        .entry("additionalProperties")
        .or_insert(Value::Bool(true));
}

/// `2.0` as `2`: draft 4 does not take it for an integer, and the contract does.
fn whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(real) = number.as_f64().filter(|real| real.fract() == 0.0) {
                #[allow(clippy::cast_possible_truncation)]
                let whole = real as i64;
                *value = whole.into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(whole),
        Value::Object(object) => object.values_mut().for_each(whole),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn the_validator_agrees_with_a_second_implementation(mut schema in schema(), mut document in document()) {
        opened(&mut schema);
        whole(&mut schema);
        whole(&mut document);
        let oracle = jsonschema::draft4::new(&schema).unwrap();
        let found = validate(&document, &closed(&schema), &LIMITS);
        prop_assert_eq!(found.is_empty(), oracle.is_valid(&document), "{:?}", found);
    }
}
