//! A stream of JSON values, one after the other: how hooks write their outputs.

use serde_json::Value;

use super::limits::HookLimits;

/// Why an output could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// Over [`HookLimits::output_bytes`].
    #[error("the file has {found} bytes, the limit is {most}")]
    TooLong {
        /// Bytes of the file.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// Not JSON.
    #[error("the file is not readable json: {problem} at line {line}, column {column}")]
    Syntax {
        /// What is wrong, without the text itself.
        problem: &'static str,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
}

/// All values of a file.
///
/// # Errors
/// Too long, or not JSON.
pub fn values(file: &[u8], limits: &HookLimits) -> Result<Vec<Value>, StreamError> {
    bounded(file, limits)?;
    serde_json::Deserializer::from_slice(file)
        .into_iter::<Value>()
        .collect::<Result<_, _>>()
        .map_err(|error| syntax(&error))
}

/// Refuses a file that is too long.
///
/// # Errors
/// Over [`HookLimits::output_bytes`].
pub fn bounded(file: &[u8], limits: &HookLimits) -> Result<(), StreamError> {
    if file.len() > limits.output_bytes {
        return Err(StreamError::TooLong {
            found: file.len(),
            most: limits.output_bytes,
        });
    }
    Ok(())
}

/// What is wrong, without the text: it may hold secrets.
fn syntax(error: &serde_json::Error) -> StreamError {
    let problem = if error.is_eof() {
        "it ends too early"
    } else {
        "unexpected text"
    };
    StreamError::Syntax {
        problem,
        line: error.line(),
        column: error.column(),
    }
}

/// All documents of a YAML stream, which JSON is a part of, without the empty ones; `None` if it is no YAML, or over a bound.
pub fn yaml(text: &str, limits: &HookLimits) -> Option<Vec<Value>> {
    const DEPTH: usize = 100;
    let nodes = limits.output_bytes / 8;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH,
            flow_nesting_limit: DEPTH,
            max_nodes: nodes,
            max_events: nodes.saturating_mul(3),
            max_recorded_anchor_events: nodes,
            max_recorded_anchor_bytes: limits.output_bytes,
            max_documents: limits.operations.saturating_add(1),
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: nodes,
            max_replay_stack_depth: DEPTH,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::Reject,
        emit_comments: false,
        with_snippet: false,
    };
    serde_saphyr::from_multiple_with_options(text, options).ok()
}
