//! `Application`: from the objects of a review to the domain's outcome, and what is asked of the process for it.
//!
//! Decides how much of the objects is decoded: of the stored one neither settings nor anything else that no step reads. Steps and
//! texts are the domain's (`domain::settings::admission`).

use std::sync::Arc;

use domain::packages::names::VersionId;
use domain::settings::admission::{Answer as Judgement, VersionFacts};
use domain::settings::admission::{Application, Bundle, Facts, Outcome, Request, review};
use domain::settings::grants::Catalogs;
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use domain::settings::rules::set::Rules;
use domain::settings::switch::ACKNOWLEDGEMENT;
use domain::violation::{Verdict, Violation};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::checks::{Question, SettingsChecks};
use crate::object::too_long;
use crate::parts::{Parts, starts_as_object};
use crate::ports::{Place, Route};
use crate::refusal::Refusal;
use crate::review::Review;
use crate::strict;
use crate::unreadable::{OBJECT, OLD_OBJECT, Unreadable};

const ROUTE: Route = Route::Application;

/// What Applications are judged by.
#[derive(Clone)]
pub struct Applications {
    /// What is cached of packages and grants.
    pub view: Arc<dyn ApplicationView>,
    /// The packages' own settings checks.
    pub checks: Arc<dyn SettingsChecks>,
    /// The repository that an Application without `packageRepositoryName` means.
    pub default_repository: String,
    /// Refuse a destructive switch that is not acknowledged, in place of a warning (S8).
    pub enforce_destructive_switch: bool,
}

/// Read access to what the process has cached of packages and grants. It answers from memory and at once.
pub trait ApplicationView: Send + Sync {
    /// True once every cache was filled for the first time. Until then no Application is judged.
    fn synced(&self) -> bool;

    /// True if there is an `ApplicationPackage` of this name.
    fn has_package(&self, name: &str) -> bool;

    /// The version, matched by its spec (S27); compiled once and shared.
    fn version(&self, id: &VersionId) -> Option<Arc<KnownVersion>>;

    /// What a namespace was granted; nothing if there is no catalogue (S28).
    fn catalogs(&self, namespace: &str) -> Arc<Catalogs>;
}

/// Units that the rules of a review may cost where it was read: some 0.2 ms, and 1 ms for the worst rules known.
const AT_ONCE_UNITS: u64 = 50_000;

/// What is known of a package version.
#[derive(Debug)]
pub struct KnownVersion {
    /// Its metadata has not been loaded.
    pub draft: bool,
    /// The published schemas, compiled, or why they cannot be.
    pub schemas: Result<Arc<PackageSchemas>, String>,
    /// What its requirements say of this cluster (S23).
    pub requirements: Verdict,
}

/// How far an Application was judged.
pub(crate) enum Said {
    Done(Judgement),
    /// The package's own check has to be asked.
    Ask(domain::settings::admission::Pending, Question),
}

/// Why a review has no outcome.
pub(crate) enum Unjudged {
    /// A part of it cannot be read: it is denied.
    Unreadable(Unreadable),
    /// It gets an HTTP error.
    Refused(Refusal),
    /// It may take longer than there is time for where requests are taken in.
    TooDear,
}

impl From<Unreadable> for Unjudged {
    fn from(problem: Unreadable) -> Self {
        Self::Unreadable(problem)
    }
}

/// The name, and the outcome for an Application as it is wanted, and as it is stored if this is an edit.
///
/// # Errors
/// The caches are empty still, or something of the review cannot be read.
pub(crate) fn judge(
    applications: &Applications,
    asked: &Review<'_>,
    place: Place,
) -> Result<(String, Said), Unjudged> {
    if !applications.view.synced() {
        return Err(Unjudged::Refused(Refusal::Unsynced));
    }
    let wanted = asked.parts(ROUTE)?;
    let stored = asked.old_parts(ROUTE)?;
    let new = match wanted_document(&wanted)? {
        Ok(new) => new,
        Err(violation) => {
            let verdict = Verdict::refused(vec![violation]);
            let refused = Judgement {
                verdict,
                ..Judgement::default()
            };
            return Ok((wanted.metadata.name, Said::Done(refused)));
        }
    };
    let old = stored.as_ref().map(stored_document).transpose()?;
    let request = match &old {
        None => Request::Create(&new),
        Some(old) => Request::Update {
            old: Some(old),
            new: &new,
        },
    };
    // What cannot be read is told by the review itself, whatever the facts.
    let id = Application::read(&new)
        .ok()
        .map(|named| named.version_id(&applications.default_repository));
    let outcome = with_facts(applications, &asked.namespace, id.as_ref(), request, place)?;
    let name = wanted.metadata.name;
    let said = match (outcome, id) {
        (Outcome::AskHook(mut pending), Some(version)) => {
            let question = Question {
                namespace: asked.namespace.clone(),
                name: name.clone(),
                version,
                settings: std::mem::take(&mut pending.settings),
            };
            Said::Ask(pending, question)
        }
        // Nothing asks for a check of a version that nobody named.
        (Outcome::AskHook(pending), None) => {
            Said::Done(pending.finish(Err("no version is named".to_owned())))
        }
        (Outcome::Done(judgement), _) => Said::Done(judgement),
    };
    Ok((name, said))
}

/// The domain's review with what the caches hold.
fn with_facts(
    applications: &Applications,
    namespace: &str,
    id: Option<&VersionId>,
    request: Request<'_>,
    place: Place,
) -> Result<Outcome, Unjudged> {
    let view = applications.view.as_ref();
    let version = id.and_then(|id| view.version(id));
    let limits = limits_at(place, version.as_deref())?;
    let catalogs = view.catalogs(namespace);
    let facts = Facts {
        default_repository: &applications.default_repository,
        package_exists: id.is_some_and(|id| view.has_package(&id.package)),
        version: version.as_ref().map(|version| VersionFacts {
            draft: version.draft,
            schemas: version.schemas.as_deref().map_err(String::as_str),
            requirements: &version.requirements,
        }),
        catalogs: &catalogs,
        bundle: id.map_or(Bundle::NotLoaded, |id| applications.checks.bundle(id)),
        enforce_destructive_switch: applications.enforce_destructive_switch,
    };
    match (review(request, &facts, &limits), place) {
        (Outcome::Done(answer), Place::AtOnce) if answer.over_budget => Err(Unjudged::TooDear),
        (outcome, _) => Ok(outcome),
    }
}

/// Where requests are taken in, only rules that are compiled already run, and only as many as take less time than the way to
/// another thread and back.
fn limits_at(place: Place, version: Option<&KnownVersion>) -> Result<Limits, Unjudged> {
    let schemas = version.and_then(|version| version.schemas.as_ref().ok());
    let rules = schemas.and_then(|schemas| Some(&schemas.settings.as_ref()?.rules));
    match (place, rules) {
        (Place::AtOnce, Some(rules)) if !rules.are_compiled() => Err(Unjudged::TooDear),
        (Place::AtOnce, _) => Ok(Limits {
            rule_units: AT_ONCE_UNITS,
            ..Limits::DEFAULT
        }),
        (Place::Apart, rules) => {
            rules.into_iter().for_each(Rules::compile);
            Ok(Limits::DEFAULT)
        }
    }
}

/// The wanted object; its settings are decoded unless nobody will look at them. Inside, the refusal of a spec that is too long.
fn wanted_document(parts: &Parts<'_>) -> Result<Result<Value, Violation>, Unreadable> {
    let spec = parts.spec.get();
    if parts.metadata.deletion_timestamp.is_some() {
        return Ok(Ok(document(parts, names(OBJECT, spec)?, Value::Null)));
    }
    if spec.len() > ROUTE.spec_max() {
        return Ok(Err(too_long(spec.len(), ROUTE.spec_max())));
    }
    let spec = serde_json::from_str(spec)
        .map_err(|error| Unreadable::new(OBJECT, format!("spec: {error}")))?;
    Ok(Ok(document(parts, spec, Value::Null)))
}

/// The stored object with the parts of its status that say what is in force.
fn stored_document(parts: &Parts<'_>) -> Result<Value, Unreadable> {
    let spec = names(OLD_OBJECT, parts.spec.get())?;
    Ok(document(parts, spec, in_force(parts.status)?))
}

fn document(parts: &Parts<'_>, spec: Value, status: Value) -> Value {
    let metadata = &parts.metadata;
    let mut annotations = serde_json::Map::new();
    if let Some(entries) = &metadata.acknowledgement {
        annotations.insert(ACKNOWLEDGEMENT.to_owned(), entries.as_str().into());
    }
    let metadata = json!({
        "name": metadata.name,
        "namespace": metadata.namespace,
        "deletionTimestamp": metadata.deletion_timestamp.is_some().then_some("set"),
        "annotations": annotations,
    });
    // Moved in: the macro would copy them.
    let parts = [("metadata", metadata), ("spec", spec), ("status", status)];
    Value::Object(
        parts
            .into_iter()
            .map(|(key, part)| (key.to_owned(), part))
            .collect(),
    )
}

/// The fields of a spec that say which package is meant; the rest is checked for form and dropped.
fn names(field: &'static str, spec: &str) -> Result<Value, Unreadable> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Names {
        #[serde(rename = "packageName")]
        package: Value,
        #[serde(rename = "packageVersion")]
        version: Value,
        #[serde(rename = "packageRepositoryName")]
        repository: Value,
    }
    let unreadable = |error: serde_json::Error| Unreadable::new(field, format!("spec: {error}"));
    strict::check_within(spec).map_err(unreadable)?;
    if !starts_as_object(spec) {
        return Ok(Value::Null);
    }
    let names: Names = serde_json::from_str(spec).map_err(unreadable)?;
    Ok(json!({
        "packageName": names.package,
        "packageVersion": names.version,
        "packageRepositoryName": names.repository,
    }))
}

/// What the stored status says of the version and the settings that are in force.
fn in_force(status: Option<&RawValue>) -> Result<Value, Unreadable> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Status<'a> {
        current_version: Value,
        #[serde(borrow)]
        last_applied_configuration: Option<&'a RawValue>,
    }
    let unreadable =
        |error: serde_json::Error| Unreadable::new(OLD_OBJECT, format!("status: {error}"));
    let Some(status) = status
        .map(RawValue::get)
        .filter(|text| starts_as_object(text))
    else {
        return Ok(Value::Null);
    };
    let status: Status<'_> = serde_json::from_str(status).map_err(unreadable)?;
    let applied = match status.last_applied_configuration.map(RawValue::get) {
        None => Value::Null,
        Some(text) if text.len() > ROUTE.spec_max() => {
            let text = format!(
                "status.lastAppliedConfiguration: has {} bytes; at most {} are read",
                text.len(),
                ROUTE.spec_max()
            );
            return Err(Unreadable::new(OLD_OBJECT, text));
        }
        Some(text) => serde_json::from_str(text).map_err(unreadable)?,
    };
    let mut in_force = serde_json::Map::new();
    in_force.insert("currentVersion".to_owned(), status.current_version);
    in_force.insert("lastAppliedConfiguration".to_owned(), applied);
    Ok(Value::Object(in_force))
}
