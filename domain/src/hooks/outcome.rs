//! How a process of a hook ended, and what of its stderr is told.

use std::fmt;

use serde_json::Value;

use super::limits::HookLimits;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(status) => write!(f, "exit status {status}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// What a failed run says: its stderr, unwrapped if it is one object with a `message`; else how it ended. `None` if it succeeded.
#[must_use]
pub fn failure(ending: Ending, stderr: &str, limits: &HookLimits) -> Option<String> {
    if ending == Ending::Exit(0) {
        return None;
    }
    let said = stderr.trim();
    if said.is_empty() {
        return Some(ending.to_string());
    }
    let unwrapped = serde_json::from_str::<Value>(said)
        .ok()
        .and_then(|value| value.get("message")?.as_str().map(ToOwned::to_owned))
        .filter(|message| !message.trim().is_empty());
    Some(quoted(unwrapped.as_deref().unwrap_or(said), limits))
}

/// The beginning of what a program said, in one line: what a terminal would obey is not passed on.
#[must_use]
pub fn quoted(said: &str, limits: &HookLimits) -> String {
    let said = said.trim();
    let mut end = said.len().min(limits.quoted_bytes);
    while !said.is_char_boundary(end) {
        end -= 1;
    }
    let mut text: String = said
        .get(..end)
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if end < said.len() {
        text.push('…');
    }
    text
}
