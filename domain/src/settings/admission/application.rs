//! An Application as the webhook sees it: the fields that section 8 reads, out of the object as it was sent.
//!
//! Nothing is judged here but the shape of what is read.

use serde_json::Value;

use crate::packages::names::{VersionId, repository_or};
use crate::settings::switch::ACKNOWLEDGEMENT;
use crate::violation::{Kind, Violation};

/// The fields of an Application that admission reads; all of them borrow from the object.
#[derive(Clone, Copy, Debug)]
pub struct Application<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// The annotation that acknowledges destructive switches.
    pub acknowledgement: Option<&'a str>,
    /// `spec.packageName`.
    pub package: &'a str,
    /// `spec.packageVersion`.
    pub version: &'a str,
    /// `spec.packageRepositoryName`; empty means the default repository.
    pub repository: &'a str,
    /// `spec.settings`; `null` if absent.
    pub settings: &'a Value,
    /// `status.currentVersion.version`: set once a version is installed.
    pub installed: Option<&'a str>,
    /// `status.lastAppliedConfiguration`.
    pub applied: Applied<'a>,
}

/// What was applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Applied<'a> {
    /// Nothing yet: nothing is frozen (S3).
    Nothing,
    /// These settings.
    Settings(&'a Value),
    /// Something that is no map of settings; a change cannot be compared with it.
    Unreadable,
}

impl<'a> Applied<'a> {
    fn read(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::Object(_) => Self::Settings(value),
            _ => Self::Unreadable,
        }
    }

    /// The settings, if there are readable ones.
    #[must_use]
    pub const fn settings(self) -> Option<&'a Value> {
        match self {
            Self::Settings(settings) => Some(settings),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

const NOTHING: &Value = &Value::Null;

impl<'a> Application<'a> {
    /// The version that is asked for; one without a repository means the default one.
    #[must_use]
    pub fn version_id(&self, default_repository: &str) -> VersionId {
        let repository = repository_or(self.repository, default_repository);
        VersionId {
            repository: repository.to_owned(),
            package: self.package.to_owned(),
            version: self.version.to_owned(),
        }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// A field that admission needs is missing, or has a wrong type.
    pub fn read(object: &'a Value) -> Result<Self, Violation> {
        let part = |name: &str| object.get(name).unwrap_or(NOTHING);
        let (metadata, spec, status) = (part("metadata"), part("spec"), part("status"));
        let annotations = metadata.get("annotations").unwrap_or(NOTHING);
        let current = status.get("currentVersion").unwrap_or(NOTHING);
        let installed = text(current, "version", "status.currentVersion.version")?;
        Ok(Self {
            namespace: text(metadata, "namespace", "metadata.namespace")?,
            name: required(metadata, "name", "metadata.name")?,
            deleting: metadata
                .get("deletionTimestamp")
                .is_some_and(|time| !time.is_null()),
            acknowledgement: annotations.get(ACKNOWLEDGEMENT).and_then(Value::as_str),
            package: required(spec, "packageName", "spec.packageName")?,
            version: required(spec, "packageVersion", "spec.packageVersion")?,
            repository: text(spec, "packageRepositoryName", "spec.packageRepositoryName")?,
            settings: spec.get("settings").unwrap_or(NOTHING),
            installed: Some(installed).filter(|version| !version.is_empty()),
            applied: Applied::read(status.get("lastAppliedConfiguration").unwrap_or(NOTHING)),
        })
    }
}

fn required<'a>(part: &'a Value, key: &str, path: &'static str) -> Result<&'a str, Violation> {
    match text(part, key, path)? {
        "" => Err(Violation::new(path, Kind::Required, "must be set")),
        text => Ok(text),
    }
}

/// A text, empty if it or the map around it is absent.
fn text<'a>(part: &'a Value, key: &str, path: &'static str) -> Result<&'a str, Violation> {
    match part.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Violation::new(path, Kind::Invalid, "must be a text")),
    }
}
