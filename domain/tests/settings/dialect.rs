//! Corners of section 5.2 that the vectors leave open.

use domain::settings::validate::format::matches;
use domain::settings::validate::message;
use domain::violation::{Kind, Violation};
use serde_json::{Value, json};

use crate::{is_valid, violations};

fn one(keywords: &Value, value: &Value) -> Vec<String> {
    violations(
        &json!({"properties": {"a": keywords}}),
        &json!({"a": value}),
    )
}

#[test]
fn null_needs_nullable_or_a_null_type_or_no_type() {
    assert!(is_valid(
        &json!({"properties": {"a": {}}}),
        &json!({"a": null})
    ));
    assert_eq!(
        one(&json!({"type": "string", "nullable": true}), &json!(null)),
        [""; 0]
    );
    assert_eq!(
        one(&json!({"type": ["string", "null"]}), &json!(null)),
        [""; 0]
    );
    assert_eq!(
        one(&json!({"type": ["string", "integer"]}), &json!(null)),
        ["a: must be of type string,integer: \"null\""]
    );
}

#[test]
fn integers_have_no_fraction_and_fit_a_double() {
    let integer = json!({"type": "integer"});
    assert_eq!(one(&integer, &json!(-2.0)), [""; 0]);
    assert_eq!(one(&integer, &json!(9_007_199_254_740_992_u64)), [""; 0]);
    assert_eq!(
        one(&integer, &json!(9_007_199_254_740_994_u64)),
        ["a: must be of type integer: \"number\""]
    );
    assert_eq!(
        one(&integer, &json!(1e300)),
        ["a: must be of type integer: \"number\""]
    );
    assert_eq!(one(&json!({"type": "number"}), &json!(1e300)), [""; 0]);
}

#[test]
fn a_required_key_with_a_default_may_be_missing_but_not_with_default_null() {
    let schema = json!({
        "type": "object", "required": ["a", "b", "c"],
        "properties": {"a": {"default": false}, "b": {"default": null}, "c": {"$ref": "#/definitions/c"}},
        "definitions": {"c": {"type": "string", "default": ""}},
    });
    assert_eq!(violations(&schema, &json!({})), ["b: is required"]);
}

#[test]
fn what_public_packages_hold_is_tolerated() {
    assert_eq!(
        one(&json!({"type": "bool"}), &json!(true)),
        ["a: must be of type bool: \"boolean\""]
    );
    assert_eq!(
        one(&json!({"type": "ssttrriingg"}), &json!(null)),
        ["a: must be of type ssttrriingg: \"null\""]
    );
    assert_eq!(
        one(
            &json!({"type": "array", "items": "string"}),
            &json!([1, "x", null])
        ),
        [""; 0]
    );
    assert_eq!(one(&Value::Null, &json!({"any": ["thing"]})), [""; 0]);
    assert_eq!(
        one(
            &json!({"minimal": 3, "attern": "x", "mixLength": 9}),
            &json!(1)
        ),
        [""; 0]
    );
    assert_eq!(
        one(&json!({"type": "number", "exclusiveMinimum": 5}), &json!(1)),
        [""; 0]
    );
    assert_eq!(
        one(
            &json!({"type": "integer", "format": "int32"}),
            &json!(99_999_999_999_u64)
        ),
        [""; 0]
    );
    assert_eq!(
        one(
            &json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            &json!({"k": 1})
        ),
        ["a.k: is a forbidden property"]
    );
}

#[test]
fn s4_untyped_nodes_are_closed_only_if_they_declare_keys() {
    assert_eq!(
        one(&json!({"properties": {"b": {}}}), &json!({"c": 1})),
        ["a.c: is a forbidden property"]
    );
    assert_eq!(
        one(&json!({"description": "anything"}), &json!({"c": 1})),
        [""; 0]
    );
    assert_eq!(
        one(&json!({"type": ["object", "null"]}), &json!({"c": 1})),
        ["a.c: is a forbidden property"]
    );
    assert_eq!(
        one(
            &json!({"type": "string", "properties": {"b": {}}}),
            &json!("x")
        ),
        [""; 0]
    );
}

#[test]
fn s4_tuples_additional_items_and_map_values_are_closed_but_no_branch() {
    let object = json!({"type": "object"});
    let entry = json!({"k": 1});
    assert_eq!(
        one(
            &json!({"items": [object], "additionalItems": object}),
            &json!([entry, entry])
        ),
        [
            "a[0].k: is a forbidden property",
            "a[1].k: is a forbidden property",
        ]
    );
    assert_eq!(
        one(
            &json!({"additionalProperties": object}),
            &json!({"m": entry})
        ),
        ["a.m.k: is a forbidden property"]
    );
    for branch in ["allOf", "anyOf", "oneOf"] {
        assert_eq!(one(&json!({branch: [object]}), &entry), [""; 0], "{branch}");
    }
    assert_eq!(
        one(&json!({"dependencies": {"k": object}}), &entry),
        [""; 0]
    );
}

#[test]
fn a_branch_that_closes_itself_is_honoured() {
    let schema = json!({
        "type": "object", "properties": {"a": {}, "b": {}},
        "oneOf": [{"properties": {"a": {}}, "additionalProperties": false}, {"required": ["b"]}],
    });
    assert!(is_valid(&schema, &json!({"a": 1})));
    assert!(is_valid(&schema, &json!({"a": 1, "b": 2})));
    assert!(!is_valid(
        &json!({"type": "object", "properties": {"a": {}, "b": {}},
        "allOf": [{"properties": {"a": {}}, "additionalProperties": false}]}),
        &json!({"b": 2})
    ));
}

#[test]
fn a_failed_composition_says_what_the_closest_alternative_lacks() {
    let schema = json!({
        "type": "object",
        "properties": {"store": {
            "type": "object",
            "properties": {"mode": {"enum": ["In", "Out"]}, "url": {"type": "string"}},
            "oneOf": [{"properties": {"mode": {"enum": ["In"]}}, "not": {"required": ["url"]}},
                      {"properties": {"mode": {"enum": ["Out"]}}, "required": ["url"]}],
        }},
    });
    assert_eq!(
        violations(&schema, &json!({"store": {"mode": "Out"}})),
        [
            "store: must validate one and only one schema (oneOf). Found none valid: store.mode should be one of [In]"
        ]
    );
    assert_eq!(
        violations(&json!({"oneOf": [{}, {}]}), &json!({})),
        [": must validate one and only one schema (oneOf). Found 2 valid alternatives"]
    );
    assert_eq!(
        violations(&json!({"allOf": [{}, {"required": ["x"]}]}), &json!({})),
        [": must validate all the schemas (allOf). Found 1 of 2 valid: x is required"]
    );
    assert_eq!(
        violations(&json!({"anyOf": [{"required": ["x"]}]}), &json!({})),
        [": must validate at least one schema (anyOf): x is required"]
    );
    assert_eq!(
        violations(&json!({"not": {}}), &json!({})),
        [": must not validate the schema (not)"]
    );
}

#[test]
fn numbers_are_compared_by_value() {
    assert_eq!(one(&json!({"enum": [1]}), &json!(1.0)), [""; 0]);
    assert_eq!(
        one(&json!({"enum": [[1, {"x": 2.0}]]}), &json!([1.0, {"x": 2}])),
        [""; 0]
    );
    assert_eq!(
        one(&json!({"uniqueItems": true}), &json!([1, "1", 1.0])),
        ["a: shouldn't contain duplicates"]
    );
    assert_eq!(
        one(
            &json!({"uniqueItems": true}),
            &json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}])
        ),
        ["a: shouldn't contain duplicates"]
    );
    assert_eq!(one(&json!({"multipleOf": 0.1}), &json!(0.3)), [""; 0]);
    assert_eq!(
        one(&json!({"multipleOf": 2}), &json!(3)),
        ["a: should be a multiple of 2"]
    );
}

#[test]
fn messages_name_root_and_path() {
    let at = |path: &str| message("pkg", &Violation::new(path, Kind::Required, "is required"));
    assert_eq!(at("db.url"), "pkg.db.url in body is required");
    assert_eq!(at(""), "pkg in body is required");
    assert_eq!(at("[0].a"), "pkg[0].a in body is required");
}

#[test]
fn formats_hold_for_strings_as_upstream_reads_them() {
    let good = [
        ("date", "2024-02-29"),
        ("date-time", "2024-02-29T23:59:59.5Z"),
        ("date-time", "2024-02-29T00:00:00+03:00"),
        ("duration", "1h30m"),
        ("duration", "2 weeks"),
        ("email", "a.b+c@example.com"),
        ("email", "Bob <bob@example.com>"),
        ("hostname", "a-1.example.com"),
        ("ipv4", "10.0.0.1"),
        ("ipv6", "::1"),
        ("cidr", "10.0.0.0/8"),
        ("cidr", "fd00::/8"),
        ("mac", "00:1A:2b:3c:4d:5e"),
        ("mac", "001a.2b3c.4d5e"),
        ("uri", "https://example.com/a%20b"),
        ("uri", "/path"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000"),
        ("byte", "aGk="),
        ("password", ""),
        ("no-such-format", "x"),
        ("hexcolor", "#fff"),
    ];
    for (format, text) in good {
        assert!(matches(format, text), "{format} {text}");
    }
    let bad = [
        ("date", "2023-02-29"),
        ("date", "2023-2-9"),
        ("date-time", "2024-02-29"),
        ("date-time", "2024-02-29T24:00:00Z"),
        ("date-time", "2024-02-29T10:00:00"),
        ("duration", ""),
        ("duration", "1 parsec"),
        ("email", ""),
        ("email", "nope"),
        ("email", "a@"),
        ("email", "a b@c"),
        ("hostname", "-a"),
        ("hostname", ""),
        ("ipv4", "10.0.0.256"),
        ("ipv4", "::1"),
        ("ipv6", "10.0.0.1"),
        ("cidr", "10.0.0.0"),
        ("cidr", "10.0.0.0/33"),
        ("mac", "00:1a"),
        ("uri", "no scheme"),
        ("uri", "example.com"),
        ("uuid", "123e4567"),
        ("uuid4", "123e4567-e89b-12d3-a456-426614174000"),
        ("byte", "a"),
        ("byte", "!!!!"),
        ("hexcolor", "#ff"),
    ];
    for (format, text) in bad {
        assert!(!matches(format, text), "{format} {text}");
    }
}
