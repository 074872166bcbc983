//! What is said of a part of a review that cannot be read, and the names of those parts.
//!
//! It reads nothing itself.

/// The field of a review with the object as it is wanted.
pub(crate) const OBJECT: &str = "request.object";
/// The field of a review with the object as it is stored.
pub(crate) const OLD_OBJECT: &str = "request.oldObject";

/// Why a review is denied before its rules are looked at: something in it cannot be read, or it was never registered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {text}")]
pub struct Unreadable {
    /// The part of the review.
    pub field: &'static str,
    /// What is wrong with it.
    pub text: String,
}

impl Unreadable {
    pub(crate) fn new(field: &'static str, text: impl Into<String>) -> Self {
        Self {
            field,
            text: text.into(),
        }
    }
}
