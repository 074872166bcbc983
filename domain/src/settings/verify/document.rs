//! One file of a package: its path, its text, and the document if it can be read.
//!
//! This file reports nothing.

use serde_json::Value;

use crate::settings::limits::Limits;
use crate::settings::schema::{LoadError, load};

/// A file, read once for all rules.
pub(super) struct Document<'f> {
    pub(super) path: &'f str,
    /// The text, if it is one.
    pub(super) text: Option<&'f str>,
    /// The document with the last of duplicate keys, or why there is none.
    pub(super) content: Result<Value, Unreadable>,
}

/// Why a file holds no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    /// Bytes that are no text.
    #[error("the file is not UTF-8 text")]
    NotText,
    /// No YAML, or too big.
    #[error("{0}")]
    Load(LoadError),
}

impl<'f> Document<'f> {
    pub(super) fn read(path: &'f str, bytes: &'f [u8], limits: &Limits) -> Self {
        let text = std::str::from_utf8(bytes).ok();
        let content = match text {
            Some(text) => load(text, limits).map_err(Unreadable::Load),
            None => Err(Unreadable::NotText),
        };
        Self {
            path,
            text,
            content,
        }
    }
}
