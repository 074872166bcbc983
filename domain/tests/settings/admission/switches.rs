//! Switches of a mode that destroy, and their acknowledgement (S8, S19).

use domain::settings::admission::Request;
use domain::settings::switch::ACKNOWLEDGEMENT;
use serde_json::{Value, json};

use super::{World, allowed, application, refused, stored};

fn switching() -> Value {
    json!({
        "properties": {"store": {"type": "object", "properties": {"mode": {"type": "string", "enum": ["In", "Out"]}}, "oneOf": [
            {"properties": {"mode": {"enum": ["In"]}}, "x-deckhouse-enum-switch-settings": [
                {"to": ["Out"], "impact": "destructive", "messages": {"ru": "Удалит.", "en": "Deletes the data."}}]},
            {"properties": {"mode": {"enum": ["Out"]}}},
        ]}},
    })
}

#[test]
fn s8_a_destructive_switch_warns_or_is_refused() {
    let mut world = World::with(switching());
    let (applied, wanted) = (
        json!({"store": {"mode": "In"}}),
        json!({"store": {"mode": "Out"}}),
    );
    let answer = world.update(applied.clone(), None, wanted.clone());
    allowed(&answer);
    assert_eq!(
        answer.verdict.warnings,
        ["spec.settings.store.mode=In->Out: Deletes the data."]
    );
    world.enforce = true;
    let message = refused(&world.update(applied, None, wanted.clone()));
    assert!(
        message.contains("spec.settings.store.mode: Deletes the data.")
            && message.contains("\"store.mode=In->Out\""),
        "{message}"
    );
    allowed(&world.create(wanted.clone()));
    allowed(&world.update(Value::Null, None, wanted));
}

#[test]
fn s19_an_acknowledgement_counts_only_in_the_request_that_adds_it() {
    let mut world = World::with(switching());
    world.enforce = true;
    let note = |mut object: Value, text: &str| {
        object["metadata"]["annotations"][ACKNOWLEDGEMENT] = json!(text);
        object
    };
    let old = stored(json!({"store": {"mode": "In"}}), None);
    let new = || application(json!({"store": {"mode": "Out"}}));
    for (before, after, is_allowed) in [
        (None, Some("store.mode=In->Out"), true),
        (None, Some("other=a->b, store.mode=In->Out"), true),
        (
            Some("other=a->b"),
            Some("other=a->b,store.mode=In->Out"),
            true,
        ),
        (
            Some("store.mode=In->Out"),
            Some("store.mode=In->Out"),
            false,
        ),
        (None, Some("store.mode=Out->In"), false),
        (None, Some("xstore.mode=In->Out"), false),
        (None, Some("store.mode=In->Outer"), false),
        (None, None, false),
    ] {
        let old = before.map_or_else(|| old.clone(), |text| note(old.clone(), text));
        let new = after.map_or_else(new, |text| note(new(), text));
        let answer = world.answer(Request::Update {
            old: Some(&old),
            new: &new,
        });
        assert_eq!(
            answer.verdict.is_allowed(),
            is_allowed,
            "{before:?} {after:?}"
        );
        assert!(answer.verdict.warnings.is_empty());
    }
}
