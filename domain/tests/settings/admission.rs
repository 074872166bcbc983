//! Section 8: the steps in order, and the decisions that they rest on.

use std::collections::BTreeMap;

use domain::settings::admission::{
    Answer, Bundle, Facts, HookAnswer, Outcome, Request, VersionFacts, review,
};
use domain::settings::grants::{Catalog, Catalogs};
use domain::settings::package::PackageSchemas;
use domain::settings::switch::ACKNOWLEDGEMENT;
use domain::violation::{Kind, Verdict, Violation};
use serde_json::{Value, json};

use crate::LIMITS;

/// A request and what the caches hold; each test changes what it is about.
struct World {
    schema: Value,
    package_exists: bool,
    version_exists: bool,
    draft: bool,
    unusable: Option<&'static str>,
    catalogs: Catalogs,
    bundle: Bundle,
    requirements: Verdict,
    enforce: bool,
}

impl World {
    fn with(schema: Value) -> Self {
        let disks = Catalog {
            default: "fast".into(),
            available: vec!["fast".into(), "slow".into()],
        };
        Self {
            schema,
            package_exists: true,
            version_exists: true,
            draft: false,
            unusable: None,
            catalogs: Catalogs(BTreeMap::from([("disks".to_owned(), disks)])),
            bundle: Bundle::WithoutCheck,
            requirements: Verdict::allowed(),
            enforce: false,
        }
    }

    fn review(&self, request: Request<'_>) -> Outcome {
        let schemas = PackageSchemas::from_documents(&self.schema, &Value::Null, &LIMITS).unwrap();
        let version = VersionFacts {
            draft: self.draft,
            schemas: self.unusable.map_or(Ok(&schemas), Err),
            requirements: &self.requirements,
        };
        let facts = Facts {
            default_repository: "deckhouse",
            package_exists: self.package_exists,
            version: self.version_exists.then_some(version),
            catalogs: &self.catalogs,
            bundle: self.bundle,
            enforce_destructive_switch: self.enforce,
        };
        review(request, &facts, &LIMITS)
    }

    fn answer(&self, request: Request<'_>) -> Answer {
        match self.review(request) {
            Outcome::Done(answer) => answer,
            Outcome::AskHook(pending) => panic!("asks the hook about {}", pending.settings),
        }
    }

    fn create(&self, settings: Value) -> Answer {
        self.answer(Request::Create(&application(settings)))
    }

    /// A change of an application with `applied` settings; `version` is installed if there is one.
    fn update(&self, applied: Value, installed: Option<&str>, settings: Value) -> Answer {
        let old = stored(applied, installed);
        self.answer(Request::Update {
            old: Some(&old),
            new: &application(settings),
        })
    }
}

fn application(settings: Value) -> Value {
    json!({
        "metadata": {"name": "cache", "namespace": "team-a"},
        "spec": {"packageName": "kv", "packageVersion": "v1.0.0", "packageRepositoryName": "main", "settings": settings},
    })
}

fn stored(applied: Value, installed: Option<&str>) -> Value {
    let mut old = application(json!({"manifest": "says nothing"}));
    old["status"] =
        json!({"lastAppliedConfiguration": applied, "currentVersion": {"version": installed}});
    old
}

fn refused(answer: &Answer) -> String {
    assert!(!answer.verdict.is_allowed());
    answer.message()
}

fn allowed(answer: &Answer) {
    assert!(answer.verdict.is_allowed(), "{}", answer.message());
}

const V1: Option<&str> = Some("v1.0.0");
const ABOUT: &str = "Application team-a/cache (package kv, version v1.0.0): ";

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
