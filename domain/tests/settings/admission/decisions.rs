//! Defaults, grants and what is frozen: what is compared with what (S1 to S3, S6, S17, S18).

use serde_json::{Value, json};

use super::{ABOUT, V1, World, allowed, refused};

#[test]
fn s1_rules_and_schema_see_defaults() {
    let world = World::with(json!({
        "type": "object",
        "properties": {"replicas": {"type": "integer", "default": 1}, "max": {"type": "integer", "default": 3}},
        "x-deckhouse-validations": [{"expression": "self.replicas <= self.max", "message": "replicas must not exceed max"}],
    }));
    allowed(&world.create(json!({"replicas": 3})));
    assert_eq!(
        refused(&world.create(json!({"replicas": 4}))),
        format!("{ABOUT}spec.settings: replicas must not exceed max")
    );
}

#[test]
fn s2_a_catalogue_without_a_default_neither_fills_nor_checks() {
    let mut world = World::with(
        json!({"properties": {"disk": {"type": "string", "x-deckhouse-grantable-resource": "disks"}}}),
    );
    world.catalogs.0.get_mut("disks").unwrap().default.clear();
    allowed(&world.update(json!({}), V1, json!({"disk": "nvme"})));
}

#[test]
fn s3_nothing_is_frozen_before_the_first_apply() {
    let world = World::with(json!({"properties": {"a": {"x-deckhouse-immutable": true}}}));
    allowed(&world.update(Value::Null, None, json!({"a": 2})));
    assert!(
        refused(&world.update(json!({"a": 1}), None, json!({"a": 2})))
            .contains("\"a\" can only be set when the application is created")
    );
}

#[test]
fn s6_the_old_side_of_a_transition_rule_is_what_was_applied_and_only_once_installed() {
    let world = World::with(json!({"properties": {"n": {"type": "integer"}},
        "x-deckhouse-validations": [{"expression": "self.n >= oldSelf.n", "message": "n cannot shrink"}]}));
    assert_eq!(
        refused(&world.update(json!({"n": 3}), V1, json!({"n": 2}))),
        "spec.settings: n cannot shrink"
    );
    allowed(&world.update(json!({"n": 3}), None, json!({"n": 2})));
    allowed(&world.update(Value::Null, V1, json!({"n": 2})));
}

#[test]
fn s17_a_frozen_granted_field_keeps_what_was_applied() {
    let world = World::with(json!({"properties": {"disk": {
        "type": "string", "default": "std", "x-deckhouse-grantable-resource": "disks", "x-deckhouse-immutable": true,
    }}}));
    allowed(&world.update(json!({"disk": "slow"}), V1, json!({})));
    allowed(&world.update(json!({"disk": "slow"}), V1, json!({"disk": ""})));
    refused(&world.update(json!({"disk": "slow"}), V1, json!({"disk": "fast"})));
}

#[test]
fn s18_a_default_that_was_never_applied_freezes_nothing() {
    let world = World::with(
        json!({"properties": {"disk": {"type": "string", "default": "std", "x-deckhouse-immutable": true}}}),
    );
    allowed(&world.update(json!({}), V1, json!({"disk": "ssd"})));
}
