//! Orphan resources: what a package's hooks made and no release removes (section 9).
//!
//! Three steps, each a function: which kinds the package declares, which served resources these are, which of the listed objects
//! are deleted. Asking the cluster and deleting is done elsewhere; nothing here knows a client.

use std::collections::BTreeMap;

use serde_json::Value;

/// The values field that declares kinds.
pub const FIELD: &str = "orphanResources";
/// The label that tells whose object it is.
pub const INSTANCE_LABEL: &str = "packages.deckhouse.io/instance";

/// A declared kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declared {
    /// The kind; empty matches nothing.
    pub kind: String,
    /// `v1` for the kind in every group that serves it at that version, `group/v1` for one group; empty matches nothing.
    pub version: String,
}

/// The field is not a list of objects: the purge is skipped, removal goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{FIELD} is not a list of objects with `kind` and `version`: orphan resources are not deleted"
)]
pub struct Malformed;

/// The kinds that current values declare; a missing or `null` field declares none.
///
/// # Errors
/// [`Malformed`].
pub fn declared(values: &Value) -> Result<Vec<Declared>, Malformed> {
    let Some(field) = values.get(FIELD).filter(|field| !field.is_null()) else {
        return Ok(Vec::new());
    };
    let text = |entry: &Value, key: &str| match entry.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(Malformed),
    };
    let entries = field.as_array().ok_or(Malformed)?;
    entries
        .iter()
        .map(|entry| {
            if !entry.is_object() {
                return Err(Malformed);
            }
            Ok(Declared {
                kind: text(entry, "kind")?,
                version: text(entry, "version")?,
            })
        })
        .collect()
}

/// The kinds of a package that is not loaded: the default of the field in its published values schema.
///
/// # Errors
/// [`Malformed`].
pub fn declared_by_schema(values_schema: &Value) -> Result<Vec<Declared>, Malformed> {
    let default = values_schema.pointer(&format!("/properties/{FIELD}/default"));
    declared(&serde_json::json!({ FIELD: default }))
}

/// A resource as discovery tells of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Served {
    /// `v1` or `group/v1`.
    pub group_version: String,
    /// The plural name; with a slash it is a subresource.
    pub plural: String,
    /// The kind.
    pub kind: String,
    /// In a namespace, or of the cluster.
    pub namespaced: bool,
    /// What can be done with it.
    pub verbs: Vec<String>,
}

impl Served {
    /// Subresources and what cannot be listed and deleted do not count.
    fn counts(&self) -> bool {
        let can = |verb: &str| self.verbs.iter().any(|known| known == verb);
        !self.plural.contains('/') && can("list") && can("delete")
    }
}

/// What the declared kinds are in this cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// What to list in the Application's namespace, each once.
    pub resources: Vec<Served>,
    /// Declared kinds that are not served: looked up once more with a fresh discovery, then warned of and skipped.
    pub unknown: Vec<Declared>,
    /// Declared kinds of cluster scope: warned of and skipped.
    pub cluster_scoped: Vec<Declared>,
}

/// Finds the declared kinds among the served ones.
#[must_use]
pub fn resolve(declared: &[Declared], served: &[Served]) -> Resolved {
    let mut resolved = Resolved::default();
    for wanted in declared {
        if wanted.kind.is_empty() || wanted.version.is_empty() {
            continue;
        }
        let found: Vec<_> = served
            .iter()
            .filter(|resource| resource.counts() && wanted.is(resource))
            .collect();
        if found.is_empty() {
            resolved.unknown.push(wanted.clone());
        } else if found.iter().all(|resource| !resource.namespaced) {
            resolved.cluster_scoped.push(wanted.clone());
        }
        resolved.resources.extend(
            found
                .into_iter()
                .filter(|resource| resource.namespaced)
                .cloned(),
        );
    }
    resolved.resources.sort();
    resolved.resources.dedup();
    resolved
}

impl Declared {
    fn is(&self, resource: &Served) -> bool {
        if self.kind != resource.kind {
            return false;
        }
        if self.version.contains('/') {
            return self.version == resource.group_version;
        }
        let version = resource.group_version.rsplit('/').next();
        version == Some(self.version.as_str())
    }
}

/// Why an instance's objects cannot be found: its name is no value of a label, so no object can carry it.
///
/// A label value has at most 63 characters, letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit.
#[must_use]
pub fn is_label_value(instance: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = instance.as_bytes();
    bytes.len() <= 63
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// What is known of a listed object: metadata only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `metadata.deletionTimestamp` is set.
    pub deleting: bool,
}

/// True if the object is deleted with its instance: it carries the instance's label, is not being deleted, and is not one that
/// outlives its release.
#[must_use]
pub fn is_deleted(object: &Listed, instance: &str) -> bool {
    is_label_value(instance)
        && object.labels.get(INSTANCE_LABEL).map(String::as_str) == Some(instance)
        && !object.deleting
        && !outlives_release(&object.annotations)
}

/// The annotations by which werf and Helm keep an object; Helm's counts only where werf's is absent.
fn outlives_release(annotations: &BTreeMap<String, String>) -> bool {
    let keeps = |policy: &String| {
        policy
            .split(',')
            .any(|word| matches!(word.trim(), "keep" | "skip-delete"))
    };
    if annotations
        .get("werf.io/ownership")
        .is_some_and(|owner| owner.trim() == "anyone")
    {
        return true;
    }
    annotations
        .get("werf.io/resource-policy")
        .or_else(|| annotations.get("helm.sh/resource-policy"))
        .is_some_and(keeps)
}

/// What the API server answered to a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Deleted, or on its way.
    Accepted,
    /// No such object any more.
    NotFound,
    /// Another object stands there now: the UID is not the one that was listed.
    Conflict,
    /// Anything else.
    Failed,
}

impl Answer {
    /// True if the step may succeed; otherwise the others go on and the step fails, to be tried again.
    #[must_use]
    pub const fn is_fine(self) -> bool {
        !matches!(self, Self::Failed)
    }
}

/// What happens to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its requirements were lost: the release is uninstalled, the Application stays.
    Suspended,
    /// Another version replaces the loaded one.
    VersionChanged,
    /// The Application is deleted.
    Deleted,
}

impl Event {
    /// Orphans are deleted only with the Application, after its release is gone and its hooks are stopped.
    #[must_use]
    pub const fn purges(self) -> bool {
        matches!(self, Self::Deleted)
    }
}
