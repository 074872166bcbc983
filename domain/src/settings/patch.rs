//! JSON Patches of hooks (section 9): a new one is applied strictly, an accepted one is replayed leniently (S12).
//!
//! `add`, `remove`, `replace` and `test` are accepted, `move` and `copy` are errors. What a patched document may hold is
//! decided by validation, not here.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation, TestOperation};
use serde_json::Value;

/// Why a patch is refused.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The patch is no list of operations.
    #[error("a patch must be a list of operations")]
    NotAList,
    /// An operation lacks `op` or `path`, or one of them has a wrong type.
    #[error("operation {position} must have the texts `op` and `path`")]
    Shape {
        /// Its place in the list, from 0.
        position: usize,
    },
    /// An operation needs a `value`.
    #[error("operation {position} ({op}) must have a `value`")]
    NoValue {
        /// Its place in the list.
        position: usize,
        /// Its kind.
        op: String,
    },
    /// `move`, `copy`, or a word that RFC 6902 does not know.
    #[error("operation {position} is {op:?}: only add, remove, replace and test are accepted")]
    Unsupported {
        /// Its place in the list.
        position: usize,
        /// Its kind.
        op: String,
    },
    /// `path` is no JSON pointer.
    #[error("operation {position}: {path:?} is no JSON pointer")]
    Pointer {
        /// Its place in the list.
        position: usize,
        /// What was written.
        path: String,
    },
    /// An operation does not fit the document.
    #[error("the patch does not fit the values: {0}")]
    Apply(#[source] json_patch::PatchError),
}

/// A decoded patch: operations in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch(Vec<PatchOperation>);

impl Patch {
    /// Reads a list of operations.
    ///
    /// # Errors
    /// The first operation that is malformed or not accepted.
    pub fn decode(list: &Value) -> Result<Self, PatchError> {
        let operations = list.as_array().ok_or(PatchError::NotAList)?;
        operations
            .iter()
            .enumerate()
            .map(|(position, operation)| decode(position, operation))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Applies a new patch: every operation must fit, and a failure leaves the document as it was.
    ///
    /// # Errors
    /// A path is missing, or a `test` fails.
    pub fn apply(&self, document: &mut Value) -> Result<(), PatchError> {
        json_patch::patch(document, &self.0).map_err(PatchError::Apply)
    }

    /// Applies an accepted patch again: removing what is no longer there is skipped.
    ///
    /// # Errors
    /// Another operation no longer fits; the document is then of no use.
    pub fn replay(&self, document: &mut Value) -> Result<(), PatchError> {
        for operation in &self.0 {
            if let PatchOperation::Remove(remove) = operation
                && document.pointer(remove.path.as_str()).is_none()
            {
                continue;
            }
            json_patch::patch(document, std::slice::from_ref(operation))
                .map_err(PatchError::Apply)?;
        }
        Ok(())
    }
}

fn decode(position: usize, operation: &Value) -> Result<PatchOperation, PatchError> {
    let text = |key: &str| {
        operation
            .get(key)
            .and_then(Value::as_str)
            .ok_or(PatchError::Shape { position })
    };
    let op = text("op")?;
    let written = text("path")?;
    let path = PointerBuf::parse(written).map_err(|_| PatchError::Pointer {
        position,
        path: written.to_owned(),
    })?;
    let value = || {
        operation
            .get("value")
            .cloned()
            .ok_or_else(|| PatchError::NoValue {
                position,
                op: op.to_owned(),
            })
    };
    Ok(match op {
        "add" => PatchOperation::Add(AddOperation {
            path,
            value: value()?,
        }),
        "remove" => PatchOperation::Remove(RemoveOperation { path }),
        "replace" => PatchOperation::Replace(ReplaceOperation {
            path,
            value: value()?,
        }),
        "test" => PatchOperation::Test(TestOperation {
            path,
            value: value()?,
        }),
        _ => {
            return Err(PatchError::Unsupported {
                position,
                op: op.to_owned(),
            });
        }
    })
}
