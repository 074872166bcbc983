//! Values: what templates and hooks see (section 4.2, steps 3 and 4).
//!
//! Effective settings, completed by the defaults of the values schema, then the accepted patches of hooks. Nothing is
//! validated here: settings were, and patches are when they are accepted.

use serde_json::Value;

use super::defaults::{DefaultsError, apply_defaults};
use super::limits::Limits;
use super::patch::{Patch, PatchError};
use super::schema::Schema;

/// Why values could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// Defaults of the values schema went over a bound.
    #[error("the defaults of the values schema cannot be applied: {0}")]
    Defaults(#[source] DefaultsError),
    /// An accepted patch no longer fits.
    #[error("patch {position} of a hook no longer fits the values: {source}")]
    Replay {
        /// Its place in the stored list, from 0.
        position: usize,
        /// What does not fit.
        source: PatchError,
    },
}

/// Builds values from effective settings. `schema` is the merged, closed values schema, if the package has one.
///
/// # Errors
/// Defaults over a bound, or a patch that no longer fits.
pub fn values(
    effective: &Value,
    schema: Option<&Schema>,
    accepted: &[Patch],
    limits: &Limits,
) -> Result<Value, ValuesError> {
    let mut values = effective.clone();
    if let Some(schema) = schema {
        apply_defaults(&mut values, schema, limits.settings_bytes, limits)
            .map_err(ValuesError::Defaults)?;
    }
    for (position, patch) in accepted.iter().enumerate() {
        patch
            .replay(&mut values)
            .map_err(|source| ValuesError::Replay { position, source })?;
    }
    Ok(values)
}
