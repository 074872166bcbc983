//! Section 3.1, step 3: `$ref`.

use domain::settings::limits::Limits;
use domain::settings::schema::{DecodeError, ReferenceError, SchemaError, decode, open};
use serde_json::{Value, json};

use crate::{LIMITS, closed, is_valid, violations};

fn refused(document: &Value) -> SchemaError {
    open(document, &LIMITS).unwrap_err()
}

#[test]
fn h25_a_cycle_of_references_alone_is_refused() {
    for definitions in [
        json!({"a": {"$ref": "#/definitions/a"}}),
        json!({"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/c"}, "c": {"$ref": "#/definitions/a"}}),
    ] {
        let error = refused(&json!({"definitions": definitions}));
        assert!(
            matches!(error, SchemaError::Reference(ReferenceError::Cycle(_))),
            "{error}"
        );
    }
}

#[test]
fn h25_a_remote_reference_is_refused_with_its_place() {
    for target in [
        "http://example.com/x",
        "file:///etc/passwd",
        "/deckhouse/candi/x.yaml#/a",
        "other.yaml",
        "#",
        "#/properties/a",
    ] {
        let error = refused(&json!({"properties": {"a": {"items": {"$ref": target}}}}));
        let SchemaError::Decode(DecodeError { pointer, problem }) = &error else {
            panic!("{target}: {error}");
        };
        assert_eq!(pointer, "properties.a.items.$ref");
        assert_eq!(*problem, decode::DecodeProblem::Remote(target.to_owned()));
    }
}

#[test]
fn an_unknown_definition_is_refused() {
    let error = refused(&json!({"properties": {"a": {"$ref": "#/definitions/nope"}}}));
    assert_eq!(
        error,
        SchemaError::Reference(ReferenceError::Unknown("nope".into()))
    );
}

#[test]
fn a_recursive_definition_is_followed_as_deep_as_the_data() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/definitions/tree"}},
        "definitions": {"tree": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/definitions/tree"}}},
        }},
    });
    assert!(is_valid(
        &schema,
        &json!({"tree": {"kids": [{"kids": [{"name": "x"}]}]}})
    ));
    assert_eq!(
        violations(
            &schema,
            &json!({"tree": {"kids": [{"kids": [{"name": 1, "odd": 2}]}]}})
        ),
        [
            "tree.kids[0].kids[0].name: must be of type string: \"integer\"",
            "tree.kids[0].kids[0].odd: is a forbidden property",
        ]
    );
}

#[test]
fn definitions_that_contain_each_other_are_recursive_too() {
    let schema = json!({
        "properties": {"a": {"$ref": "#/definitions/a"}, "d": {"$ref": "#/definitions/d"}},
        "definitions": {
            "a": {"type": "object", "properties": {"b": {"$ref": "#/definitions/b"}, "d": {"$ref": "#/definitions/d"}}},
            "b": {"type": "object", "properties": {"a": {"$ref": "#/definitions/a"}, "n": {"type": "integer"}}},
            "d": {"type": "object", "properties": {"b": {"$ref": "#/definitions/b"}}},
        },
    });
    assert!(is_valid(
        &schema,
        &json!({"a": {"b": {"a": {"d": {"b": {"n": 1}}}}}})
    ));
    assert_eq!(
        violations(
            &schema,
            &json!({"d": {"b": {"a": {"d": {"b": {"n": "x"}}}}}})
        ),
        ["d.b.a.d.b.n: must be of type integer: \"string\""]
    );
}

#[test]
fn a_definition_that_applies_itself_to_the_same_value_ends() {
    let schema = json!({
        "properties": {"a": {"$ref": "#/definitions/loop"}},
        "definitions": {"loop": {"allOf": [{"$ref": "#/definitions/loop"}, {"type": "string"}], "not": {"enum": ["no"]}}},
    });
    assert!(is_valid(&schema, &json!({"a": "yes"})));
    assert!(!is_valid(&schema, &json!({"a": "no"})));
    assert!(!is_valid(&schema, &json!({"a": 1})));
}

#[test]
fn siblings_of_a_reference_are_ignored_except_our_extensions() {
    let schema = closed(&json!({
        "properties": {
            "plain": {"$ref": "#/definitions/p", "minimum": 5, "x-deckhouse-immutable": true, "x-other": 1},
            "deep": {"$ref": "#/definitions/r", "x-deckhouse-immutable": true},
            "free": {"$ref": "#/definitions/r"},
        },
        "definitions": {
            "p": {"type": "integer"},
            "r": {"type": "object", "properties": {"r": {"$ref": "#/definitions/r"}}},
        },
    }));
    let property = |name: &str| schema.resolve(&schema.root().properties()[name]);
    assert!(property("plain").extensions.is_immutable());
    assert!(property("plain").extensions.get("x-other").is_none());
    assert!(property("plain").number.is_none());
    assert!(property("deep").extensions.is_immutable());
    assert!(
        !schema
            .resolve(&property("deep").properties()["r"])
            .extensions
            .is_immutable()
    );
    assert!(!property("free").extensions.is_immutable());
}

#[test]
fn marks_survive_a_chain_of_recursive_aliases() {
    let schema = closed(&json!({
        "properties": {"a": {"$ref": "#/definitions/alias", "x-deckhouse-ui-group": "G"}},
        "definitions": {
            "alias": {"$ref": "#/definitions/tree", "x-deckhouse-immutable": true},
            "tree": {"type": "object", "properties": {"kid": {"$ref": "#/definitions/alias"}}},
        },
    }));
    let a = schema.resolve(&schema.root().properties()["a"]);
    assert!(a.extensions.is_immutable());
    assert_eq!(a.extensions.get("x-deckhouse-ui-group"), Some(&json!("G")));
    let kid = schema.resolve(&a.properties()["kid"]);
    assert!(kid.extensions.is_immutable());
    assert_eq!(kid.extensions.get("x-deckhouse-ui-group"), None);
}

#[test]
fn expanding_references_is_bounded_in_nodes_and_depth() {
    let mut definitions = json!({"d0": {"properties": {"a": {}, "b": {}, "c": {}, "d": {}, "e": {}, "f": {}, "g": {}, "h": {}}}});
    for level in 1..12 {
        let target = json!({"$ref": format!("#/definitions/d{}", level - 1)});
        definitions[format!("d{level}")] = json!({"allOf": vec![target; 8]});
    }
    let error = refused(&json!({"definitions": definitions}));
    assert!(
        matches!(
            error,
            SchemaError::Reference(ReferenceError::TooManyNodes(_))
        ),
        "{error}"
    );

    let mut definitions = json!({"d0": {"type": "string"}});
    for level in 1..40 {
        definitions[format!("d{level}")] =
            json!({"items": {"$ref": format!("#/definitions/d{}", level - 1)}});
    }
    let error = refused(&json!({"definitions": definitions}));
    assert!(
        matches!(error, SchemaError::Reference(ReferenceError::TooDeep(_))),
        "{error}"
    );

    let limits = Limits {
        schema_depth: 6,
        ..LIMITS
    };
    let chain = json!({
        "items": {"items": {"items": {"$ref": "#/definitions/d"}}},
        "definitions": {"d": {"items": {"items": {"items": {"items": {}}}}}},
    });
    let error = open(&chain, &limits).unwrap_err();
    assert!(
        matches!(
            error,
            SchemaError::Reference(ReferenceError::NestsTooDeep(6))
        ),
        "{error}"
    );
}

#[test]
fn every_node_of_a_closed_schema_has_a_number_of_its_own() {
    let schema = closed(&json!({
        "type": "object",
        "properties": {"a": {"items": [{}, {}]}, "r": {"$ref": "#/definitions/r"}},
        "definitions": {"r": {"type": "object", "properties": {"r": {"$ref": "#/definitions/r"}}}},
    }));
    let mut seen = Vec::new();
    for tree in schema.trees() {
        collect_numbers(tree, &mut seen);
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..schema.nodes()).collect::<Vec<_>>());
}

fn collect_numbers(node: &domain::settings::schema::Node, seen: &mut Vec<u32>) {
    seen.push(node.id.0);
    for child in node.properties().values() {
        collect_numbers(child, seen);
    }
    for child in (0..2).filter_map(|position| node.item(position)) {
        collect_numbers(child, seen);
    }
}
