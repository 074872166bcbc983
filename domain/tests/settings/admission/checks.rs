//! When the package's own check is asked, and what its answer does (S5).

use domain::settings::admission::{Bundle, HookAnswer, Outcome, Request};
use serde_json::{Value, json};

use super::{ABOUT, V1, World, allowed, application, refused, stored};

#[test]
fn s5_the_version_asked_for_judges_and_its_hook_is_not_asked() {
    let mut world = World::with(json!({"properties": {
        "n": {"type": "integer"},
        "disk": {"type": "string", "x-deckhouse-grantable-resource": "disks"},
    }, "x-deckhouse-validations": [{"expression": "self.n >= oldSelf.n", "message": "n cannot shrink"}]}));
    world.bundle = Bundle::WithCheck;
    let other = Some("v0.9.0");
    allowed(&world.update(json!({"n": 1, "disk": "fast"}), other, json!({"n": 2})));
    assert!(
        refused(&world.update(json!({"n": 3}), other, json!({"n": 2}))).contains("n cannot shrink")
    );
    assert!(
        refused(&world.update(json!({}), other, json!({"disk": "nvme"})))
            .contains("spec.settings.disk")
    );
}

#[test]
fn the_hook_is_asked_only_if_the_version_stays_and_settings_change() {
    let mut world = World::with(json!({"properties": {"n": {"type": "integer", "default": 1}}}));
    world.bundle = Bundle::WithCheck;
    let asks = |applied: Value, installed: Option<&str>, settings: Value| {
        let (old, new) = (stored(applied, installed), application(settings));
        match world.review(Request::Update {
            old: Some(&old),
            new: &new,
        }) {
            Outcome::AskHook(pending) => Some(pending.settings),
            Outcome::Done(_) => None,
        }
    };
    assert_eq!(
        asks(json!({"n": 1}), V1, json!({"n": 2})),
        Some(json!({"n": 2}))
    );
    assert_eq!(asks(json!({"n": 2}), V1, json!({})), Some(json!({"n": 1})));
    assert_eq!(asks(json!({"n": 1.0}), V1, json!({})), None);
    assert_eq!(asks(json!({"n": 1}), Some("v0.9.0"), json!({"n": 2})), None);
    assert_eq!(asks(json!({"n": 1}), None, json!({"n": 2})), None);
    assert_eq!(asks(json!({"n": 1}), V1, json!({"n": "x"})), None);
}

#[test]
fn an_answer_of_the_hook_ends_the_review() {
    let mut world = World::with(
        json!({"properties": {"n": {"type": "integer"}, "f": {"x-deckhouse-immutable": true}}}),
    );
    world.bundle = Bundle::WithCheck;
    world
        .requirements
        .warnings
        .push("unknown requirement".into());
    let finish = |settings: Value, answer: Result<HookAnswer, String>| {
        let (old, new) = (stored(json!({"n": 1, "f": 1}), V1), application(settings));
        match world.review(Request::Update {
            old: Some(&old),
            new: &new,
        }) {
            Outcome::AskHook(pending) => pending.finish(answer),
            Outcome::Done(answer) => panic!("{}", answer.message()),
        }
    };
    let says = |valid: bool, message: &str, warnings: &[&str]| {
        let warnings = warnings.iter().map(ToString::to_string).collect();
        Ok(HookAnswer {
            valid,
            message: message.into(),
            warnings,
        })
    };
    let good = json!({"n": 2, "f": 1});
    let answer = finish(good.clone(), says(true, "", &["odd"]));
    allowed(&answer);
    assert_eq!(answer.verdict.warnings, ["odd", "unknown requirement"]);
    assert_eq!(
        refused(&finish(good.clone(), says(false, "too large", &[]))),
        "spec.settings: too large"
    );
    assert!(
        refused(&finish(good.clone(), Err("timed out".into())))
            .contains("settings check failed: timed out")
    );
    refused(&finish(good, says(false, "", &[])));
    assert!(refused(&finish(json!({"n": 2, "f": 2}), says(true, "", &[]))).starts_with(ABOUT));
    assert_eq!(
        refused(&finish(
            json!({"n": 2, "f": 2}),
            says(false, "too large", &[])
        )),
        "spec.settings: too large"
    );
}

#[test]
fn a_bundle_that_is_not_loaded_here_allows_with_a_warning() {
    let mut world = World::with(json!({"properties": {"n": {"type": "integer"}}}));
    world.bundle = Bundle::NotLoaded;
    let answer = world.update(json!({"n": 1}), V1, json!({"n": 2}));
    allowed(&answer);
    assert_eq!(
        answer.verdict.warnings,
        ["the package's settings check will run when the settings are applied"]
    );
    assert!(
        world
            .update(json!({"n": 1}), V1, json!({"n": 1}))
            .verdict
            .warnings
            .is_empty()
    );
}
