//! Section 8: a request, what the caches hold, and helpers for the tests of what is answered.

mod checks;
mod decisions;
mod steps;
mod switches;

use std::collections::BTreeMap;

use domain::settings::admission::{Answer, Bundle, Facts, Outcome, Request, VersionFacts, review};
use domain::settings::grants::{Catalog, Catalogs};
use domain::settings::package::PackageSchemas;
use domain::violation::Verdict;
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
