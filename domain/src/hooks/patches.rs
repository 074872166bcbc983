//! Values patches: the output file, its acceptance, and what is stored of it (S12).
//!
//! A patch is applied to the current values strictly, the result is validated, and only then stored. What is stored replays
//! to exactly the document that was validated: an operation is forgotten only where a later one overwrites all that it did.

use serde_json::Value;

use super::limits::HookLimits;
use super::stream::{self, StreamError};
use crate::packages::configure::placed;
use crate::settings::document;
use crate::settings::limits::Limits;
use crate::settings::package::PackageSchemas;
use crate::settings::patch::{Operation, Patch, PatchError};
use crate::violation::Violation;

/// Why a values patch cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PatchFileError {
    /// The file.
    #[error(transparent)]
    Stream(StreamError),
    /// An operation.
    #[error(transparent)]
    Operation(PatchError),
    /// More operations than [`HookLimits::operations`].
    #[error("the patch has {found} operations, the limit is {most}")]
    TooMany {
        /// How many.
        found: usize,
        /// The limit.
        most: usize,
    },
}

/// Why a readable patch is not accepted; values and stored patches stay as they were.
#[derive(Debug, thiserror::Error)]
pub enum PatchRefused {
    /// It does not fit the values.
    #[error("the values patch is refused: {0}")]
    Fit(#[source] PatchError),
    /// The patched values are too large.
    #[error("the patched values have more than {most} bytes")]
    TooLarge {
        /// The limit.
        most: usize,
    },
    /// The patched values break the values schema.
    #[error("the patched values are refused: {}", listed(.0))]
    Schema(Vec<Violation>),
    /// More stored operations than [`HookLimits::stored_operations`].
    #[error(
        "the hooks of this application have patched {most} places of its values since it was loaded, and no more are \
         kept: set whole maps and lists instead of adding to them"
    )]
    Stored {
        /// The limit.
        most: usize,
    },
}

fn listed(violations: &[Violation]) -> String {
    let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Reads an output file: a stream of JSON values; a list contributes its elements, an object is one operation, anything else
/// is passed over. An empty file is no patch.
///
/// # Errors
/// Not JSON, over a limit, or an operation that is malformed or not accepted.
pub fn read(file: &[u8], limits: &HookLimits) -> Result<Patch, PatchFileError> {
    let mut operations = Vec::new();
    for value in stream::values(file, limits).map_err(PatchFileError::Stream)? {
        match value {
            Value::Array(list) => operations.extend(list),
            Value::Object(_) => operations.push(value),
            _ => {}
        }
    }
    if operations.len() > limits.operations {
        return Err(PatchFileError::TooMany {
            found: operations.len(),
            most: limits.operations,
        });
    }
    Patch::decode(&Value::Array(operations)).map_err(PatchFileError::Operation)
}

/// The accepted patches of one application, since its package was loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accepted {
    patch: Patch,
}

impl Accepted {
    /// For [`crate::settings::values::values`].
    #[must_use]
    pub fn as_slice(&self) -> &[Patch] {
        std::slice::from_ref(&self.patch)
    }

    /// How many operations are stored.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.patch.0.len()
    }

    /// Judges a patch against the current values, and stores it if it is accepted and changes something. Returns the new values;
    /// `None` if nothing changes, which is neither validated nor stored.
    ///
    /// # Errors
    /// It does not fit, or the patched values break the values schema.
    pub fn accept(
        &mut self,
        patch: &Patch,
        values: &Value,
        schemas: &PackageSchemas,
        hook_limits: &HookLimits,
        limits: &Limits,
    ) -> Result<Option<Value>, PatchRefused> {
        let mut stored = self.patch.0.clone();
        let mut patched = values.clone();
        for (position, operation) in patch.0.iter().enumerate() {
            let overwrites = operation.goes_through_maps(&patched);
            operation
                .apply(position, &mut patched)
                .map_err(PatchRefused::Fit)?;
            store(&mut stored, operation, overwrites);
        }
        if document::equal(&patched, values) {
            return Ok(None);
        }
        let most = hook_limits.output_bytes;
        if document::size_within(&patched, most).is_none() {
            return Err(PatchRefused::TooLarge { most });
        }
        if let Some(compiled) = &schemas.values {
            let found = compiled.conform(&patched, Some(values), limits);
            if !found.is_empty() {
                let found = found.into_iter().map(|it| placed("values", it)).collect();
                return Err(PatchRefused::Schema(found));
            }
        }
        if stored.len() > hook_limits.stored_operations {
            return Err(PatchRefused::Stored {
                most: hook_limits.stored_operations,
            });
        }
        self.patch = Patch(stored);
        Ok(Some(patched))
    }
}

/// A `test` has no effect to repeat. What sets or removes a key of maps makes everything before it at or below that key void.
fn store(stored: &mut Vec<Operation>, operation: &Operation, overwrites: bool) {
    if operation.is_test() {
        return;
    }
    if overwrites {
        stored.retain(|earlier| !operation.covers(earlier));
    }
    stored.push(operation.clone());
}
