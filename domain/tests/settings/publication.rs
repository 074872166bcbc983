//! Section 3.5: what is published, and what refuses publication.

use domain::settings::limits::Limits;
use domain::settings::schema::descriptions::descriptions;
use domain::settings::schema::publish::{PublishError, publish};
use serde_json::{Value, json};

use crate::LIMITS;

fn refused(document: &Value) -> PublishError {
    publish(document, &LIMITS).unwrap_err()
}

#[test]
fn a_wrong_type_of_a_documented_extension_refuses_with_its_place() {
    for (key, value) in [
        ("x-deckhouse-grantable-resource", json!(1)),
        ("x-deckhouse-validations", json!({"expression": "true"})),
        ("x-deckhouse-validations", json!(["true"])),
        ("x-deckhouse-ui-order", json!("1")),
        ("x-deckhouse-ui-order", json!(1.5)),
        ("x-deckhouse-ui-group", json!(["G"])),
        ("x-deckhouse-ui-advanced", json!("true")),
        ("x-deckhouse-ui-validation-message", json!(false)),
        ("x-deckhouse-ui-resource-name", json!("Secret")),
        (
            "x-deckhouse-ui-resource-name",
            json!({"apiVersion": "v1", "kind": "Secret", "labelSelector": {"matchLabels": {"a": 1}}}),
        ),
        ("x-deckhouse-enum-switch-settings", json!([{"to": "B"}])),
        (
            "x-deckhouse-enum-switch-settings",
            json!([{"to": ["B"], "messages": ["m"]}]),
        ),
    ] {
        let error = refused(&json!({"properties": {"a": {"items": {key: value}}}}));
        let PublishError::Extension(error) = error else {
            panic!("{key}: {error}")
        };
        assert!(
            error
                .pointer
                .starts_with(&format!("properties.a.items.{key}")),
            "{error}"
        );
    }
}

#[test]
fn s11_a_mark_that_is_no_boolean_is_dropped_and_refuses_nothing() {
    let written = publish(
        &json!({"properties": {"a": {"x-deckhouse-immutable": "true"}, "b": {"x-deckhouse-immutable": true}}}),
        &LIMITS,
    );
    assert_eq!(
        written.unwrap(),
        json!({"properties": {"a": {}, "b": {"x-deckhouse-immutable": true}}})
    );
}

#[test]
fn what_section_5_2_ignores_is_dropped() {
    let written = publish(
        &json!({"properties": {"a": {"items": "string", "exclusiveMinimum": 5, "minimum": 1}, "n": null}, "additionalProperties": "x"}),
        &LIMITS,
    );
    assert_eq!(
        written.unwrap(),
        json!({"properties": {"a": {"minimum": 1}, "n": {}}, "additionalProperties": true})
    );
}

#[test]
fn values_of_free_keywords_are_kept_whatever_they_are() {
    let schema = json!({"properties": {"a": {"default": null, "example": false, "enum": []}, "b": {"default": "", "additionalItems": false}}});
    assert_eq!(publish(&schema, &LIMITS).unwrap(), schema);
}

#[test]
fn references_stay_as_written_with_our_extensions_beside_them() {
    let schema = json!({
        "properties": {"a": {"$ref": "#/definitions/a~1b", "x-deckhouse-ui-order": 1, "minimum": 3, "x-doc": 1}},
        "definitions": {"a/b": {"type": "string"}},
    });
    assert_eq!(
        publish(&schema, &LIMITS).unwrap(),
        json!({
            "properties": {"a": {"$ref": "#/definitions/a~1b", "x-deckhouse-ui-order": 1}},
            "definitions": {"a/b": {"type": "string"}},
        })
    );
}

#[test]
fn what_could_not_be_used_refuses_publication() {
    assert!(matches!(
        refused(&json!({"properties": {"a": {"pattern": "^(?!x)"}}})),
        PublishError::Pattern { .. }
    ));
    assert!(matches!(
        refused(&json!({"patternProperties": {"(": {}}})),
        PublishError::Pattern { .. }
    ));
    assert!(matches!(
        refused(&json!({"properties": {"a": {"minLength": "1"}}})),
        PublishError::Decode(_)
    ));
    assert!(matches!(
        refused(&json!({"properties": {"a": {"$ref": "#/definitions/x"}}})),
        PublishError::Reference(_)
    ));
    assert!(matches!(refused(&json!([])), PublishError::Decode(_)));
    let endless = json!({
        "properties": {"d": {"$ref": "#/definitions/d"}},
        "definitions": {"d": {"type": "object", "default": {}, "properties": {"d": {"$ref": "#/definitions/d"}}}},
    });
    assert!(matches!(refused(&endless), PublishError::Defaults(_)));
    let limits = Limits {
        published_bytes: 100,
        ..LIMITS
    };
    let long = json!({"description": "x".repeat(100)});
    assert_eq!(
        publish(&long, &limits),
        Err(PublishError::TooLarge { most: 100 })
    );
}

#[test]
fn a_wrong_keyword_is_refused_with_its_place_and_what_it_must_be() {
    let error = refused(
        &json!({"properties": {"db": {"oneOf": [{"properties": {"size": {"minLength": "1"}}}]}}}),
    );
    assert_eq!(
        error.to_string(),
        "properties.db.oneOf.0.properties.size.minLength must be a whole number that is not negative"
    );
}

#[test]
fn russian_texts_become_a_map_by_json_pointer() {
    let document = json!({
        "description": "Корень",
        "properties": {"a/b": {"description": "Поле", "items": {"description": "Элемент"}}, "description": {"type": "string"}},
        "oneOf": [{"description": "Ветка"}],
    });
    let found: Vec<(String, String)> = descriptions(&document, &LIMITS)
        .unwrap()
        .into_iter()
        .collect();
    let expected = [
        ("", "Корень"),
        ("/oneOf/0", "Ветка"),
        ("/properties/a~1b", "Поле"),
        ("/properties/a~1b/items", "Элемент"),
    ];
    assert_eq!(
        found,
        expected.map(|(pointer, text)| (pointer.to_owned(), text.to_owned()))
    );
}

#[test]
fn a_rule_that_can_never_work_refuses_publication() {
    for rules in [
        json!("true"),
        json!([{"expression": "true"}]),
        json!([{"expression": "self.a +", "message": "m"}]),
        json!([{"expression": "nope(self)", "message": "m"}]),
    ] {
        refused(&json!({"type": "object", "x-deckhouse-validations": rules}));
    }
    let rule =
        json!([{"expression": "self.a == 1", "message": "m", "reason": "FieldValueInvalid"}]);
    let written = publish(
        &json!({"properties": {"a": {}}, "x-deckhouse-validations": rule}),
        &LIMITS,
    )
    .unwrap();
    assert_eq!(
        written["x-deckhouse-validations"],
        json!([{"expression": "self.a == 1", "message": "m"}])
    );
}

#[test]
fn texts_that_would_not_fit_beside_the_schemas_are_refused() {
    let document = json!({"description": "я".repeat(LIMITS.descriptions_bytes / 2 + 1)});
    assert!(descriptions(&document, &LIMITS).is_err());
}
