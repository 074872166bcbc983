//! The settings form as data (section 10, S25, S26): what a web page draws, in which order, and what may be edited.
//!
//! The page edits raw `spec.settings`; defaults are placeholders. Composition is left out of the schema, because the page only
//! draws fields: the server checks. This file draws nothing and checks nothing.

mod fields;
mod shown;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

pub use fields::{Field, Grant, Group};
pub use shown::{FieldError, errors};

use super::effective::{EffectiveError, effective};
use super::grants::{Catalogs, Grants};
use super::immutable::frozen_places;
use super::limits::Limits;
use super::package::PackageSchemas;
use super::schema::extensions::published;
use super::schema::{Node, decode, encode};

/// What the form is made from.
#[derive(Clone, Copy, Debug)]
pub struct FormFacts<'a> {
    /// The published settings schema.
    pub published: &'a Value,
    /// Russian texts by the pointer of their schema node, as published beside it.
    pub descriptions_ru: &'a BTreeMap<String, String>,
    /// The same schema, closed.
    pub package: &'a PackageSchemas,
    /// `spec.settings`; `null` when installing.
    pub settings: &'a Value,
    /// `status.lastAppliedConfiguration`; nothing is frozen without one (S3).
    pub applied: Option<&'a Value>,
    /// What the project was granted.
    pub catalogs: &'a Catalogs,
}

/// The form, ready to be sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Form {
    /// The published schema without `oneOf`, `anyOf`, `allOf`, `not`.
    pub schema: Value,
    /// Every field below `properties`, parents before children, siblings in the order in which they are shown.
    pub fields: Vec<Field>,
    /// The groups, in the order in which they are shown.
    pub groups: Vec<Group>,
    /// JSON pointers into the settings that can no longer be edited, with all that is below them.
    pub read_only: Vec<String>,
    /// Raw `spec.settings`: what is edited.
    pub settings: Value,
    /// The effective settings: what an absent field means now.
    pub placeholders: Value,
    /// Russian texts by the pointer of their schema node.
    pub descriptions_ru: BTreeMap<String, String>,
}

/// Why there is no form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FormError {
    /// The version has no settings schema, so there is nothing to edit.
    #[error("this version has no settings")]
    NoSchema,
    /// The published schema cannot be read.
    #[error("the published settings schema cannot be read: {0}")]
    Schema(#[source] decode::DecodeError),
    /// The present settings are over a limit.
    #[error(transparent)]
    Settings(EffectiveError),
}

/// Builds the form.
///
/// # Errors
/// There is no schema, or the present settings are over a limit.
pub fn form(facts: &FormFacts<'_>, limits: &Limits) -> Result<Form, FormError> {
    let settings = facts.package.settings.as_ref().ok_or(FormError::NoSchema)?;
    let schema = &settings.schema;
    let grants: &Grants = &facts.package.grants;
    let placeholders = effective(
        facts.settings,
        schema,
        grants,
        facts.catalogs,
        facts.applied,
        limits,
    )
    .map_err(FormError::Settings)?;
    let fields = fields::fields(schema, facts, limits);
    Ok(Form {
        schema: without_branches(facts.published, limits)?,
        groups: fields::groups(&fields),
        fields,
        read_only: facts
            .applied
            .map(|applied| frozen_places(schema, applied, limits))
            .unwrap_or_default(),
        settings: match facts.settings {
            Value::Null => Value::Object(Map::new()),
            given => given.clone(),
        },
        placeholders,
        descriptions_ru: facts.descriptions_ru.clone(),
    })
}

fn without_branches(schema: &Value, limits: &Limits) -> Result<Value, FormError> {
    let mut root = decode::decode(schema, limits).map_err(FormError::Schema)?;
    root.drop_branches();
    Ok(encode::encode(&root, &|key, value| {
        published(key, value).ok().flatten()
    }))
}

impl Node {
    fn drop_branches(&mut self) {
        self.branches = None;
        let dropped: Result<(), std::convert::Infallible> = self.try_each_child_mut(&mut |child| {
            child.drop_branches();
            Ok(())
        });
        debug_assert!(dropped.is_ok());
        let definitions = self
            .notes
            .iter_mut()
            .filter_map(|notes| notes.definitions.as_mut());
        definitions
            .flatten()
            .for_each(|(_, node)| node.drop_branches());
    }
}
