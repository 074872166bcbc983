//! Object operations: what a hook asks to be done to objects of its application (S14).
//!
//! Each name gets the application's prefix, and the namespace is the application's whatever the hook wrote. Whether a kind is
//! of cluster scope, and so refused, only the API server knows: the adapter asks it. The first invalid operation fails the
//! whole file, and nothing is done.

use serde::Deserialize;
use serde_json::Value;

use super::environment::Owner;
use super::limits::HookLimits;
use super::stream::{self, StreamError};

/// Why a file of operations fails the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationsError {
    /// The file is too long, or neither JSON nor YAML.
    #[error(transparent)]
    Stream(StreamError),
    /// More operations than [`HookLimits::operations`].
    #[error("{found} object operations are too many, the limit is {most}")]
    TooMany {
        /// How many.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// An operation is not valid.
    #[error("object operation {position}: {problem}")]
    Operation {
        /// Its place in the file, from 0.
        position: usize,
        /// What is wrong.
        problem: String,
    },
}

/// One operation on one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The object.
    pub target: Target,
    /// What is done to it.
    pub action: Action,
}

/// The object of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Group and version; `None` is the preferred version of the kind.
    pub api_version: Option<String>,
    /// The kind.
    pub kind: String,
    /// The application's namespace.
    pub namespace: String,
    /// The name, with the application's prefix.
    pub name: String,
}

/// What is done to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Create this object.
    Create {
        /// The object, with its final name and namespace.
        object: Value,
        /// What if it exists.
        on_exists: OnExists,
    },
    /// Delete it; a missing one is fine.
    Delete(Propagation),
    /// Patch it.
    Patch {
        /// How.
        patch: ObjectPatch,
        /// The subresource to patch instead of the object.
        subresource: Option<String>,
        /// Whether a missing object is fine.
        missing_ok: bool,
        /// Whether a failure leaves the run successful.
        may_fail: bool,
    },
}

/// What a creation does if the object exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExists {
    /// It fails.
    Fail,
    /// It leaves the object as it is.
    Keep,
    /// It replaces the whole object.
    Replace,
}

/// How dependents of a deleted object go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Before it; the operation waits until it is gone, at most [`DELETE_WAIT_SECONDS`].
    Foreground,
    /// After it, without waiting.
    Background,
    /// They stay.
    Orphan,
}

/// How long a foreground deletion is waited for.
pub const DELETE_WAIT_SECONDS: u64 = 20;

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectPatch {
    /// RFC 7396.
    Merge(Value),
    /// RFC 6902.
    Json(Value),
    /// The object is read, put through this jq filter, and written if that changed it.
    Jq(String),
}

/// `d8a-<instance>-`, before the name of everything that a hook touches.
#[must_use]
pub fn prefix(instance: &str) -> String {
    format!("d8a-{instance}-")
}

fn prefixed(instance: &str, name: &str) -> String {
    let prefix = prefix(instance);
    if name.starts_with(&prefix) {
        name.to_owned()
    } else {
        prefix + name
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    operation: Option<String>,
    object: Option<Value>,
    api_version: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    merge_patch: Option<Value>,
    json_patch: Option<Value>,
    jq_filter: Option<String>,
    subresource: Option<String>,
    ignore_missing_object: Option<bool>,
    ignore_hook_error: Option<bool>,
}

/// Reads an output file: a stream of JSON objects, or else of YAML documents. An empty file has no operations.
///
/// # Errors
/// The first thing that is wrong; nothing may be done then.
pub fn read(
    file: &[u8],
    owner: Owner<'_>,
    limits: &HookLimits,
) -> Result<Vec<Operation>, OperationsError> {
    let documents = documents(file, limits).map_err(OperationsError::Stream)?;
    if documents.len() > limits.operations {
        return Err(OperationsError::TooMany {
            found: documents.len(),
            most: limits.operations,
        });
    }
    let read = |(position, document)| {
        operation(document, owner, limits)
            .map_err(|problem| OperationsError::Operation { position, problem })
    };
    documents.into_iter().enumerate().map(read).collect()
}

fn documents(file: &[u8], limits: &HookLimits) -> Result<Vec<Value>, StreamError> {
    stream::values(file, limits).or_else(|not_json| {
        let text = std::str::from_utf8(file).map_err(|_| not_json.clone())?;
        let documents = stream::yaml(text, limits);
        // A blank file was a stream of no values; this one has something in it, and no operation.
        documents.filter(|found| !found.is_empty()).ok_or(not_json)
    })
}

fn operation(document: Value, owner: Owner<'_>, limits: &HookLimits) -> Result<Operation, String> {
    if !document.is_object() {
        return Err("an object with `operation` is needed".to_owned());
    }
    let written: Written = serde_json::from_value(document).map_err(|error| error.to_string())?;
    let name = written.operation.clone().unwrap_or_default();
    match name.as_str() {
        "Create" => created(&written, owner, OnExists::Fail, limits),
        "CreateIfNotExists" => created(&written, owner, OnExists::Keep, limits),
        "CreateOrUpdate" => created(&written, owner, OnExists::Replace, limits),
        "Delete" => changed(&written, owner, Action::Delete(Propagation::Foreground)),
        "DeleteInBackground" => changed(&written, owner, Action::Delete(Propagation::Background)),
        "DeleteNonCascading" => changed(&written, owner, Action::Delete(Propagation::Orphan)),
        "MergePatch" => {
            let body = body(written.merge_patch.as_ref(), "mergePatch", limits)?;
            if !body.is_object() {
                return Err("`mergePatch` must be an object".to_owned());
            }
            changed(&written, owner, patched(&written, ObjectPatch::Merge(body)))
        }
        "JSONPatch" => {
            let body = body(written.json_patch.as_ref(), "jsonPatch", limits)?;
            if !body.is_array() {
                return Err("`jsonPatch` must be a list".to_owned());
            }
            changed(&written, owner, patched(&written, ObjectPatch::Json(body)))
        }
        "JQPatch" => {
            let filter = written.jq_filter.clone().unwrap_or_default();
            if filter.is_empty() {
                return Err("`jqFilter` must not be empty".to_owned());
            }
            changed(&written, owner, patched(&written, ObjectPatch::Jq(filter)))
        }
        "" => Err("`operation` is missing".to_owned()),
        other => Err(format!("the operation {other:?} is not known")),
    }
}

/// The plural `ignoreMissingObjects`, which the SDK writes, is not read: a package would work here and fail elsewhere.
fn patched(written: &Written, patch: ObjectPatch) -> Action {
    Action::Patch {
        patch,
        subresource: written
            .subresource
            .clone()
            .filter(|subresource| !subresource.is_empty()),
        missing_ok: written.ignore_missing_object.unwrap_or(false),
        may_fail: written.ignore_hook_error.unwrap_or(false),
    }
}

fn changed(written: &Written, owner: Owner<'_>, action: Action) -> Result<Operation, String> {
    let given = |text: &Option<String>, key: &str| {
        text.clone()
            .filter(|text| !text.is_empty())
            .ok_or_else(|| format!("`{key}` is missing"))
    };
    Ok(Operation {
        target: Target {
            api_version: written.api_version.clone().filter(|it| !it.is_empty()),
            kind: given(&written.kind, "kind")?,
            namespace: owner.namespace.to_owned(),
            name: prefixed(owner.instance, &given(&written.name, "name")?),
        },
        action,
    })
}

fn created(
    written: &Written,
    owner: Owner<'_>,
    on_exists: OnExists,
    limits: &HookLimits,
) -> Result<Operation, String> {
    let mut object = body(written.object.as_ref(), "object", limits)?;
    let text = |object: &Value, pointer: &str| {
        let found = object.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let name = text(&object, "/metadata/name");
    if name.is_empty() {
        return Err("`object` needs a metadata.name".to_owned());
    }
    let target = Target {
        api_version: Some(text(&object, "/apiVersion")).filter(|version| !version.is_empty()),
        kind: text(&object, "/kind"),
        namespace: owner.namespace.to_owned(),
        name: prefixed(owner.instance, &name),
    };
    if let Some(metadata) = object
        .pointer_mut("/metadata")
        .and_then(Value::as_object_mut)
    {
        metadata.insert("name".to_owned(), target.name.clone().into());
        metadata.insert("namespace".to_owned(), target.namespace.clone().into());
    }
    Ok(Operation {
        target,
        action: Action::Create { object, on_exists },
    })
}

/// An object or list, itself or as a text of YAML or JSON; not empty.
fn body(written: Option<&Value>, key: &str, limits: &HookLimits) -> Result<Value, String> {
    let value = match written {
        Some(Value::String(text)) => stream::yaml(text, limits)
            .and_then(|mut documents| documents.pop())
            .ok_or_else(|| format!("`{key}` is a text, but neither YAML nor JSON"))?,
        Some(value) => value.clone(),
        None => Value::Null,
    };
    let is_given = match &value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    is_given
        .then_some(value)
        .ok_or_else(|| format!("`{key}` is missing or empty"))
}
