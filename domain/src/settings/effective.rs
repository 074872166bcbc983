//! Effective settings: what the user wrote, completed by schema defaults, project defaults and applied frozen values
//! (section 4.2, steps 1 and 2).
//!
//! What the user wrote is never changed. This file validates nothing but the size of the result (S20).

use serde_json::{Map, Value};

use super::defaults::{DefaultsError, apply_defaults};
use super::document::{at, depth_within, size_within};
use super::grants::{Catalogs, GrantReference, Grants};
use super::limits::Limits;
use super::schema::Schema;

/// Why effective settings could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EffectiveError {
    /// `spec.settings` is no object.
    #[error("settings must be a map of fields")]
    NotAnObject,
    /// The package has no settings schema, and there are settings (section 3.2).
    #[error("the package has no settings schema but settings are given: remove them")]
    NoSchema,
    /// Over [`Limits::settings_depth`].
    #[error("settings nest deeper than {most} levels: make them flatter")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// Over [`Limits::settings_bytes`], defaults included.
    #[error("settings with defaults have more than {most} bytes: make them smaller")]
    TooLarge {
        /// The limit.
        most: usize,
    },
    /// Defaults went over a bound.
    #[error("defaults cannot be applied: {0}")]
    Defaults(#[source] DefaultsError),
}

/// Builds the effective settings. `user` is `spec.settings`, `null` if absent; `applied` is `status.lastAppliedConfiguration`.
///
/// # Errors
/// Settings that are no object, or over a limit.
pub fn effective(
    user: &Value,
    schema: &Schema,
    grants: &Grants,
    catalogs: &Catalogs,
    applied: Option<&Value>,
    limits: &Limits,
) -> Result<Value, EffectiveError> {
    let mut settings = as_given(user, limits)?;
    apply_defaults(&mut settings, schema, limits.settings_bytes, limits)
        .map_err(EffectiveError::Defaults)?;
    for reference in &grants.references {
        if !is_unset(user, reference) {
            continue;
        }
        if let Some(value) =
            kept(reference, applied).or_else(|| project_default(reference, catalogs))
        {
            put(&mut settings, &reference.path, value);
        }
    }
    within_limits(&settings, limits)?;
    Ok(settings)
}

/// What an application of a package without a settings schema has: nothing.
///
/// # Errors
/// There are settings although the package has no schema.
pub fn effective_without_schema(user: &Value) -> Result<Value, EffectiveError> {
    match user {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(fields) if fields.is_empty() => Ok(user.clone()),
        Value::Object(_) => Err(EffectiveError::NoSchema),
        _ => Err(EffectiveError::NotAnObject),
    }
}

/// What the user wrote, uncompleted; nothing is the empty map.
///
/// # Errors
/// Settings that are no object, or over a limit.
pub fn as_given(user: &Value, limits: &Limits) -> Result<Value, EffectiveError> {
    match user {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => {
            within_limits(user, limits)?;
            Ok(user.clone())
        }
        _ => Err(EffectiveError::NotAnObject),
    }
}

fn within_limits(settings: &Value, limits: &Limits) -> Result<(), EffectiveError> {
    if !depth_within(settings, limits.settings_depth) {
        return Err(EffectiveError::TooDeep {
            most: limits.settings_depth,
        });
    }
    size_within(settings, limits.settings_bytes)
        .map(|_| ())
        .ok_or(EffectiveError::TooLarge {
            most: limits.settings_bytes,
        })
}

/// Absent or the empty text; `null` is a value.
fn is_unset(user: &Value, reference: &GrantReference) -> bool {
    match at(user, &reference.path) {
        None => true,
        Some(value) => value.as_str().is_some_and(str::is_empty),
    }
}

/// A frozen field keeps what was applied to it, also when the project default has moved since (S17).
fn kept(reference: &GrantReference, applied: Option<&Value>) -> Option<Value> {
    let applied = applied.filter(|_| reference.frozen)?;
    at(applied, &reference.path)
        .filter(|value| !value.is_null())
        .cloned()
}

/// It beats a schema default on the same field (S7).
fn project_default(reference: &GrantReference, catalogs: &Catalogs) -> Option<Value> {
    catalogs
        .active(&reference.resource)
        .map(|catalog| catalog.default.clone().into())
}

/// Sets a field, creating missing parents; a parent that is no object leaves everything as it is.
fn put(settings: &mut Value, path: &[String], value: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let blocked = (1..=parents.len())
        .filter_map(|length| {
            parents
                .get(..length)
                .and_then(|parents| at(settings, parents))
        })
        .any(|parent| !parent.is_object());
    if blocked {
        return;
    }
    let mut place = settings;
    for key in parents {
        let Some(object) = place.as_object_mut() else {
            return;
        };
        place = object
            .entry(key.clone())
            .or_insert_with(|| Value::Object(Map::new()));
    }
    if let Some(object) = place.as_object_mut() {
        object.insert(last.clone(), value);
    }
}
