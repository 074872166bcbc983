//! Schemas: from a package's file to what validates a document (section 3).
//!
//! Order of work: [`load`] (YAML to JSON), [`decode`] (JSON to typed [`node`]s, with [`pattern`]s compiled), [`refs`] (references
//! linked), [`extend`] (settings under values), [`close`] (undeclared keys forbidden). [`encode`] writes nodes back as JSON for
//! [`publish`].

pub mod close;
pub mod decode;
pub mod encode;
pub mod extend;
pub mod load;
pub mod node;
pub mod pattern;
mod re2;
pub mod refs;
mod walk;

pub use close::Schema;
pub use decode::DecodeError;
pub use load::{LoadError, load};
pub use node::{Node, NodeId};
pub use refs::{OpenSchema, ReferenceError};
