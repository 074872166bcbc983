//! From a version's files to what is published of it, or the reason why it is not (settings contract, sections 1.3 and 3.5).
//!
//! What is refused here stays a draft; what only people read (changelog, Russian texts) never refuses a version.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::documents::{Documents, UnusableError, usable};
use super::files::{CHANGELOG_FILE, Files, NotText, PACKAGE_FILE, russian_of};
use super::metadata::PackageFile;
use crate::settings::limits::Limits;
use crate::settings::package::VALUES_FILE;
use crate::settings::schema::descriptions::descriptions;
use crate::settings::schema::load;
use crate::settings::schema::publish::publish;

/// Reasons of `MetadataLoaded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadReason {
    /// Metadata and schemas are published.
    Loaded,
    /// The version's image could not be fetched from its registry.
    NotFetched,
    /// The version's files could not be read.
    Unreadable,
    /// `package.yaml` cannot be used.
    InvalidPackage,
    /// A schema cannot be used.
    InvalidSchema,
    /// The API server did not take what is published.
    NotStored,
}

impl LoadReason {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Loaded,
        Self::NotFetched,
        Self::Unreadable,
        Self::InvalidPackage,
        Self::InvalidSchema,
        Self::NotStored,
    ];

    /// The reason of this word, if it is one of ours.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// The word in the condition. A true condition has its type as reason.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loaded => "MetadataLoaded",
            Self::NotFetched => "GetImageError",
            Self::Unreadable => "FetchingReleaseError",
            Self::InvalidPackage => "InvalidPackage",
            Self::InvalidSchema => "InvalidSchema",
            Self::NotStored => "NotStored",
        }
    }
}

/// Why a version is not published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The condition's reason.
    pub reason: LoadReason,
    /// What is wrong and where; safe for status.
    pub text: String,
}

impl Refusal {
    /// A refusal for this reason.
    #[must_use]
    pub fn new(reason: LoadReason, text: impl Into<String>) -> Self {
        Self {
            reason,
            text: text.into(),
        }
    }

    fn of_schema(file: &str, error: impl std::fmt::Display) -> Self {
        Self::new(LoadReason::InvalidSchema, format!("{file}: {error}"))
    }
}

impl From<NotText> for Refusal {
    fn from(error: NotText) -> Self {
        let reason = if error.path == PACKAGE_FILE {
            LoadReason::InvalidPackage
        } else {
            LoadReason::InvalidSchema
        };
        Self::new(reason, error.to_string())
    }
}

impl From<UnusableError> for Refusal {
    fn from(error: UnusableError) -> Self {
        Self::new(LoadReason::InvalidSchema, error.to_string())
    }
}

/// What is published of a version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Publication {
    /// `status.packageMetadata`.
    pub metadata: Map<String, Value>,
    /// The published settings schema, if the package has one.
    pub settings: Option<Map<String, Value>>,
    /// Descriptions of the settings schema, by language and JSON pointer.
    pub descriptions: BTreeMap<String, BTreeMap<String, String>>,
    /// The published values schema, if the package has one.
    pub values: Option<Map<String, Value>>,
}

/// A publication, and what its author should know although nothing is refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// What is published.
    pub publication: Publication,
    /// `type` of package.yaml, for the list of packages on offer.
    pub kind: Option<String>,
    /// One sentence each.
    pub notes: Vec<String>,
}

/// What is published of these files, which are offered as this package.
///
/// # Errors
/// A file that cannot be used, with its name and the place in it.
pub fn publication(files: &Files, package: &str, limits: &Limits) -> Result<Noted, Refusal> {
    let mut notes = Vec::new();
    let (kind, metadata) = metadata(files, package, limits, &mut notes)?;
    let documents = Documents::read(files, limits)?;
    let settings_file = documents.settings_file;
    let settings = published(
        settings_file.unwrap_or_default(),
        &documents.settings,
        limits,
    )?;
    let values = published(VALUES_FILE, &documents.values, limits)?;
    // Consumers extend, close and compile; what only fails there is refused here.
    usable(&documents, limits)?;
    let texts = settings_file.map(|file| russian(files, file, limits));
    let descriptions = match texts {
        None => BTreeMap::new(),
        Some(Ok(texts)) if texts.is_empty() => BTreeMap::new(),
        Some(Ok(texts)) => BTreeMap::from([("ru".to_owned(), texts)]),
        Some(Err(note)) => {
            notes.push(note);
            BTreeMap::new()
        }
    };
    Ok(Noted {
        publication: Publication {
            metadata,
            settings,
            descriptions,
            values,
        },
        kind,
        notes,
    })
}

fn metadata(
    files: &Files,
    package: &str,
    limits: &Limits,
    notes: &mut Vec<String>,
) -> Result<(Option<String>, Map<String, Value>), Refusal> {
    let invalid = |error: super::metadata::MetadataError| {
        Refusal::new(LoadReason::InvalidPackage, error.to_string())
    };
    let file = PackageFile::read(files.text(PACKAGE_FILE)?, limits).map_err(invalid)?;
    file.is_of(package).map_err(invalid)?;
    let changelog = files.text(CHANGELOG_FILE).unwrap_or_else(|error| {
        notes.push(error.to_string());
        None
    });
    let (metadata, note) = file.published(changelog, limits).map_err(invalid)?;
    notes.extend(note);
    Ok((file.kind, metadata))
}

fn published(
    file: &str,
    document: &Value,
    limits: &Limits,
) -> Result<Option<Map<String, Value>>, Refusal> {
    if document.is_null() {
        return Ok(None);
    }
    match publish(document, limits) {
        Ok(Value::Object(schema)) => Ok(Some(schema)),
        Ok(_) => Err(Refusal::of_schema(file, "the schema must be a map")),
        Err(error) => Err(Refusal::of_schema(file, error)),
    }
}

fn russian(
    files: &Files,
    settings_file: &str,
    limits: &Limits,
) -> Result<BTreeMap<String, String>, String> {
    let file = russian_of(settings_file);
    let Some(text) = files.text(&file).map_err(|error| error.to_string())? else {
        return Ok(BTreeMap::new());
    };
    let document = load(text, limits).map_err(|error| format!("{file}: {error}"))?;
    descriptions(&document, limits).map_err(|error| format!("{file}: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    fn files(given: &[(&str, &str)]) -> Files {
        let mut files = Files::default();
        for (path, text) in given {
            files.insert(*path, text.as_bytes().to_vec());
        }
        files
    }

    fn publish(given: &[(&str, &str)]) -> Result<Noted, Refusal> {
        publication(&files(given), "shop", &Limits::DEFAULT)
    }

    fn refused(given: &[(&str, &str)]) -> (LoadReason, String) {
        let refusal = publish(given).unwrap_err();
        (refusal.reason, refusal.text)
    }

    #[test]
    fn both_schemas_and_the_russian_texts_are_published() {
        let noted = publish(&[
            ("package.yaml", "name: shop\nstage: Preview"),
            (
                "openapi/settings.yaml",
                "type: object\nx-doc-hidden: true\nproperties: {size: {type: integer}}",
            ),
            (
                "openapi/doc-ru-settings.yaml",
                "properties: {size: {description: Размер}}",
            ),
            ("openapi/values.yaml", "x-extend: {schema: settings.yaml}"),
        ])
        .unwrap();
        assert!(noted.notes.is_empty());
        let publication = noted.publication;
        assert_eq!(publication.metadata.get("stage"), Some(&json!("Preview")));
        assert_eq!(
            publication.settings.map(Value::Object),
            Some(json!({"type": "object", "properties": {"size": {"type": "integer"}}}))
        );
        assert_eq!(publication.values, Some(Map::new()));
        let texts = publication.descriptions.get("ru").unwrap();
        assert_eq!(
            texts.get("/properties/size").map(String::as_str),
            Some("Размер")
        );
    }

    #[test]
    fn a_package_without_files_is_published_without_schemas() {
        assert_eq!(publish(&[]), Ok(Noted::default()));
        let empty = publish(&[
            ("openapi/settings.yaml", ""),
            ("openapi/config-values.yaml", "["),
        ]);
        assert_eq!(
            empty,
            Ok(Noted::default()),
            "an empty file hides the legacy one"
        );
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_refused_by_file_and_place() {
        let (reason, text) = refused(&[("openapi/settings.yaml", "a: [")]);
        assert_eq!(reason, LoadReason::InvalidSchema);
        assert!(
            text.starts_with("openapi/settings.yaml: the file is not readable YAML"),
            "{text}"
        );
        let (reason, text) = refused(&[(
            "openapi/values.yaml",
            "properties: {a: {type: string, pattern: '('}}",
        )]);
        assert_eq!(reason, LoadReason::InvalidSchema);
        assert!(
            text.starts_with("openapi/values.yaml: properties.a.pattern "),
            "{text}"
        );
        let (reason, text) = refused(&[(
            "openapi/config-values.yaml",
            "properties: {a: {x-deckhouse-ui-resource-name: Secret}}",
        )]);
        assert_eq!(reason, LoadReason::InvalidSchema);
        assert!(
            text.starts_with(
                "openapi/config-values.yaml: properties.a.x-deckhouse-ui-resource-name"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_rule_that_does_not_compile_refuses_publication() {
        let rule = "x-deckhouse-validations: [{expression: 'self.size >', message: wrong}]";
        let schema = format!("type: object\n{rule}");
        let (reason, text) = refused(&[("openapi/settings.yaml", &schema)]);
        assert_eq!(reason, LoadReason::InvalidSchema);
        assert!(
            text.starts_with("openapi/settings.yaml: rule `self.size >`"),
            "{text}"
        );
    }

    #[test]
    fn a_package_file_of_another_package_is_refused() {
        let (reason, text) = refused(&[("package.yaml", "name: other")]);
        assert_eq!(reason, LoadReason::InvalidPackage);
        assert!(text.contains("offered as \"shop\""), "{text}");
    }

    #[test]
    fn what_only_people_read_never_refuses_a_version() {
        let noted = publish(&[
            ("changelog.yaml", "features: 5"),
            ("openapi/settings.yaml", "type: object"),
            ("openapi/doc-ru-settings.yaml", "a: ["),
        ])
        .unwrap();
        assert_eq!(noted.notes.len(), 2, "{:?}", noted.notes);
        assert!(noted.publication.descriptions.is_empty());
        assert!(noted.publication.settings.is_some());
    }
}
