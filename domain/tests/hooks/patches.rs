//! Values patches of hooks: judged, stored and replayed (S12).

use domain::hooks::limits::HookLimits;
use domain::hooks::patches::{Accepted, PatchRefused, read};
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use domain::settings::patch::Patch;
use domain::settings::values::values;
use proptest::prelude::*;
use serde_json::{Value, json};

const LIMITS: HookLimits = HookLimits::DEFAULT;

fn schemas(values: &Value) -> PackageSchemas {
    PackageSchemas::from_documents(&Value::Null, values, &Limits::DEFAULT).unwrap()
}

fn accept(
    accepted: &mut Accepted,
    current: &Value,
    operations: &Value,
    schemas: &PackageSchemas,
) -> Result<Option<Value>, PatchRefused> {
    let patch = read(operations.to_string().as_bytes(), &LIMITS).unwrap();
    accepted.accept(&patch, current, schemas, &LIMITS, &Limits::DEFAULT)
}

fn replayed(base: &Value, accepted: &Accepted) -> Value {
    values(base, None, accepted.as_slice(), &Limits::DEFAULT).unwrap()
}

#[test]
fn s12_appends_of_several_runs_are_all_replayed() {
    let base = json!({"l": []});
    let mut accepted = Accepted::default();
    let mut current = base.clone();
    let append = json!([{"op": "add", "path": "/l/-", "value": 1}]);
    for _ in 0..3 {
        current = accept(&mut accepted, &current, &append, &PackageSchemas::default())
            .unwrap()
            .unwrap();
    }
    assert_eq!(current, json!({"l": [1, 1, 1]}));
    assert_eq!(replayed(&base, &accepted), current);
}

#[test]
fn s12_a_hook_that_sets_the_same_keys_for_ever_stores_no_more_for_it() {
    let mut accepted = Accepted::default();
    let mut current = json!({"internal": {}});
    for run in 0..100 {
        let set = json!([
            {"op": "add", "path": "/internal/list", "value": []},
            {"op": "add", "path": "/internal/list/-", "value": run},
            {"op": "add", "path": "/internal/80", "value": run},
            {"op": "test", "path": "/internal/80", "value": run},
        ]);
        current = accept(&mut accepted, &current, &set, &PackageSchemas::default())
            .unwrap()
            .unwrap();
    }
    assert_eq!(accepted.operations(), 3);
    assert_eq!(replayed(&json!({"internal": {}}), &accepted), current);
}

#[test]
fn values_that_break_the_schema_are_refused_and_leave_nothing_behind() {
    let schema = schemas(&json!({
        "type": "object",
        "properties": {"internal": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "x-deckhouse-validations": [{"expression": "!has(self.internal.n) || !has(oldSelf.internal.n) || self.internal.n > oldSelf.internal.n", "message": "only upwards"}],
    }));
    let mut accepted = Accepted::default();
    let set = |n: Value| json!([{"op": "add", "path": "/internal/n", "value": n}]);
    let first = json!({"internal": {}});
    let second = accept(&mut accepted, &first, &set(json!(5)), &schema)
        .unwrap()
        .unwrap();
    for (wrong, part) in [
        (set(json!("x")), "values.internal.n"),
        (set(json!(4)), "only upwards"),
        (
            json!([{"op": "add", "path": "/secret", "value": 1}]),
            "values.secret",
        ),
    ] {
        let before = accepted.clone();
        let refused = accept(&mut accepted, &second, &wrong, &schema).unwrap_err();
        assert!(refused.to_string().contains(part), "{refused}");
        assert_eq!(accepted, before);
    }
}

#[test]
fn a_patch_that_changes_nothing_is_neither_validated_nor_stored() {
    let schema = schemas(&json!({"type": "object"}));
    let mut accepted = Accepted::default();
    let undeclared = json!({"a": 1});
    let same = json!([{"op": "add", "path": "/a", "value": 1}]);
    assert!(
        accept(&mut accepted, &undeclared, &same, &schema)
            .unwrap()
            .is_none()
    );
    assert_eq!(accepted, Accepted::default());
}

#[test]
fn a_queue_in_a_list_ends_at_the_bound_with_words() {
    let limits = HookLimits {
        stored_operations: 4,
        ..LIMITS
    };
    let mut accepted = Accepted::default();
    let mut current = json!({"l": [0]});
    let turn = |n: u32| json!([{"op": "remove", "path": "/l/0"}, {"op": "add", "path": "/l/-", "value": n}]);
    let mut run = |n: u32| -> Result<(), PatchRefused> {
        let patch = Patch::decode(&turn(n)).unwrap();
        let changed = accepted.accept(
            &patch,
            &current,
            &PackageSchemas::default(),
            &limits,
            &Limits::DEFAULT,
        )?;
        current = changed.unwrap();
        Ok(())
    };
    run(1).unwrap();
    run(2).unwrap();
    let refused = run(3).unwrap_err();
    assert!(
        refused.to_string().contains("set whole maps and lists"),
        "{refused}"
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(1)),
        Just(json!({})),
        Just(json!([])),
        Just(json!({"a": {"b": 1}, "0": []})),
        Just(json!([1, {"a": 2}])),
    ]
}

fn any_operation() -> impl Strategy<Value = Value> {
    let token = prop_oneof![Just("a"), Just("b"), Just("0"), Just("1"), Just("-")];
    let op = prop_oneof![Just("add"), Just("add"), Just("remove"), Just("replace")];
    (op, prop::collection::vec(token, 1..4), any_value()).prop_map(|(op, tokens, value)| {
        json!({"op": op, "path": format!("/{}", tokens.join("/")), "value": value})
    })
}

proptest! {
    #[test]
    fn s12_whatever_is_accepted_replays_to_what_was_judged(
        base in prop_oneof![Just(json!({})), Just(json!({"a": [], "b": {"0": {"a": 1}}, "0": [[1], 2]}))],
        runs in prop::collection::vec(prop::collection::vec(any_operation(), 1..4), 1..12),
    ) {
        let mut accepted = Accepted::default();
        let mut current = base.clone();
        for run in runs {
            let before = accepted.clone();
            let judged = accept(&mut accepted, &current, &Value::Array(run), &PackageSchemas::default());
            if let Ok(Some(changed)) = judged {
                current = changed;
            } else {
                prop_assert_eq!(&accepted, &before);
            }
            prop_assert_eq!(&replayed(&base, &accepted), &current);
        }
    }
}
