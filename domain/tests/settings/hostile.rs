//! Bad input with its bounds: H9, H24, H25 (the parts that need no rules). Each answers clearly, in bounded time.

use std::time::{Duration, Instant};

use domain::settings::defaults::{DefaultsError, apply_defaults};
use domain::settings::effective::{EffectiveError, effective};
use domain::settings::grants::{Catalogs, Grants};
use domain::settings::immutable;
use domain::settings::schema::decode::DecodeProblem;
use domain::settings::schema::{SchemaError, open};
use domain::settings::validate::validate;
use domain::violation::Kind;
use serde_json::{Map, Value, json};

use crate::{LIMITS, closed, is_valid, violations};

/// Debug builds on a shared machine: what is quadratic or worse is far above this.
const SOON: Duration = Duration::from_secs(3);

fn timed<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = work();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    answer
}

fn settings_of(user: &Value) -> Result<Value, EffectiveError> {
    let schema = closed(&json!({"type": "object", "additionalProperties": true}));
    effective(
        user,
        &schema,
        &Grants::default(),
        &Catalogs::default(),
        None,
        &LIMITS,
    )
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn h9_settings_are_bounded_in_depth_and_size() {
    let wrap = |inner: Value| json!({"a": inner});
    assert!(settings_of(&wrap(nested(LIMITS.settings_depth - 1))).is_ok());
    assert_eq!(
        settings_of(&wrap(nested(LIMITS.settings_depth))),
        Err(EffectiveError::TooDeep {
            most: LIMITS.settings_depth
        })
    );
    let long = "x".repeat(LIMITS.settings_bytes);
    assert_eq!(
        settings_of(&json!({"a": long})),
        Err(EffectiveError::TooLarge {
            most: LIMITS.settings_bytes
        })
    );
    for wrong in [json!([]), json!("x"), json!(1), json!(true)] {
        assert_eq!(settings_of(&wrong), Err(EffectiveError::NotAnObject));
    }
    assert_eq!(settings_of(&json!(null)), Ok(json!({})));
}

#[test]
fn h24_ten_thousand_unknown_keys_are_each_refused_up_to_the_report_limit() {
    let document: Map<String, Value> = (0..10_000)
        .map(|key| (format!("k{key}"), json!(1)))
        .collect();
    let found = timed(|| {
        validate(
            &document.into(),
            &closed(&json!({"type": "object"})),
            &LIMITS,
        )
    });
    assert_eq!(found.len(), LIMITS.violations + 1);
    assert_eq!(found[0].text, "is a forbidden property");
    assert_eq!(
        found[LIMITS.violations].text,
        "has more than 1000 violations, the rest is left out"
    );
}

#[test]
fn h24_a_default_that_violates_its_schema_is_refused_by_name() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 5, "default": 1}}});
    let mut document = json!({});
    apply_defaults(&mut document, &closed(&schema), 1000, &LIMITS).unwrap();
    assert_eq!(
        violations(&schema, &document),
        ["a: should be greater than or equal to 5"]
    );
}

#[test]
fn h25_five_thousand_nested_all_of_are_refused_at_load() {
    let mut schema = json!({});
    for _ in 0..5_000 {
        schema = Value::Object(Map::from_iter([(
            "allOf".to_owned(),
            Value::Array(vec![schema]),
        )]));
    }
    let error = timed(|| open(&schema, &LIMITS)).unwrap_err();
    let SchemaError::Decode(error) = error else {
        panic!("{error}")
    };
    assert_eq!(error.problem, DecodeProblem::TooDeep(LIMITS.schema_depth));
    // A document this deep must be taken apart by hand: dropping it would recurse as deep.
    while let Some(inner) = schema.pointer_mut("/allOf/0").map(Value::take) {
        schema = inner;
    }
}

#[test]
fn h25_a_long_pattern_and_a_big_one_are_refused_at_load() {
    for pattern in ["a".repeat(100_000), r"^(\pL{500}){100}$".to_owned()] {
        let schema = json!({"properties": {"a": {"pattern": pattern}}});
        let error = timed(|| open(&schema, &LIMITS)).unwrap_err();
        let SchemaError::Decode(error) = error else {
            panic!("{error}")
        };
        assert_eq!(error.pointer, "properties.a.pattern");
        assert!(
            matches!(error.problem, DecodeProblem::Pattern(_)),
            "{error}"
        );
    }
}

#[test]
fn h25_many_big_patterns_are_refused_in_bounded_time() {
    let properties: Map<String, Value> = (0..2_000)
        .map(|key| {
            (
                format!("k{key}"),
                json!({"pattern": format!("^{key}[a-z]{{900}}$")}),
            )
        })
        .collect();
    let error = timed(|| open(&json!({"properties": properties}), &LIMITS)).unwrap_err();
    assert!(error.to_string().contains("together"), "{error}");
}

#[test]
fn h25_nested_quantifiers_run_in_linear_time() {
    let schema = json!({"properties": {"a": {"pattern": "^(a+)+$"}}});
    let document = json!({"a": format!("{}b", "a".repeat(300_000))});
    assert!(!timed(|| is_valid(&schema, &document)));
}

/// Each level of the data doubles the work, if nothing bounds it.
fn doubling() -> Value {
    json!({
        "properties": {"d": {"$ref": "#/definitions/d"}},
        "definitions": {"d": {
            "properties": {"frozen": {"x-deckhouse-immutable": true}},
            "additionalProperties": true,
            "allOf": [{"properties": {"d": {"$ref": "#/definitions/d"}}}, {"properties": {"d": {"$ref": "#/definitions/d"}}}],
        }},
    })
}

fn chain(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({"d": inner}))
}

#[test]
fn validation_that_would_double_with_each_level_is_cut_short() {
    let found = timed(|| validate(&chain(60), &closed(&doubling()), &LIMITS));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.as_str(), found[0].kind), ("", Kind::TooLong));
    assert!(is_valid(&doubling(), &chain(8)));
}

#[test]
fn comparing_that_would_double_with_each_level_is_cut_short() {
    let found = timed(|| immutable::check(&closed(&doubling()), &chain(60), &chain(59), &LIMITS));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.as_str(), found[0].kind), ("", Kind::TooLong));
}

#[test]
fn defaults_that_would_never_end_are_cut_short() {
    let forever = json!({
        "properties": {"d": {"$ref": "#/definitions/d"}},
        "definitions": {"d": {
            "type": "object", "default": {},
            "properties": {"l": {"$ref": "#/definitions/d"}, "r": {"$ref": "#/definitions/d"}},
        }},
    });
    let mut document = json!({});
    let error = timed(|| {
        apply_defaults(
            &mut document,
            &closed(&forever),
            LIMITS.settings_bytes,
            &LIMITS,
        )
    })
    .unwrap_err();
    assert!(
        matches!(
            error,
            DefaultsError::TooDeep { .. } | DefaultsError::TooLarge { .. }
        ),
        "{error}"
    );
}

#[test]
fn defaults_that_multiply_by_elements_are_cut_short() {
    let schema = closed(&json!({"properties": {"l": {"items": {
        "properties": {"big": {"default": "x".repeat(1000)}},
    }}}}));
    let mut document = json!({"l": vec![json!({}); 50_000]});
    let error = timed(|| apply_defaults(&mut document, &schema, LIMITS.settings_bytes, &LIMITS))
        .unwrap_err();
    assert_eq!(
        error,
        DefaultsError::TooLarge {
            most: LIMITS.settings_bytes
        }
    );
}

#[test]
fn a_hundred_thousand_elements_are_searched_for_duplicates_soon() {
    let list: Vec<Value> = (0..70_000).map(|n| json!(n)).collect();
    assert!(timed(|| is_valid(
        &json!({"properties": {"l": {"uniqueItems": true}}}),
        &json!({"l": list})
    )));
}

#[test]
fn a_walk_within_the_limits_does_not_overflow_a_small_stack() {
    let mut deep = json!({"properties": {
        "d": {"$ref": "#/definitions/d"},
        "frozen": {"x-deckhouse-immutable": true},
    }});
    for _ in 0..24 {
        deep = json!({"allOf": [deep]});
    }
    let schema = json!({
        "properties": {"d": {"$ref": "#/definitions/d"}},
        "definitions": {"d": deep},
    });
    let run = move || {
        let schema = closed(&schema);
        let document = chain(60);
        let found = validate(&document, &schema, &LIMITS).len();
        (
            found,
            immutable::check(&schema, &document, &json!({}), &LIMITS).len(),
        )
    };
    let answer = std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(answer, (1, 1));
}
