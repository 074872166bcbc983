//! From a verdict to the JSON that the API server hands to the person who ran kubectl.
//!
//! Decides how a refusal reads: the same words, causes and codes as the API server's own field errors. It decides nothing
//! about the object. Whatever came from the request is stripped of control characters here (H20).

use std::fmt::Write as _;

use domain::violation::{Kind, Verdict, Violation};
use serde::Serialize;

use crate::ports::Route;
use crate::review::{REVIEW_KIND, REVIEW_VERSION, Review};
use crate::unreadable::Unreadable;

/// The longest warning in bytes; the API server may cut longer ones.
pub const WARNING_MAX: usize = 256;
/// The longest text of one cause in bytes.
pub const CAUSE_MAX: usize = 1024;
/// The most warnings that are passed on.
pub const WARNINGS_MAX: usize = 100;
/// The most causes that are listed; a spec within its limits has fewer.
pub const CAUSES_MAX: usize = 100;

/// The answer to a review.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    api_version: &'static str,
    kind: &'static str,
    response: Response,
}

#[derive(Debug, Serialize)]
struct Response {
    uid: String,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Failure>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Failure {
    status: &'static str,
    code: u16,
    reason: &'static str,
    message: String,
    details: Details,
}

#[derive(Debug, Serialize)]
struct Details {
    group: &'static str,
    kind: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
}

/// One field error: kubectl prints `field: message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The field's path.
    pub field: String,
    /// The API server's word for the kind of mistake.
    pub reason: &'static str,
    /// What is wrong and what to do.
    pub message: String,
}

impl Answer {
    /// The answer that a verdict gives: allowed if and only if nothing is violated, else 422 with every cause. `about` comes before
    /// them in the message.
    #[must_use]
    pub fn of(uid: &str, route: Route, name: &str, verdict: &Verdict, about: Option<&str>) -> Self {
        let refused = || invalid(route, name, &verdict.violations, about);
        let status = (!verdict.is_allowed()).then(refused);
        let warnings = verdict
            .warnings
            .iter()
            .take(WARNINGS_MAX)
            .map(|warning| printable(warning, WARNING_MAX))
            .collect();
        Self::new(uid, status, warnings)
    }

    /// The denial of a review that cannot be judged: 400, with the part that is wrong.
    #[must_use]
    pub fn unreadable(review: &Review<'_>, route: Route, problem: &Unreadable) -> Self {
        let details = Details {
            group: route.group(),
            kind: route.kind(),
            name: printable(&review.name, CAUSE_MAX),
            causes: Vec::new(),
        };
        let message = printable(&problem.to_string(), CAUSE_MAX);
        let status = Failure {
            status: "Failure",
            code: 400,
            reason: "BadRequest",
            message,
            details,
        };
        Self::new(&review.uid, Some(status), Vec::new())
    }

    /// True if the object may be stored.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.response.allowed
    }

    fn new(uid: &str, status: Option<Failure>, warnings: Vec<String>) -> Self {
        let response = Response {
            uid: uid.to_owned(),
            allowed: status.is_none(),
            status,
            warnings,
        };
        Self {
            api_version: REVIEW_VERSION,
            kind: REVIEW_KIND,
            response,
        }
    }
}

fn invalid(route: Route, name: &str, violations: &[Violation], about: Option<&str>) -> Failure {
    let (kind, group) = (route.kind(), route.group());
    let name = printable(name, CAUSE_MAX);
    let causes: Vec<Cause> = violations.iter().take(CAUSES_MAX).map(cause).collect();
    let mut message = format!("{kind}.{group} {name:?} is invalid: ");
    if let Some(about) = about {
        let _ = write!(message, "{}: ", printable(about, CAUSE_MAX));
    }
    let listed = causes
        .iter()
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect::<Vec<_>>()
        .join(", ");
    if violations.len() == 1 {
        message.push_str(&listed);
    } else {
        let _ = write!(message, "[{listed}]");
    }
    if violations.len() > CAUSES_MAX {
        let _ = write!(message, " and {} more", violations.len() - CAUSES_MAX);
    }
    let details = Details {
        group,
        kind,
        name,
        causes,
    };
    Failure {
        status: "Failure",
        code: 422,
        reason: "Invalid",
        message,
        details,
    }
}

/// One field error in the API server's words: kubectl prints `field: message` of each cause and nothing else.
pub(crate) fn cause(violation: &Violation) -> Cause {
    let (reason, prefix) = match violation.kind {
        Kind::Required => ("FieldValueRequired", "Required value"),
        Kind::Invalid => ("FieldValueInvalid", "Invalid value"),
        Kind::Unsupported => ("FieldValueNotSupported", "Unsupported value"),
        Kind::Immutable | Kind::Forbidden => ("FieldValueForbidden", "Forbidden"),
        Kind::Duplicate => ("FieldValueDuplicate", "Duplicate value"),
        Kind::TooLong => ("FieldValueTooLong", "Too long"),
    };
    Cause {
        field: printable(violation.path.as_str(), CAUSE_MAX),
        reason,
        message: printable(&format!("{prefix}: {}", violation.text), CAUSE_MAX),
    }
}

/// The text without control, format and other invisible characters, which are escaped, and not longer than `max` bytes.
pub(crate) fn printable(text: &str, max: usize) -> String {
    const CUT: &str = "…";
    let mut shown = String::with_capacity(text.len().min(max));
    for character in text.chars() {
        let before = shown.len();
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
        if shown.len() > max {
            shown.truncate(before);
            while shown.len() + CUT.len() > max && shown.pop().is_some() {}
            shown.push_str(CUT);
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn h20_control_and_invisible_characters_are_escaped_and_quotes_are_not() {
        assert_eq!(
            printable("a\n\u{1b}[31m\0\u{202e}\"b\"", 100),
            "a\\n\\u{1b}[31m\\0\\u{202e}\"b\""
        );
        assert_eq!(printable("żółw %s ${a} {{b}}", 100), "żółw %s ${a} {{b}}");
    }

    #[test]
    fn a_text_is_cut_at_a_character_and_within_its_bytes() {
        for max in 3..20 {
            for text in ["я".repeat(20), "\u{1b}".repeat(20), "a".repeat(20)] {
                let cut = printable(&text, max);
                assert!(cut.len() <= max && cut.ends_with('…'), "{cut:?} {max}");
            }
        }
        assert_eq!(printable("abc", 3), "abc");
    }
}
