//! A package version's two schemas, compiled once and shared by all its instances (section 3.2).
//!
//! Files come in as text or as documents; which file is read is decided by [`SETTINGS_FILES`], reading it is not done here.

use serde_json::Value;

use super::grants::Grants;
use super::limits::Limits;
use super::schema::extend::extend;
use super::schema::{OpenSchema, Schema, SchemaError, load, open};

/// The settings schema's file: the first that exists counts, also if it is empty (section 2).
pub const SETTINGS_FILES: [&str; 2] = ["openapi/settings.yaml", "openapi/config-values.yaml"];
/// The values schema's file, optional.
pub const VALUES_FILE: &str = "openapi/values.yaml";

/// Which of the two schemas is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The settings schema.
    Settings,
    /// The values schema.
    Values,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Settings => "settings schema",
            Self::Values => "values schema",
        })
    }
}

/// A schema of the package cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{side}: {error}")]
pub struct PackageError {
    /// Which one.
    pub side: Side,
    /// Why.
    #[source]
    pub error: SchemaError,
}

/// The schemas of one package version, ready to use.
#[derive(Clone, Debug, Default)]
pub struct PackageSchemas {
    /// The closed settings schema, if the package has one.
    pub settings: Option<Schema>,
    /// The bound fields of the settings schema.
    pub grants: Grants,
    /// The merged, closed values schema, if the package has one.
    pub values: Option<Schema>,
}

impl PackageSchemas {
    /// From the files' texts; an absent and an empty file are no schema.
    ///
    /// # Errors
    /// A file that is no schema, or over a limit.
    pub fn load(
        settings: Option<&str>,
        values: Option<&str>,
        limits: &Limits,
    ) -> Result<Self, PackageError> {
        let read = |side, text: Option<&str>| {
            text.map(|text| load(text, limits))
                .transpose()
                .map(Option::unwrap_or_default)
                .map_err(|error| PackageError {
                    side,
                    error: SchemaError::Load(error),
                })
        };
        let settings = read(Side::Settings, settings)?;
        let values = read(Side::Values, values)?;
        Self::from_documents(&settings, &values, limits)
    }

    /// From documents, as files or as published copies; `null` is no schema.
    ///
    /// # Errors
    /// A document that is no schema, or over a limit.
    pub fn from_documents(
        settings: &Value,
        values: &Value,
        limits: &Limits,
    ) -> Result<Self, PackageError> {
        let open = |side, document: &Value| -> Result<Option<OpenSchema>, PackageError> {
            if document.is_null() {
                return Ok(None);
            }
            open(document, limits)
                .map(Some)
                .map_err(|error| PackageError { side, error })
        };
        let settings = open(Side::Settings, settings)?;
        let values = open(Side::Values, values)?.map(|values| extend(values, settings.as_ref()));
        let settings = settings.map(Schema::close);
        Ok(Self {
            grants: settings
                .as_ref()
                .map(|schema| Grants::collect(schema, limits))
                .unwrap_or_default(),
            settings,
            values: values.map(Schema::close),
        })
    }
}
