//! JSON Patches of hooks (section 9): a new one is applied strictly, an accepted one is replayed leniently (S12).
//!
//! `add`, `remove`, `replace` and `test` are accepted, `move` and `copy` are errors; `replace` of a missing key sets it and a
//! negative index of `remove` counts from the end, as programs of the SDK expect. What a patched document may hold is decided
//! by validation, not here.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation};
use serde_json::Value;

use super::document;

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
    /// `move`, `copy`, or a word that RFC 6902 does not know.
    #[error(
        "operation {position} is {op:?}: only add, remove, replace and test are accepted, and no `from`"
    )]
    Unsupported {
        /// Its place in the list.
        position: usize,
        /// Its kind.
        op: String,
    },
    /// `path` is no JSON pointer, or the root.
    #[error("operation {position}: the path {path:?} must be a JSON pointer below the root")]
    Pointer {
        /// Its place in the list.
        position: usize,
        /// What was written.
        path: String,
    },
    /// What is to be removed is not there.
    #[error("operation {position} removes a missing value: {path}")]
    Missing {
        /// Its place in the list.
        position: usize,
        /// Where.
        path: String,
    },
    /// A `test` did not hold.
    #[error("operation {position}: test failed at {path}")]
    Test {
        /// Its place in the list.
        position: usize,
        /// Where.
        path: String,
    },
    /// An operation does not fit the document.
    #[error("operation {position} does not fit the values: {source}")]
    Apply {
        /// Its place in the list.
        position: usize,
        /// Why.
        source: json_patch::PatchError,
    },
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operation {
    kind: Kind,
    path: PointerBuf,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Add(Value),
    Remove,
    Replace(Value),
    Test(Value),
}

/// A decoded patch: operations in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch(pub(crate) Vec<Operation>);

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

    /// Whether it has no operation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies a new patch: every operation must fit, and a failure leaves the document as it was.
    ///
    /// # Errors
    /// A path is missing, or a `test` fails.
    pub fn apply(&self, document: &mut Value) -> Result<(), PatchError> {
        let mut patched = document.clone();
        for (position, operation) in self.0.iter().enumerate() {
            operation.apply(position, &mut patched)?;
        }
        *document = patched;
        Ok(())
    }

    /// Applies an accepted patch again: removing what is no longer there is skipped.
    ///
    /// # Errors
    /// Another operation no longer fits; the document is then of no use.
    pub fn replay(&self, document: &mut Value) -> Result<(), PatchError> {
        for (position, operation) in self.0.iter().enumerate() {
            match operation.apply(position, document) {
                Ok(()) | Err(PatchError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Operation {
    /// Applies one operation; a failure leaves the document as it was.
    pub(crate) fn apply(&self, position: usize, document: &mut Value) -> Result<(), PatchError> {
        let operation = match &self.kind {
            Kind::Test(value) => return self.test(position, document, value),
            Kind::Add(value) => PatchOperation::Add(AddOperation {
                path: self.path.clone(),
                value: value.clone(),
            }),
            Kind::Replace(value) if self.parent(document).is_some_and(Value::is_object) => {
                PatchOperation::Add(AddOperation {
                    path: self.path.clone(),
                    value: value.clone(),
                })
            }
            Kind::Replace(value) => PatchOperation::Replace(ReplaceOperation {
                path: self.path.clone(),
                value: value.clone(),
            }),
            Kind::Remove => PatchOperation::Remove(RemoveOperation {
                path: self.present(document).ok_or_else(|| PatchError::Missing {
                    position,
                    path: self.path.to_string(),
                })?,
            }),
        };
        json_patch::patch(document, std::slice::from_ref(&operation))
            .map_err(|source| PatchError::Apply { position, source })
    }

    /// Whether it only looks.
    pub(crate) fn is_test(&self) -> bool {
        matches!(self.kind, Kind::Test(_))
    }

    /// Whether every map or list that its path goes through is a map: it then sets or removes a key, and moves no other value.
    pub(crate) fn goes_through_maps(&self, document: &Value) -> bool {
        let mut at = Some(document);
        self.path.tokens().all(|token| {
            let is_map = at.is_some_and(Value::is_object);
            at = at.and_then(|map| map.get(token.decoded().as_ref()));
            is_map
        })
    }

    /// Whether `other` writes at this operation's path or below it.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.path.starts_with(&self.path)
    }

    fn test(&self, position: usize, document: &Value, value: &Value) -> Result<(), PatchError> {
        let found = document.pointer(self.path.as_str());
        if found.is_some_and(|found| document::equal(found, value)) {
            return Ok(());
        }
        Err(PatchError::Test {
            position,
            path: self.path.to_string(),
        })
    }

    fn parent<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        let (parent, _) = self.path.split_back()?;
        document.pointer(parent.as_str())
    }

    /// The path if something is there, a negative index turned into the index that it means.
    fn present(&self, document: &Value) -> Option<PointerBuf> {
        if document.pointer(self.path.as_str()).is_some() {
            return Some(self.path.clone());
        }
        let (parent, last) = self.path.split_back()?;
        let siblings = document.pointer(parent.as_str())?.as_array()?;
        let from_the_end: usize = last.decoded().strip_prefix('-')?.parse().ok()?;
        let index = siblings.len().checked_sub(from_the_end)?;
        let mut path = parent.to_buf();
        path.push_back(index);
        (index < siblings.len()).then_some(path)
    }
}

fn decode(position: usize, operation: &Value) -> Result<Operation, PatchError> {
    let text = |key: &str| {
        operation
            .get(key)
            .and_then(Value::as_str)
            .ok_or(PatchError::Shape { position })
    };
    let op = text("op")?;
    let written = text("path")?;
    // A value that is left out is null to programs written in Go.
    let value = || operation.get("value").cloned().unwrap_or_default();
    let kind = match op {
        "add" => Kind::Add(value()),
        "remove" => Kind::Remove,
        "replace" => Kind::Replace(value()),
        "test" => Kind::Test(value()),
        _ => {
            return Err(PatchError::Unsupported {
                position,
                op: op.to_owned(),
            });
        }
    };
    let path = PointerBuf::parse(written)
        .ok()
        .filter(|path| !path.is_root());
    let path = path.ok_or_else(|| PatchError::Pointer {
        position,
        path: written.to_owned(),
    })?;
    Ok(Operation { kind, path })
}
