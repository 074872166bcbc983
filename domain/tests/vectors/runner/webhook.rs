//! `webhook`: whole reviews over the facts that a case states.

use domain::settings::admission::{
    Answer, Bundle, Facts, HookAnswer, Outcome, Request, VersionFacts, review,
};
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use domain::settings::requirements::check::{Platform, judge};
use domain::violation::{Kind, Verdict, Violation};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Failure, Given, Got, filling};

const LIMITS: Limits = Limits::DEFAULT;

/// `context.cluster`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    application_packages: Vec<String>,
    package_versions: Vec<Version>,
    catalogs: Option<Value>,
    requirements_error: Option<String>,
}

/// An entry of `package_versions`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Version {
    name: String,
    draft: bool,
    #[serde(default)]
    settings_schema: Value,
    #[serde(default)]
    requirements: Value,
}

/// `context.installed`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Installed {
    version: String,
    #[serde(rename = "schema")]
    _schema: Value,
    hook: Option<Hook>,
}

/// `context.installed.hook`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hook {
    valid: Option<bool>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    warnings: Vec<String>,
    error: Option<String>,
}

impl Hook {
    /// A missing `valid` means true.
    fn answer(self) -> Result<HookAnswer, String> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(HookAnswer {
                valid: self.valid.unwrap_or(true),
                message: self.message,
                warnings: self.warnings,
            }),
        }
    }
}

fn taken<T: Default + for<'d> Deserialize<'d>>(value: Option<Value>) -> Result<T, Failure> {
    value.map_or_else(
        || Ok(T::default()),
        |value| Ok(serde_json::from_value(value)?),
    )
}

/// `requirements_error` is what the check of a cluster that is known would say; the cases say no more of theirs.
fn requirements(version: Option<&Version>, unmet: Option<String>) -> Verdict {
    let written = version.map_or(&Value::Null, |version| &version.requirements);
    let mut verdict = judge(written, &Platform::default());
    if let Some(text) = unmet {
        verdict
            .violations
            .push(Violation::new("spec.packageVersion", Kind::Forbidden, text));
    }
    verdict
}

pub fn webhook(given: &mut Given) -> Result<Got, Failure> {
    let context = &mut given.context;
    let operation = context.take_text("operation").unwrap_or_default();
    let object = context.take("object").unwrap_or_default();
    let old = context.take("old_object").filter(|old| !old.is_null());
    // A dry run is like any other request, so nothing reads this.
    context.take_flag("dry_run");
    let cluster: Written = taken(context.take("cluster"))?;
    let mut installed: Option<Installed> = taken(context.take("installed"))?;

    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let repository = text("/spec/packageRepositoryName");
    let default_repository = "deckhouse";
    let repository = if repository.is_empty() {
        default_repository
    } else {
        repository
    };
    let wanted = format!(
        "{repository}-{}-{}",
        text("/spec/packageName"),
        text("/spec/packageVersion")
    );
    let version = cluster
        .package_versions
        .iter()
        .find(|version| version.name == wanted);
    let schemas = version
        .map(|version| {
            PackageSchemas::from_documents(&version.settings_schema, &Value::Null, &LIMITS)
        })
        .transpose()?;
    let catalogs = filling::catalogs(cluster.catalogs)?;
    let running = old
        .as_ref()
        .and_then(|old| old.pointer("/status/currentVersion/version"))
        .and_then(Value::as_str);
    let loaded = installed
        .as_mut()
        .filter(|installed| Some(installed.version.as_str()) == running);
    let hook = loaded.map(|installed| installed.hook.take());
    let requirements = requirements(version, cluster.requirements_error);
    let facts = Facts {
        default_repository,
        package_exists: cluster
            .application_packages
            .iter()
            .any(|name| name == text("/spec/packageName")),
        version: version
            .zip(schemas.as_ref())
            .map(|(version, schemas)| VersionFacts {
                draft: version.draft,
                schemas: Ok(schemas),
                requirements: &requirements,
            }),
        catalogs: &catalogs,
        bundle: match &hook {
            None => Bundle::NotLoaded,
            Some(None) => Bundle::WithoutCheck,
            Some(Some(_)) => Bundle::WithCheck,
        },
        enforce_destructive_switch: false,
    };
    let request = match operation.as_str() {
        "CREATE" => Request::Create(&object),
        "UPDATE" => Request::Update {
            old: old.as_ref(),
            new: &object,
        },
        "DELETE" => Request::Delete,
        other => {
            return Err(Failure(format!(
                "  webhook does not know the operation {other:?}"
            )));
        }
    };
    let (answer, called) = match review(request, &facts, &LIMITS) {
        Outcome::Done(answer) => (answer, false),
        Outcome::AskHook(pending) => {
            let hook = hook
                .flatten()
                .map_or_else(|| Err("no answer".to_owned()), Hook::answer);
            (pending.finish(hook), true)
        }
    };
    Ok(got(&answer, called, &given.expect))
}

fn got(answer: &Answer, called: bool, expect: &serde_json::Map<String, Value>) -> Got {
    let message = answer.message();
    let parts = expect.get("message_contains").and_then(Value::as_array);
    let missing = parts
        .into_iter()
        .flatten()
        .any(|part| !part.as_str().is_some_and(|part| message.contains(part)));
    let contains = match parts {
        Some(parts) if !missing => json!(parts),
        _ => json!(message),
    };
    Got::from([
        ("allowed", json!(answer.verdict.is_allowed())),
        ("message_contains", contains),
        ("warnings", json!(answer.verdict.warnings)),
        ("hook_called", json!(called)),
    ])
}
