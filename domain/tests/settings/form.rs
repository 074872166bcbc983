//! Section 10, S25, S26: the form as data.

use std::collections::BTreeMap;

use domain::settings::form::{FieldError, Form, FormFacts, errors, form};
use domain::settings::grants::{Catalog, Catalogs};
use domain::settings::package::PackageSchemas;
use serde_json::{Value, json};

use crate::{LIMITS, closed};

fn of(schema: &Value, settings: &Value, applied: Option<&Value>) -> Form {
    let package = PackageSchemas::from_documents(schema, &Value::Null, &LIMITS).unwrap();
    let catalog = Catalog {
        default: "fast".into(),
        available: vec!["fast".into(), "slow".into()],
    };
    let facts = FormFacts {
        published: schema,
        descriptions_ru: &BTreeMap::new(),
        package: &package,
        settings,
        applied,
        catalogs: &Catalogs(BTreeMap::from([("disks".to_owned(), catalog)])),
    };
    form(&facts, &LIMITS).unwrap()
}

fn pointers(form: &Form) -> Vec<&str> {
    form.fields
        .iter()
        .map(|field| field.pointer.as_str())
        .collect()
}

#[test]
fn fields_stand_by_order_then_by_name_with_parents_first() {
    let schema = json!({"properties": {
        "b": {}, "a": {}, "z": {"x-deckhouse-ui-order": -1}, "y": {"x-deckhouse-ui-order": 0},
        "o": {"x-deckhouse-ui-order": 5, "properties": {"two": {}, "one": {"x-deckhouse-ui-order": 1}, "a.b/c": {}}},
    }});
    let form = of(&schema, &json!({}), None);
    assert_eq!(
        pointers(&form),
        [
            "/z",
            "/y",
            "/o",
            "/o/one",
            "/o/a.b~1c",
            "/o/two",
            "/a",
            "/b"
        ]
    );
    assert_eq!(
        form.fields[3].schema_pointer,
        "/properties/o/properties/one"
    );
}

#[test]
fn s26_a_group_takes_a_leaf_and_stands_by_its_smallest_order() {
    let schema = json!({"properties": {
        "cert": {"x-deckhouse-ui-group": "TLS", "x-deckhouse-ui-order": 30},
        "db": {"properties": {"tls": {"x-deckhouse-ui-group": "TLS", "x-deckhouse-ui-order": 7}, "size": {"x-deckhouse-ui-group": "Disks"}}},
        "net": {"x-deckhouse-ui-group": "Net", "x-deckhouse-ui-order": 8},
    }});
    let form = of(&schema, &json!({}), None);
    let groups: Vec<_> = form
        .groups
        .iter()
        .map(|group| (group.title.as_str(), group.order))
        .collect();
    assert_eq!(
        groups,
        [("TLS", Some(7)), ("Net", Some(8)), ("Disks", None)]
    );
    let tls = form
        .fields
        .iter()
        .find(|field| field.pointer == "/db/tls")
        .unwrap();
    assert_eq!(tls.group.as_deref(), Some("TLS"));
}

#[test]
fn only_top_level_fields_can_be_advanced_and_only_by_true() {
    let schema = json!({"properties": {
        "a": {"x-deckhouse-ui-advanced": true, "properties": {"deep": {"x-deckhouse-ui-advanced": true}}},
        "b": {"x-deckhouse-ui-advanced": "true"},
    }});
    let form = of(&schema, &json!({}), None);
    let advanced: Vec<bool> = form.fields.iter().map(|field| field.advanced).collect();
    assert_eq!(
        (pointers(&form), advanced),
        (vec!["/a", "/a/deep", "/b"], vec![true, false, false])
    );
}

#[test]
fn s26_marks_below_list_elements_and_map_values_make_no_fields() {
    let schema = json!({"properties": {
        "l": {"items": {"properties": {"x": {"x-deckhouse-ui-group": "G"}}}},
        "m": {"additionalProperties": {"properties": {"x": {"x-deckhouse-ui-group": "G"}}}},
    }});
    let form = of(&schema, &json!({}), None);
    assert_eq!(pointers(&form), ["/l", "/m"]);
    assert!(form.groups.is_empty());
}

#[test]
fn s26_the_schema_goes_out_without_composition_at_every_depth() {
    let schema = json!({
        "type": "object",
        "oneOf": [{"required": ["a"]}],
        "properties": {"not": {"type": "string", "not": {"enum": ["x"]}}, "r": {"$ref": "#/definitions/r"}},
        "definitions": {"r": {"type": "array", "items": {"anyOf": [{}], "allOf": [{}], "default": {"oneOf": 1}}}},
    });
    assert_eq!(
        of(&schema, &json!({}), None).schema,
        json!({
            "type": "object",
            "properties": {"not": {"type": "string"}, "r": {"$ref": "#/definitions/r"}},
            "definitions": {"r": {"type": "array", "items": {"default": {"oneOf": 1}}}},
        })
    );
}

#[test]
fn frozen_fields_are_read_only_only_where_a_value_is_applied() {
    let schema = json!({"properties": {
        "set": {"type": "string", "x-deckhouse-immutable": true},
        "late": {"type": "string", "x-deckhouse-immutable": true},
        "free": {"type": "string"},
        "whole": {"type": "object", "x-deckhouse-immutable": true, "properties": {"in": {"x-deckhouse-immutable": true}}},
        "pools": {"type": "array", "items": {"properties": {"disk": {"x-deckhouse-immutable": true}}}},
        "shards": {"additionalProperties": {"properties": {"disk": {"x-deckhouse-immutable": true}}}},
    }});
    let applied = json!({
        "set": "x", "late": null, "free": "y", "whole": {"in": 1},
        "pools": [{"disk": "a"}, {}], "shards": {"s.1": {"disk": "b"}},
    });
    let form = of(&schema, &json!({"pools": [{}, {}, {}]}), Some(&applied));
    assert_eq!(
        form.read_only,
        ["/pools/0/disk", "/set", "/shards/s.1/disk", "/whole"]
    );
    assert!(of(&schema, &json!({}), None).read_only.is_empty());
}

#[test]
fn s25_raw_settings_are_edited_and_defaults_are_placeholders() {
    let schema = json!({"properties": {
        "replicas": {"type": "integer", "default": 2},
        "disk": {"type": "string", "x-deckhouse-grantable-resource": "disks"},
    }});
    let form = of(&schema, &Value::Null, None);
    assert_eq!(form.settings, json!({}));
    assert_eq!(form.placeholders, json!({"replicas": 2, "disk": "fast"}));
    let grant = form.fields[0].grant.as_ref().unwrap();
    assert_eq!((grant.default.as_str(), grant.available.len()), ("fast", 2));
}

#[test]
fn a_resource_name_field_carries_kind_and_selector() {
    let resource =
        json!({"apiVersion": "v1", "kind": "Secret", "labelSelector": {"matchLabels": {"a": "b"}}});
    let schema = json!({"properties": {"secret": {"type": "string", "x-deckhouse-ui-resource-name": resource}}});
    assert_eq!(
        of(&schema, &json!({}), None).fields[0].resource,
        Some(resource)
    );
}

#[test]
fn a_recursive_schema_makes_a_finite_form() {
    let schema = json!({
        "properties": {"t": {"$ref": "#/definitions/t"}},
        "definitions": {"t": {"type": "object", "properties": {"name": {}, "t": {"$ref": "#/definitions/t"}}}},
    });
    assert_eq!(pointers(&of(&schema, &json!({}), None)), ["/t", "/t/name"]);
}

#[test]
fn s26_the_authors_message_replaces_errors_of_the_schema() {
    let schema = closed(&json!({"properties": {
        "domain": {"type": "string", "pattern": "^[a-z.]+$", "minLength": 3, "x-deckhouse-ui-validation-message": "Enter a domain."},
        "pools": {"items": {"type": "integer", "x-deckhouse-ui-validation-message": "A number."}},
        "n": {"type": "integer"},
    }}));
    let found = errors(
        &json!({"domain": "!!", "pools": [1, "x"], "n": "x"}),
        &schema,
        &LIMITS,
    );
    let expected = [
        ("/domain", "Enter a domain."),
        ("/n", "must be of type integer: \"string\""),
        ("/pools/1", "A number."),
    ];
    let expected = expected.map(|(pointer, text)| FieldError {
        pointer: pointer.into(),
        text: text.into(),
    });
    assert_eq!(found, expected);
}
