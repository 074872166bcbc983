//! The files of the commands of authors, as documents.
//!
//! Decides which part of an Application is meant where one is given in place of a map. It judges nothing.

use std::path::{Path, PathBuf};

use crds::applications::{GROUP, MULTITENANCY_GROUP};
use domain::packages::files::{Files, Scope};
use domain::settings::grants::{Catalog, Catalogs};
use domain::settings::switch::ACKNOWLEDGEMENT;
use serde_json::Value;

use crate::commands::manifests::{Input, Unread};
use crate::packages::{self, ReadError};

/// Why an input could not be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
    /// The package.
    #[error("{}: {source}", webhook::for_terminal(&path.display().to_string()))]
    Package {
        /// The directory or archive.
        path: PathBuf,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// There is no file of a package.
    #[error(
        "{}: is no package: it has neither package.yaml nor a schema in openapi/",
        webhook::for_terminal(&.0.display().to_string())
    )]
    NoPackage(PathBuf),
    /// Another file.
    #[error("{file}: {source}")]
    File {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: Unread,
    },
    /// A file of one document has several.
    #[error("{0}: has several documents: give one")]
    Several(String),
    /// A catalogue is another kind of object.
    #[error("{file}: document {position} is not an AvailableClusterResource")]
    NotACatalog {
        /// The file.
        file: String,
        /// Which document, from 1.
        position: usize,
    },
}

/// The recognised files of a package.
pub(super) fn package(path: &Path, scope: Scope) -> Result<Files, InputError> {
    let files = packages::read(path, scope).map_err(|source| InputError::Package {
        path: path.to_owned(),
        source,
    })?;
    if files.is_empty() {
        return Err(InputError::NoPackage(path.to_owned()));
    }
    Ok(files)
}

/// Settings, and the acknowledgement of the Application that they were taken from.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Settings {
    pub(super) settings: Value,
    pub(super) acknowledgement: Option<String>,
}

/// Settings that are wanted; an empty file is `null`.
pub(super) fn settings(path: &Path) -> Result<Settings, InputError> {
    let document = one(path)?;
    if !is_application(&document) {
        return Ok(Settings {
            settings: document,
            acknowledgement: None,
        });
    }
    let acknowledgement = document
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations")?.get(ACKNOWLEDGEMENT)?.as_str())
        .map(str::to_owned);
    Ok(Settings {
        settings: part(document, "spec", "settings").unwrap_or_default(),
        acknowledgement,
    })
}

/// What was applied; `None` of an Application to which nothing was.
pub(super) fn applied(path: &Path) -> Result<Option<Value>, InputError> {
    let document = one(path)?;
    if is_application(&document) {
        return Ok(part(document, "status", "lastAppliedConfiguration"));
    }
    Ok(Some(document).filter(|document| !document.is_null()))
}

/// The catalogues of a project.
pub(super) fn catalogs(path: &Path) -> Result<Catalogs, InputError> {
    let mut catalogs = Catalogs::default();
    for (position, document) in documents(path)?.into_iter().enumerate() {
        let name = document.get("metadata").and_then(|data| data.get("name"));
        let (true, Some(Value::String(name))) = (
            is_kind(&document, MULTITENANCY_GROUP, "AvailableClusterResource"),
            name,
        ) else {
            return Err(InputError::NotACatalog {
                file: webhook::for_terminal(&path.display().to_string()),
                position: position + 1,
            });
        };
        let status = document.get("status").unwrap_or(&Value::Null);
        catalogs
            .0
            .insert(name.clone(), Catalog::from_status(status));
    }
    Ok(catalogs)
}

fn documents(path: &Path) -> Result<Vec<Value>, InputError> {
    let input = Input::read(&[path.to_owned()], false);
    if let Some((file, source)) = input.unread.into_iter().next() {
        return Err(InputError::File { file, source });
    }
    Ok(input
        .objects
        .into_iter()
        .map(|source| source.object)
        .collect())
}

fn one(path: &Path) -> Result<Value, InputError> {
    let mut documents = documents(path)?;
    let document = documents.pop().unwrap_or_default();
    if documents.is_empty() {
        Ok(document)
    } else {
        Err(InputError::Several(webhook::for_terminal(
            &path.display().to_string(),
        )))
    }
}

fn is_application(document: &Value) -> bool {
    is_kind(document, GROUP, "Application")
}

fn is_kind(document: &Value, group: &str, kind: &str) -> bool {
    let text = |field| {
        document
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    text("kind") == kind && text("apiVersion").split('/').next() == Some(group)
}

fn part(mut document: Value, outer: &str, inner: &str) -> Option<Value> {
    document
        .get_mut(outer)?
        .get_mut(inner)
        .map(Value::take)
        .filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn settings_are_the_map_itself_or_those_of_an_application() {
        let plain = settings(file("a: 1").path()).unwrap();
        assert_eq!(plain.settings, json!({"a": 1}));
        assert_eq!(settings(file("").path()).unwrap(), Settings::default());
        let application = file(
            "apiVersion: deckhouse.io/v1alpha1\nkind: Application\nmetadata:\n  annotations:\n    \
             applications.deckhouse.io/allow-destructive-settings-switch: m=A->B\nspec: {settings: {a: 2}}\n\
             status: {lastAppliedConfiguration: {a: 1}}",
        );
        let taken = settings(application.path()).unwrap();
        assert_eq!(taken.settings, json!({"a": 2}));
        assert_eq!(taken.acknowledgement.as_deref(), Some("m=A->B"));
        assert_eq!(applied(application.path()).unwrap(), Some(json!({"a": 1})));
        let fresh = file("apiVersion: deckhouse.io/v1alpha1\nkind: Application\nspec: {}");
        assert_eq!(applied(fresh.path()).unwrap(), None);
        assert_eq!(settings(fresh.path()).unwrap(), Settings::default());
        assert!(settings(file("a: 1\n---\nb: 2").path()).is_err());
    }

    #[test]
    fn catalogues_are_read_as_kubectl_prints_them_and_nothing_else_is() {
        let list = file(
            "kind: List\napiVersion: v1\nitems:\n- apiVersion: multitenancy.deckhouse.io/v1alpha1\n  \
             kind: AvailableClusterResource\n  metadata: {name: storageclasses}\n  \
             status: {default: fast, available: [{name: fast}, {name: slow}]}",
        );
        let catalogs = catalogs(list.path()).unwrap();
        let catalog = catalogs.active("storageclasses").unwrap();
        assert_eq!(
            (catalog.default.as_str(), catalog.available.len()),
            ("fast", 2)
        );
        let other = file("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}");
        let said = super::catalogs(other.path()).unwrap_err().to_string();
        assert!(
            said.ends_with("document 1 is not an AvailableClusterResource"),
            "{said}"
        );
    }
}
