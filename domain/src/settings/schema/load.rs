//! One YAML file to one JSON document (section 3.1, step 1).
//!
//! Anchors and merge keys are resolved, a duplicate key keeps its last value (S13), keys that are no text become text. What
//! is too big, too deep or an alias bomb is refused (S20) before it is expanded. This file does not know what a schema is.

use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;

use crate::settings::limits::Limits;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file is over [`Limits::file_bytes`].
    #[error("the file has {found} bytes, the limit is {most}")]
    TooLong {
        /// Bytes of the file.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// The file nests deeper than [`Limits::file_depth`].
    #[error("maps and lists nest deeper than {most} levels")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// The file has more nodes than [`Limits::file_nodes`], aliases expanded.
    #[error(
        "the file has more than {most} YAML nodes, aliases expanded: use fewer or smaller anchors"
    )]
    TooManyNodes {
        /// The limit.
        most: usize,
    },
    /// The file holds more than one document.
    #[error("the file holds several YAML documents: keep one, remove `---` between them")]
    SeveralDocuments,
    /// The file is no YAML, or says something that JSON cannot.
    #[error("the file is not readable YAML: {0}")]
    Syntax(String),
}

/// Reads one file; an empty file is `null`.
///
/// # Errors
/// Broken YAML, several documents, or a limit of [`Limits`].
pub fn load(text: &str, limits: &Limits) -> Result<Value, LoadError> {
    if text.len() > limits.file_bytes {
        return Err(LoadError::TooLong {
            found: text.len(),
            most: limits.file_bytes,
        });
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: limits.file_depth,
            flow_nesting_limit: limits.file_depth.saturating_add(8),
            max_nodes: limits.file_nodes,
            max_events: limits.file_nodes.saturating_mul(3),
            max_recorded_anchor_events: limits.file_nodes.saturating_mul(3),
            max_recorded_anchor_bytes: limits.file_bytes.saturating_mul(4),
            max_documents: 2,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: limits.file_nodes,
            max_replay_stack_depth: limits.file_depth,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::Reject,
        emit_comments: false,
        with_snippet: false,
    };
    let document: Option<Value> = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| refused(&error, limits))?;
    Ok(document.unwrap_or(Value::Null))
}

fn refused(error: &serde_saphyr::Error, limits: &Limits) -> LoadError {
    match error {
        serde_saphyr::Error::Budget { breach, .. } => match breach {
            BudgetBreach::Depth { .. } => LoadError::TooDeep {
                most: limits.file_depth,
            },
            BudgetBreach::Documents { .. } => LoadError::SeveralDocuments,
            _ => LoadError::TooManyNodes {
                most: limits.file_nodes,
            },
        },
        serde_saphyr::Error::AliasReplayLimitExceeded { .. }
        | serde_saphyr::Error::AliasExpansionLimitExceeded { .. }
        | serde_saphyr::Error::AliasReplayStackDepthExceeded { .. } => LoadError::TooManyNodes {
            most: limits.file_nodes,
        },
        serde_saphyr::Error::MultipleDocuments { .. } => LoadError::SeveralDocuments,
        serde_saphyr::Error::AliasError { error, .. } => refused(error, limits),
        other => LoadError::Syntax(printable(&other.to_string())),
    }
}

/// The parser quotes the file; what a terminal would obey is not passed on.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(300)
        .collect()
}
