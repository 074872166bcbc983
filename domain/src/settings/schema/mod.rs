//! Schemas: from a package's file to what validates a document (section 3).
//!
//! Order of work: [`mod@load`] (YAML to JSON), [`decode`] (JSON to typed [`node`]s, with [`pattern`]s compiled), [`refs`] (references
//! linked), [`extend`] (settings under values), [`close`] (undeclared keys forbidden). [`encode`] writes nodes back as JSON for
//! [`publish`].

pub mod close;
pub mod decode;
pub mod descriptions;
pub mod encode;
pub mod extend;
pub mod extensions;
pub mod load;
pub mod node;
pub mod pattern;
pub mod publish;
pub(in crate::settings) mod re2;
pub mod refs;
pub mod types;
mod walk;

use serde_json::Value;

use super::limits::Limits;
use super::rules::set::TooManyRules;

pub use close::Schema;
pub use decode::DecodeError;
pub use load::{LoadError, load};
pub use node::{Node, NodeId};
pub use refs::{OpenSchema, ReferenceError};

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The file could not be read.
    #[error(transparent)]
    Load(LoadError),
    /// The document is no schema.
    #[error(transparent)]
    Decode(DecodeError),
    /// A reference leads nowhere.
    #[error(transparent)]
    Reference(ReferenceError),
    /// The schema has too many rules.
    #[error(transparent)]
    Rules(TooManyRules),
}

/// A document as an open schema: decoded, with its references in place.
///
/// # Errors
/// The document is no schema, or is over a limit.
pub fn open(document: &Value, limits: &Limits) -> Result<OpenSchema, SchemaError> {
    let root = decode::decode(document, limits).map_err(SchemaError::Decode)?;
    refs::link(root, limits).map_err(SchemaError::Reference)
}

/// A pointer and a further step, joined with a dot.
fn join(pointer: &str, step: &str) -> String {
    if pointer.is_empty() {
        step.to_owned()
    } else {
        format!("{pointer}.{step}")
    }
}
