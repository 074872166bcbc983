//! `package.yaml` and `changelog.yaml` as `status.packageMetadata` (settings contract, sections 1.3 and 2).
//!
//! Decides which fields are published and of which types they are. Whether requirements contradict each other or are met is
//! judged where they are used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::files::{CHANGELOG_FILE, PACKAGE_FILE};
use crate::settings::document::size_within;
use crate::settings::limits::Limits;
use crate::settings::schema::{LoadError, load};

/// The most bytes of the published metadata as compact JSON, changelog included.
pub const METADATA_MAX: usize = 128 * 1024;

/// Why a package says nothing usable of itself (`MetadataLoaded=False/InvalidPackage`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// It is no YAML, or over a limit.
    #[error("{PACKAGE_FILE}: {0}")]
    Load(#[source] LoadError),
    /// A field has a wrong type.
    #[error("{PACKAGE_FILE}: {path} {problem}")]
    Field {
        /// The field.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// It says to be another package.
    #[error(
        "{PACKAGE_FILE}: name is {found:?}, but the package is offered as {expected:?}: make them the same"
    )]
    OtherName {
        /// What the file says.
        found: String,
        /// What it is offered as.
        expected: String,
    },
    /// Over [`METADATA_MAX`].
    #[error(
        "{PACKAGE_FILE} and {CHANGELOG_FILE} have more than {METADATA_MAX} bytes of metadata: shorten them"
    )]
    TooLarge,
}

/// What `package.yaml` says, as far as it is read. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageFile {
    /// The package's name.
    pub name: Option<String>,
    /// `Application` or `Module`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The version, written when the package is built.
    pub version: Option<String>,
    descriptions: Option<BTreeMap<String, String>>,
    category: Option<String>,
    stage: Option<String>,
    licensing: Option<Value>,
    requirements: Option<Requirements>,
    disable: Option<Disable>,
    version_compatibility_rules: Option<Map<String, Value>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
struct Requirements {
    #[serde(skip_serializing_if = "Option::is_none")]
    kubernetes: Option<Constraint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deckhouse: Option<Constraint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modules: Option<Modules>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
struct Constraint {
    #[serde(skip_serializing_if = "Option::is_none")]
    constraint: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Modules {
    #[serde(skip_serializing_if = "Option::is_none")]
    mandatory: Option<Vec<Module>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conditional: Option<Vec<Module>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    any_of: Option<Vec<Group>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    none_of: Option<Vec<Group>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
struct Module {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraint: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
struct Group {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modules: Option<Vec<Module>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
struct Disable {
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
struct Changelog {
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixes: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Published<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'p BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    licensing: Option<&'p Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requirements: Option<&'p Requirements>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changelog: Option<&'p Changelog>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_options: Option<&'p Disable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_compatibility_rules: Option<&'p Map<String, Value>>,
}

impl PackageFile {
    /// Reads the file's text; an absent or empty one says nothing.
    ///
    /// # Errors
    /// No YAML, a limit, or a field of a wrong type.
    pub fn read(text: Option<&str>, limits: &Limits) -> Result<Self, MetadataError> {
        let document = text.map(|text| load(text, limits)).transpose();
        match document.map_err(MetadataError::Load)? {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(document) => {
                typed(document).map_err(|(path, problem)| MetadataError::Field { path, problem })
            }
        }
    }

    /// Checks that the file speaks of the package that it is offered as; one without a name may be any.
    ///
    /// # Errors
    /// It names another.
    pub fn is_of(&self, expected: &str) -> Result<(), MetadataError> {
        match &self.name {
            Some(found) if found != expected => Err(MetadataError::OtherName {
                found: found.clone(),
                expected: expected.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// What is published, with the changelog's text beside it; a changelog that cannot be used gives a note and nothing else.
    ///
    /// # Errors
    /// Over [`METADATA_MAX`].
    pub fn published(
        &self,
        changelog: Option<&str>,
        limits: &Limits,
    ) -> Result<(Map<String, Value>, Option<String>), MetadataError> {
        let (changelog, note) = match read_changelog(changelog, limits) {
            Ok(changelog) => (changelog, None),
            Err(note) => (None, Some(note)),
        };
        let published = Published {
            description: self.descriptions.as_ref(),
            category: self.category.as_deref(),
            stage: self.stage.as_deref(),
            licensing: self.licensing.as_ref().filter(|value| !value.is_null()),
            requirements: self.requirements.as_ref(),
            changelog: changelog.as_ref(),
            disable_options: self.disable.as_ref(),
            version_compatibility_rules: self.version_compatibility_rules.as_ref(),
        };
        // Texts, lists and maps with text keys always have a JSON form.
        let Ok(Value::Object(metadata)) = serde_json::to_value(&published) else {
            return Ok((Map::new(), note));
        };
        let metadata = Value::Object(metadata);
        let fits = size_within(&metadata, METADATA_MAX).is_some();
        match metadata {
            Value::Object(metadata) if fits => Ok((metadata, note)),
            _ => Err(MetadataError::TooLarge),
        }
    }
}

fn read_changelog(text: Option<&str>, limits: &Limits) -> Result<Option<Changelog>, String> {
    let document = text.map(|text| load(text, limits)).transpose();
    match document.map_err(|error| format!("{CHANGELOG_FILE}: {error}"))? {
        None | Some(Value::Null) => Ok(None),
        Some(document) => typed(document)
            .map(Some)
            .map_err(|(path, problem)| format!("{CHANGELOG_FILE}: {path} {problem}")),
    }
}

/// The document as a type, or the field at fault and what is wrong with it.
fn typed<T: serde::de::DeserializeOwned>(document: Value) -> Result<T, (String, String)> {
    if !document.is_object() {
        return Err((
            "the document".to_owned(),
            "must be a map of fields".to_owned(),
        ));
    }
    serde_path_to_error::deserialize(document).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner().to_string();
        let safe = |text: String| -> String {
            text.chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .take(200)
                .collect()
        };
        (safe(path), format!("has a wrong value: {}", safe(problem)))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    const FULL: &str = "
apiVersion: v1
type: Application
name: shop
descriptions: {en: A shop, ru: Магазин}
version: v1.2.3
stage: Preview
category: Web
requirements:
  kubernetes: {constraint: '>=1.28'}
  modules:
    mandatory: [{name: ingress, constraint: '>=1.0.0'}]
    anyOf: [{name: storage, description: Some, modules: [{name: ceph}, {name: local}]}]
disable: {confirmation: true, messages: {en: Sure?}}
unknown: 5
";

    fn said(text: &str) -> String {
        PackageFile::read(Some(text), &Limits::DEFAULT)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_documented_fields_are_published_under_their_published_names() {
        let file = PackageFile::read(Some(FULL), &Limits::DEFAULT).unwrap();
        assert_eq!(file.is_of("shop"), Ok(()));
        let changelog = Some("features: [Faster]\nfixes: []");
        let (metadata, note) = file.published(changelog, &Limits::DEFAULT).unwrap();
        assert_eq!(note, None);
        assert_eq!(
            Value::Object(metadata),
            json!({
                "description": {"en": "A shop", "ru": "Магазин"},
                "category": "Web",
                "stage": "Preview",
                "requirements": {
                    "kubernetes": {"constraint": ">=1.28"},
                    "modules": {
                        "mandatory": [{"name": "ingress", "constraint": ">=1.0.0"}],
                        "anyOf": [{"name": "storage", "description": "Some", "modules": [{"name": "ceph"}, {"name": "local"}]}],
                    },
                },
                "changelog": {"features": ["Faster"], "fixes": []},
                "disableOptions": {"confirmation": true, "messages": {"en": "Sure?"}},
            })
        );
    }

    #[test]
    fn an_absent_file_says_nothing_and_fits_every_name() {
        for text in [None, Some("")] {
            let file = PackageFile::read(text, &Limits::DEFAULT).unwrap();
            assert_eq!(file.is_of("any"), Ok(()));
            assert_eq!(
                file.published(None, &Limits::DEFAULT).unwrap(),
                (Map::new(), None)
            );
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_field() {
        assert!(
            said("requirements: {modules: {mandatory: [{name: 5}]}}").starts_with(
                "package.yaml: requirements.modules.mandatory[0].name has a wrong value: "
            )
        );
        assert_eq!(
            said("- a"),
            "package.yaml: the document must be a map of fields"
        );
        assert!(said("a: [").starts_with("package.yaml: the file is not readable YAML"));
        let file = PackageFile::read(Some("name: other"), &Limits::DEFAULT).unwrap();
        assert_eq!(
            file.is_of("shop").map_err(|error| error.to_string()),
            Err("package.yaml: name is \"other\", but the package is offered as \"shop\": make them the same".to_owned())
        );
        let long = format!("descriptions: {{en: {}}}", "x".repeat(METADATA_MAX));
        let file = PackageFile::read(Some(&long), &Limits::DEFAULT).unwrap();
        assert_eq!(
            file.published(None, &Limits::DEFAULT),
            Err(MetadataError::TooLarge)
        );
    }

    #[test]
    fn a_bad_changelog_is_a_note_and_nothing_else() {
        let file = PackageFile::read(Some("name: a"), &Limits::DEFAULT).unwrap();
        for bad in ["features: 5", "[", "- a"] {
            let (metadata, note) = file.published(Some(bad), &Limits::DEFAULT).unwrap();
            assert!(metadata.is_empty());
            assert!(note.unwrap().starts_with("changelog.yaml: "), "{bad}");
        }
    }
}
