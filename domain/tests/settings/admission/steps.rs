//! The steps of section 8 in their order: what each of them refuses, and with which words.

use domain::settings::admission::Request;
use domain::violation::{Kind, Verdict, Violation};
use serde_json::{Value, json};

use crate::LIMITS;

use super::{ABOUT, V1, World, allowed, application, refused};

#[test]
fn an_update_without_the_stored_object_or_with_an_unreadable_one_is_refused() {
    let world = World::with(json!({}));
    let new = application(json!({}));
    refused(&world.answer(Request::Update {
        old: None,
        new: &new,
    }));
    let mut unreadable = new.clone();
    unreadable["spec"]["packageName"] = json!(7);
    let message = refused(&world.answer(Request::Update {
        old: Some(&unreadable),
        new: &new,
    }));
    assert_eq!(message, "spec.packageName: must be a text");
    refused(&world.answer(Request::Create(&unreadable)));
}

#[test]
fn deletion_is_never_refused() {
    let mut world = World::with(json!({"type": "object"}));
    world.package_exists = false;
    allowed(&world.answer(Request::Delete));
    let mut deleting = application(json!({"odd": 1}));
    deleting["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let old = application(json!({}));
    allowed(&world.answer(Request::Update {
        old: Some(&old),
        new: &deleting,
    }));
}

#[test]
fn steps_3_to_6_name_the_field_and_what_to_do() {
    let mut world = World::with(json!({}));
    let mut long = application(json!({}));
    long["metadata"]["name"] = json!("a".repeat(25));
    assert!(
        refused(&world.answer(Request::Create(&long))).starts_with("metadata.name: has 25 bytes")
    );

    world.draft = true;
    let message = refused(&world.create(json!({})));
    assert!(
        message.starts_with(&format!(
            "{ABOUT}spec.packageVersion: ApplicationPackageVersion main-kv-v1.0.0 is a draft"
        )),
        "{message}"
    );
    world.version_exists = false;
    assert!(refused(&world.create(json!({}))).contains("main-kv-v1.0.0 does not exist"));
    let mut unnamed = application(json!({}));
    unnamed["spec"]
        .as_object_mut()
        .unwrap()
        .remove("packageRepositoryName");
    assert!(refused(&world.answer(Request::Create(&unnamed))).contains("deckhouse-kv-v1.0.0"));
    world.package_exists = false;
    assert!(
        refused(&world.create(json!({})))
            .starts_with("spec.packageName: there is no ApplicationPackage \"kv\"")
    );
}

#[test]
fn marks_that_bind_nothing_surface_only_for_an_installed_application() {
    let world = World::with(
        json!({"properties": {"disk": {"type": "string", "x-deckhouse-grantable-resource": ""}}}),
    );
    allowed(&world.create(json!({})));
    assert!(
        refused(&world.update(json!({}), V1, json!({})))
            .contains("disk: x-deckhouse-grantable-resource is empty")
    );
}

#[test]
fn unmet_requirements_refuse_after_frozen_fields() {
    let mut world = World::with(json!({"properties": {"f": {"x-deckhouse-immutable": true}}}));
    world.requirements = Verdict::refused(vec![Violation::new(
        "spec.packageVersion",
        Kind::Invalid,
        "needs kubernetes >= 1.40",
    )]);
    assert_eq!(
        refused(&world.create(json!({}))),
        format!("{ABOUT}spec.packageVersion: needs kubernetes >= 1.40")
    );
    assert!(
        refused(&world.update(json!({"f": 1}), None, json!({"f": 2})))
            .contains("\"f\" can only be set")
    );
}

#[test]
fn settings_over_a_limit_and_a_schema_that_cannot_be_used_are_refused() {
    let mut world = World::with(json!({"type": "object", "additionalProperties": true}));
    let message = refused(&world.create(json!({"a": "x".repeat(LIMITS.settings_bytes)})));
    assert!(
        message.starts_with(&format!(
            "{ABOUT}spec.settings: settings with defaults have more than"
        )),
        "{message}"
    );
    assert!(
        refused(&world.create(json!(["x"])))
            .contains("spec.settings: settings must be a map of fields")
    );
    world.unusable = Some("it is over a limit");
    assert!(
        refused(&world.create(json!({})))
            .contains("the published settings schema cannot be used: it is over a limit")
    );
}

#[test]
fn a_version_without_a_published_schema_accepts_any_map() {
    let world = World::with(Value::Null);
    allowed(&world.create(json!({"any": ["thing"]})));
    allowed(&world.update(json!({"n": 1}), V1, Value::Null));
}
