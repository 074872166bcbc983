//! The settings check: what exit status and stderr of `hook check` say.
//!
//! No answer is an error, never a yes; the one exception is the protocol's own: exit 0 is valid, whatever was printed.

use serde::Deserialize;

use super::limits::HookLimits;
use super::outcome::{Ending, quoted};
use crate::settings::admission::HookAnswer;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// It failed and said nothing.
    #[error("the check ended with {0} and said nothing")]
    Silent(Ending),
    /// It failed, and stderr is no answer.
    #[error("the check ended with {ending}, and what it said is no answer: {said}")]
    Unreadable {
        /// How it ended.
        ending: Ending,
        /// The beginning of stderr.
        said: String,
    },
}

#[derive(Deserialize)]
struct Written {
    valid: Option<bool>,
    message: Option<String>,
    warnings: Option<Vec<String>>,
}

/// Reads the answer.
///
/// # Errors
/// The check did not answer; at the webhook that denies, at *configure* it fails the step.
pub fn answer(ending: Ending, stderr: &str, limits: &HookLimits) -> Result<HookAnswer, CheckError> {
    if ending == Ending::Exit(0) {
        return Ok(HookAnswer {
            valid: true,
            message: String::new(),
            warnings: Vec::new(),
        });
    }
    if stderr.trim().is_empty() {
        return Err(CheckError::Silent(ending));
    }
    let written: Written = serde_json::from_str(stderr)
        .ok()
        .filter(|_| stderr.trim_start().starts_with('{'))
        .ok_or_else(|| CheckError::Unreadable {
            ending,
            said: quoted(stderr, limits),
        })?;
    Ok(HookAnswer {
        valid: written.valid.unwrap_or(true),
        message: written.message.unwrap_or_default(),
        warnings: written.warnings.unwrap_or_default(),
    })
}
