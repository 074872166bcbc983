//! A package version's two schemas, compiled once and shared by all its instances (section 3.2).
//!
//! Files come in as text or as documents; which file is read is decided by [`SETTINGS_FILES`], reading it is not done here.

use serde_json::Value;

use super::conform::conform;
use super::grants::Grants;
use super::limits::Limits;
use super::rules::cost::Budget;
use super::rules::set::Rules;
use super::schema::extend::extend;
use super::schema::{OpenSchema, Schema, SchemaError, load, open};
use crate::violation::Violation;

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

/// A closed schema and its rules; each rule is compiled once, when it is first needed.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The schema.
    pub schema: Schema,
    /// The rules of its nodes.
    pub rules: Rules,
}

impl Compiled {
    /// Closes a schema and collects its rules. What is wrong with a single rule is reported when its node is reached.
    ///
    /// # Errors
    /// There are too many rules.
    pub fn compile(open: OpenSchema, limits: &Limits) -> Result<Self, SchemaError> {
        let schema = Schema::close(open);
        let rules = Rules::collect(&schema, &limits.rules).map_err(SchemaError::Rules)?;
        Ok(Self { schema, rules })
    }

    /// The variant for rendering, with what `x-required-for-helm` asks for (section 3.2). Nodes keep their numbers, so rules stay.
    #[must_use]
    pub fn strict(&self) -> Self {
        Self {
            schema: self.schema.strict(),
            rules: self.rules.clone(),
        }
    }

    /// Everything that schema and rules find wrong with a document, within one request's budget (section 5.1).
    #[must_use]
    pub fn conform(
        &self,
        document: &Value,
        old: Option<&Value>,
        limits: &Limits,
    ) -> Vec<Violation> {
        self.conform_within(document, old, &mut Budget::of(limits.rule_units), limits)
    }

    /// The same within a budget of the caller's, who sees what is left of it.
    #[must_use]
    pub fn conform_within(
        &self,
        document: &Value,
        old: Option<&Value>,
        budget: &mut Budget,
        limits: &Limits,
    ) -> Vec<Violation> {
        conform(document, old, &self.schema, &self.rules, budget, limits)
    }
}

/// The schemas of one package version, ready to use.
#[derive(Clone, Debug, Default)]
pub struct PackageSchemas {
    /// The closed settings schema, if the package has one.
    pub settings: Option<Compiled>,
    /// The bound fields of the settings schema.
    pub grants: Grants,
    /// The merged, closed values schema, if the package has one.
    pub values: Option<Compiled>,
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
        let compile = |side, open: Option<OpenSchema>| {
            open.map(|open| Compiled::compile(open, limits))
                .transpose()
                .map_err(|error| PackageError { side, error })
        };
        let settings = compile(Side::Settings, settings)?;
        Ok(Self {
            grants: settings
                .as_ref()
                .map(|settings| Grants::collect(&settings.schema, limits))
                .unwrap_or_default(),
            settings,
            values: compile(Side::Values, values)?,
        })
    }
}
