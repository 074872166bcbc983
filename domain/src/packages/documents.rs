//! A package's schema files as documents, and as schemas that judge; what could never be used is refused (section 3.5).

use serde_json::Value;

use super::files::{Files, NotText};
use crate::settings::limits::Limits;
use crate::settings::package::{PackageError, PackageSchemas, VALUES_FILE};
use crate::settings::schema::{LoadError, load};

/// Why a package's schemas cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableError {
    /// A file is no text.
    #[error(transparent)]
    NotText(NotText),
    /// A file is no YAML, or over a limit.
    #[error("{file}: {error}")]
    Load {
        /// The file.
        file: &'static str,
        /// Why.
        #[source]
        error: LoadError,
    },
    /// A document is no schema, or over a limit.
    #[error(transparent)]
    Schema(PackageError),
    /// Rules that can never be evaluated.
    #[error("{file}: {why}")]
    Rules {
        /// The file.
        file: &'static str,
        /// Each of them.
        why: String,
    },
}

/// The schema files of a package as documents; `null` where there is no schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Documents {
    /// The settings schema's file, if there is one.
    pub settings_file: Option<&'static str>,
    /// The settings schema.
    pub settings: Value,
    /// The values schema.
    pub values: Value,
}

impl Documents {
    /// Parses the files that count; an empty file is no schema.
    ///
    /// # Errors
    /// A file that is no text or no YAML, or over a limit.
    pub fn read(files: &Files, limits: &Limits) -> Result<Self, UnusableError> {
        let document = |file: &'static str| match files.text(file) {
            Ok(Some(text)) => {
                load(text, limits).map_err(|error| UnusableError::Load { file, error })
            }
            Ok(None) => Ok(Value::Null),
            Err(error) => Err(UnusableError::NotText(error)),
        };
        let settings_file = files.settings_file();
        Ok(Self {
            settings_file,
            settings: settings_file.map_or(Ok(Value::Null), document)?,
            values: document(VALUES_FILE)?,
        })
    }
}

/// The schemas, ready to judge documents.
///
/// # Errors
/// A document that is no schema, a rule that can never work, or a limit.
pub fn usable(documents: &Documents, limits: &Limits) -> Result<PackageSchemas, UnusableError> {
    let schemas = PackageSchemas::from_documents(&documents.settings, &documents.values, limits)
        .map_err(UnusableError::Schema)?;
    let settings_file = documents.settings_file.unwrap_or_default();
    for (file, compiled) in [
        (settings_file, &schemas.settings),
        (VALUES_FILE, &schemas.values),
    ] {
        let broken = compiled
            .as_ref()
            .map(|compiled| compiled.rules.broken(&compiled.schema))
            .unwrap_or_default();
        let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
        if !broken.is_empty() {
            let why = broken.join("; ");
            return Err(UnusableError::Rules { file, why });
        }
    }
    Ok(schemas)
}
