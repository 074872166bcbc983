//! The answer to `hook config`: one JSON document, or a bare list from programs of before SDK 0.3.
//!
//! The first JSON value counts and unknown keys are ignored, as the protocol says; everything that is read has its type, and
//! every language in it (crontab, selectors, jq) is checked here, once per load of a package.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::binding::{Hook, KubernetesBinding, MAIN_QUEUE, Schedule};
use super::crontab::{Crontab, CrontabError};
use super::jq::{Jq, JqError};
use super::lifecycle::Lifecycle;
use super::limits::HookLimits;
use super::selector::{Fields, Labels, SelectorError};

/// What a program says of itself.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its hooks, by index.
    pub hooks: Vec<Hook>,
    /// Whether it has a settings check.
    pub has_settings_check: bool,
    /// Whether it has a readiness hook; applications never run one.
    pub has_readiness: bool,
}

/// Why an answer to `hook config` is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Over [`HookLimits::config_bytes`].
    #[error("the answer has {found} bytes, the limit is {most}")]
    TooLong {
        /// Its bytes.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// It does not begin with JSON.
    #[error("the answer does not begin with a JSON document: {0}")]
    NotJson(String),
    /// A key has a wrong type.
    #[error("{path}: {problem}")]
    Shape {
        /// Where.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// Another version of the protocol.
    #[error(
        "version is {0:?}: only \"v1\" is known; does the program log to stdout before its answer?"
    )]
    Version(String),
    /// More hooks or bindings than the limit.
    #[error("{path}: {found} are too many, the limit is {most}")]
    TooMany {
        /// Where.
        path: String,
        /// How many.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// A binding that cannot be.
    #[error("{path}: {problem}")]
    Binding {
        /// Where.
        path: String,
        /// Why.
        problem: BindingError,
    },
}

/// Why a binding is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// Another version of the hook's own document.
    #[error("configVersion is {0:?}: only \"v1\" is known")]
    Version(String),
    /// A crontab.
    #[error(transparent)]
    Crontab(CrontabError),
    /// No kind.
    #[error("a kind is needed")]
    NoKind,
    /// Not a group and version.
    #[error("apiVersion {0:?} is no group and version")]
    ApiVersion(String),
    /// A selector.
    #[error(transparent)]
    Selector(SelectorError),
    /// The objects' names are given twice.
    #[error("nameSelector.matchNames and a fieldSelector on metadata.name exclude each other")]
    NamedTwice,
    /// The jq filter.
    #[error(transparent)]
    Jq(JqError),
    /// A snapshot of a binding that does not exist, or exists twice.
    #[error("includeSnapshotsFrom: exactly one Kubernetes binding must be named {0:?}")]
    Snapshot(String),
}

#[derive(Deserialize)]
struct Document {
    version: Option<String>,
    hooks: Option<Vec<Written>>,
    readiness: Option<Value>,
    has_settings_check: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    config_version: Option<String>,
    metadata: Option<Metadata>,
    on_startup: Option<u64>,
    before_helm: Option<u64>,
    after_helm: Option<u64>,
    before_delete_helm: Option<u64>,
    after_delete_helm: Option<u64>,
    schedule: Option<Vec<WrittenSchedule>>,
    kubernetes: Option<Vec<WrittenKubernetes>>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    name: Option<String>,
}

#[derive(Deserialize)]
struct WrittenSchedule {
    name: Option<String>,
    crontab: Option<String>,
    queue: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenKubernetes {
    name: Option<String>,
    api_version: Option<String>,
    kind: Option<String>,
    name_selector: Option<Names>,
    label_selector: Option<Labels>,
    field_selector: Option<Fields>,
    jq_filter: Option<String>,
    execute_hook_on_event: Option<bool>,
    execute_hook_on_synchronization: Option<bool>,
    wait_for_synchronization: Option<bool>,
    keep_full_objects_in_memory: Option<bool>,
    allow_failure: Option<bool>,
    include_snapshots_from: Option<Vec<String>>,
    queue: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    match_names: Option<Vec<String>>,
}

/// Reads the answer of the program at this display path. Filters are compiled: call it on a thread with a stack (see `jq`).
///
/// # Errors
/// The first thing that makes the package unloadable, with its place.
pub fn parse(stdout: &str, program: &str, limits: &HookLimits) -> Result<Program, ConfigError> {
    if stdout.len() > limits.config_bytes {
        return Err(ConfigError::TooLong {
            found: stdout.len(),
            most: limits.config_bytes,
        });
    }
    let document = if stdout.trim_start().starts_with('[') {
        Document {
            version: Some("v1".to_owned()),
            hooks: Some(first(stdout)?),
            readiness: None,
            has_settings_check: None,
        }
    } else {
        first(stdout)?
    };
    let version = document.version.unwrap_or_default();
    if version != "v1" {
        return Err(ConfigError::Version(version));
    }
    let written = document.hooks.unwrap_or_default();
    bounded("hooks", written.len(), limits.hooks)?;
    Ok(Program {
        hooks: written
            .into_iter()
            .enumerate()
            .map(|(index, written)| hook(program, index, written, limits))
            .collect::<Result<_, _>>()?,
        has_settings_check: document.has_settings_check.unwrap_or_default(),
        has_readiness: document.readiness.is_some_and(|written| !written.is_null()),
    })
}

/// The first JSON value, in its type.
fn first<T: serde::de::DeserializeOwned>(stdout: &str) -> Result<T, ConfigError> {
    let value = serde_json::Deserializer::from_str(stdout)
        .into_iter::<Value>()
        .next()
        .transpose()
        .map_err(|error| ConfigError::NotJson(error.to_string()))?
        .ok_or_else(|| ConfigError::NotJson("it is empty".to_owned()))?;
    serde_path_to_error::deserialize(value).map_err(|error| ConfigError::Shape {
        path: error.path().to_string(),
        problem: error.into_inner().to_string(),
    })
}

fn bounded(path: &str, found: usize, most: usize) -> Result<(), ConfigError> {
    if found > most {
        return Err(ConfigError::TooMany {
            path: path.to_owned(),
            found,
            most,
        });
    }
    Ok(())
}

fn hook(
    program: &str,
    index: usize,
    written: Written,
    limits: &HookLimits,
) -> Result<Hook, ConfigError> {
    let version = written.config_version.unwrap_or_default();
    let place = |part: &str| format!("hooks[{index}]{part}");
    if version != "v1" {
        return Err(ConfigError::Binding {
            path: place(""),
            problem: BindingError::Version(version),
        });
    }
    let orders = [
        (Lifecycle::OnStartup, written.on_startup),
        (Lifecycle::BeforeHelm, written.before_helm),
        (Lifecycle::AfterHelm, written.after_helm),
        (Lifecycle::BeforeDeleteHelm, written.before_delete_helm),
        (Lifecycle::AfterDeleteHelm, written.after_delete_helm),
    ];
    let schedules = written.schedule.unwrap_or_default();
    let kubernetes = written.kubernetes.unwrap_or_default();
    bounded(&place(".schedule"), schedules.len(), limits.bindings)?;
    bounded(&place(".kubernetes"), kubernetes.len(), limits.bindings)?;
    let included: Vec<Vec<String>> = kubernetes
        .iter()
        .map(|written| written.include_snapshots_from.clone().unwrap_or_default())
        .collect();
    let schedules = each(&place(".schedule"), schedules, schedule)?;
    let kubernetes = each(&place(".kubernetes"), kubernetes, |written| {
        binding(written, limits)
    })?;
    for (position, names) in included.iter().enumerate() {
        included_exist(names, &kubernetes).map_err(|problem| ConfigError::Binding {
            path: place(&format!(".kubernetes[{position}]")),
            problem,
        })?;
    }
    let name = written
        .metadata
        .unwrap_or_default()
        .name
        .unwrap_or_default();
    Ok(Hook {
        name: format!("{program}:{name}:{index}"),
        program: program.to_owned(),
        index,
        lifecycle: orders
            .into_iter()
            .filter_map(|(lifecycle, order)| order.map(|order| (lifecycle, order)))
            .collect::<BTreeMap<_, _>>(),
        schedules,
        kubernetes,
    })
}

fn each<W, B>(
    path: &str,
    written: Vec<W>,
    read: impl Fn(W) -> Result<B, BindingError>,
) -> Result<Vec<B>, ConfigError> {
    written
        .into_iter()
        .enumerate()
        .map(|(position, written)| {
            read(written).map_err(|problem| ConfigError::Binding {
                path: format!("{path}[{position}]"),
                problem,
            })
        })
        .collect()
}

fn schedule(written: WrittenSchedule) -> Result<Schedule, BindingError> {
    let crontab = written.crontab.unwrap_or_default();
    Ok(Schedule {
        name: named(written.name, "schedule"),
        crontab: Crontab::parse(&crontab).map_err(BindingError::Crontab)?,
        queue: named(written.queue, MAIN_QUEUE),
    })
}

fn binding(
    written: WrittenKubernetes,
    limits: &HookLimits,
) -> Result<KubernetesBinding, BindingError> {
    let kind = named(written.kind, "");
    if kind.is_empty() {
        return Err(BindingError::NoKind);
    }
    let api_version = written.api_version.filter(|version| !version.is_empty());
    if let Some(version) = &api_version
        && !is_group_and_version(version)
    {
        return Err(BindingError::ApiVersion(version.clone()));
    }
    let fields = written.field_selector.unwrap_or_default();
    let names = written
        .name_selector
        .and_then(|names| names.match_names)
        .unwrap_or_default();
    if !names.is_empty() && fields.names_objects() {
        return Err(BindingError::NamedTwice);
    }
    let jq = written.jq_filter.filter(|filter| !filter.is_empty());
    if let Some(filter) = &jq {
        Jq::compile(filter, limits).map_err(BindingError::Jq)?;
    }
    let labels = written.label_selector.unwrap_or_default();
    let queue = written.queue.unwrap_or_default();
    Ok(KubernetesBinding {
        name: named(written.name, "kubernetes"),
        api_version,
        kind,
        names,
        label_selector: labels.text().map_err(BindingError::Selector)?,
        field_selector: fields.text().map_err(BindingError::Selector)?,
        jq,
        keeps_objects: written.keep_full_objects_in_memory.unwrap_or(false),
        on_event: written.execute_hook_on_event.unwrap_or(true),
        on_synchronization: written.execute_hook_on_synchronization.unwrap_or(true),
        // Without a queue of its own the run is in the way of the pipeline anyhow.
        waits: queue.is_empty() || written.wait_for_synchronization.unwrap_or(true),
        may_fail: written.allow_failure.unwrap_or(false),
        queue: named(Some(queue), MAIN_QUEUE),
    })
}

fn included_exist(names: &[String], bindings: &[KubernetesBinding]) -> Result<(), BindingError> {
    let wrong = names
        .iter()
        .find(|name| bindings.iter().filter(|it| it.name == **name).count() != 1);
    wrong.map_or(Ok(()), |name| Err(BindingError::Snapshot(name.clone())))
}

fn named(written: Option<String>, default: &str) -> String {
    written
        .filter(|written| !written.is_empty())
        .unwrap_or_else(|| default.to_owned())
}

/// `version` or `group/version`, in the characters that both may have: it becomes a part of a URL's path.
fn is_group_and_version(written: &str) -> bool {
    let (group, version) = written.split_once('/').unwrap_or(("core", written));
    let is_word = |text: &str, also: &[u8]| {
        !text.is_empty()
            && text.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || also.contains(&byte)
            })
    };
    is_word(version, b"-") && is_word(group, b"-.") && !group.starts_with('.')
}
