//! Why a document is no schema, with the place.

use crate::settings::schema::pattern::PatternError;

/// Why a document is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", place(pointer))]
pub struct DecodeError {
    /// Where: steps joined with dots, keywords included, such as `properties.db.minLength`; empty for the root.
    pub pointer: String,
    /// What is wrong.
    #[source]
    pub problem: DecodeProblem,
}

/// What is wrong at a place of a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// A keyword has a value of a wrong type.
    #[error("must be {0}")]
    Shape(&'static str),
    /// The schema nests deeper than [`crate::settings::limits::Limits::schema_depth`].
    #[error("schemas nest deeper than {0} levels: make the schema flatter")]
    TooDeep(usize),
    /// The document has more nodes than [`crate::settings::limits::Limits::schema_nodes`].
    #[error("the schema has more than {0} nodes")]
    TooManyNodes(usize),
    /// The reference leaves the document.
    #[error(
        "refers to {0:?}: only `#/definitions/<name>` of the same file is followed, copy the definition into the file"
    )]
    Remote(String),
    /// A pattern is over a limit.
    #[error(transparent)]
    Pattern(PatternError),
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        "the schema ".to_owned()
    } else {
        format!("{pointer} ")
    }
}
