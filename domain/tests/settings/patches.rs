//! Section 9: patches of hooks, strict when new, lenient when replayed (S12).

use domain::settings::patch::{Patch, PatchError};
use serde_json::{Value, json};

fn patch(operations: &Value) -> Patch {
    Patch::decode(operations).unwrap()
}

#[test]
fn a_new_patch_must_fit_and_leaves_nothing_behind_if_it_does_not() {
    let before = json!({"a": {"b": 1}});
    for misfit in [
        json!([{"op": "add", "path": "/a/c", "value": 1}, {"op": "remove", "path": "/x"}]),
        json!([{"op": "add", "path": "/x/y", "value": 1}]),
        json!([{"op": "replace", "path": "/x/y", "value": 1}]),
        json!([{"op": "replace", "path": "/a/b/c", "value": 1}]),
        json!([{"op": "test", "path": "/a/b", "value": 2}]),
        json!([{"op": "test", "path": "/a/x", "value": null}]),
    ] {
        let mut document = before.clone();
        assert!(patch(&misfit).apply(&mut document).is_err(), "{misfit}");
        assert_eq!(document, before);
    }
}

#[test]
fn the_four_operations_are_applied_in_order() {
    let mut document = json!({"l": [1]});
    patch(&json!([
        {"op": "add", "path": "/l/-", "value": 2},
        {"op": "add", "path": "/l/0", "value": 0},
        {"op": "test", "path": "/l/2", "value": 2},
        {"op": "replace", "path": "/l/1", "value": null},
        {"op": "remove", "path": "/l/0"},
        {"op": "add", "path": "/a~1b", "value": {}},
    ]))
    .apply(&mut document)
    .unwrap();
    assert_eq!(document, json!({"l": [null, 2], "a/b": {}}));
}

#[test]
fn programs_written_in_go_are_understood() {
    let mut document = json!({"l": [1, 2, 3]});
    patch(&json!([
        {"op": "replace", "path": "/set", "value": 1},
        {"op": "add", "path": "/null"},
        {"op": "remove", "path": "/l/-1"},
        {"op": "remove", "path": "/l/-2"},
    ]))
    .apply(&mut document)
    .unwrap();
    assert_eq!(document, json!({"l": [2], "set": 1, "null": null}));
    for path in ["/l/-2", "/l/-0", "/l/1", "/l/-"] {
        let missing = patch(&json!([{"op": "remove", "path": path}])).apply(&mut document);
        assert!(
            matches!(missing, Err(PatchError::Missing { position: 0, .. })),
            "{path}: {missing:?}"
        );
    }
}

#[test]
fn move_copy_and_malformed_operations_are_refused() {
    let refused = |operations: Value| Patch::decode(&operations).unwrap_err();
    for op in ["move", "copy", "merge", ""] {
        let error = refused(json!([{"op": op, "from": "/a", "path": "/b"}]));
        assert!(
            matches!(error, PatchError::Unsupported { position: 0, .. }),
            "{error}"
        );
    }
    assert!(matches!(refused(json!({})), PatchError::NotAList));
    assert!(matches!(
        refused(json!([{"path": "/a"}])),
        PatchError::Shape { position: 0 }
    ));
    assert!(matches!(
        refused(json!([{"op": "add", "path": 1}])),
        PatchError::Shape { .. }
    ));
    for path in ["a", ""] {
        assert!(matches!(
            refused(json!([{"op": "remove", "path": path}])),
            PatchError::Pointer { .. }
        ));
    }
}

#[test]
fn s12_a_replay_gives_the_document_that_was_validated() {
    let operations = json!([{"op": "add", "path": "/l/-", "value": 1}, {"op": "add", "path": "/l/-", "value": 1}]);
    let mut strict = json!({"l": []});
    patch(&operations).apply(&mut strict).unwrap();
    let mut replayed = json!({"l": []});
    patch(&operations).replay(&mut replayed).unwrap();
    assert_eq!(strict, json!({"l": [1, 1]}));
    assert_eq!(replayed, strict);
}

#[test]
fn s12_a_replay_skips_only_the_removal_of_what_is_gone() {
    let mut document = json!({});
    patch(&json!([{"op": "remove", "path": "/gone"}, {"op": "add", "path": "/kept", "value": 1}]))
        .replay(&mut document)
        .unwrap();
    assert_eq!(document, json!({"kept": 1}));
    assert!(
        patch(&json!([{"op": "add", "path": "/no/parent", "value": 1}]))
            .replay(&mut document)
            .is_err()
    );
}
