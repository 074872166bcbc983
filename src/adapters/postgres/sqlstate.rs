//! What a server's error code means here: a class that rules read, and words that are safe to show.
//!
//! The server's own words never leave this module (H38, C5): they may quote names, values and whatever a hostile server likes.

use std::error::Error as _;

use domain::tenancy::failure::{Class, Failure};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Why a step on a server did not succeed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// The server refused it, or the connection broke.
    #[error("{step}")]
    Server {
        /// What was being done, with the names of resources.
        step: String,
        /// What the client library says.
        source: Error,
    },
    /// Judged already.
    #[error(transparent)]
    Told(Failure),
    /// Judged, but a new session may see it otherwise.
    #[error(transparent)]
    Doubtful(Failure),
}

impl Problem {
    pub(super) fn told(class: Class, text: impl Into<String>) -> Self {
        Self::Told(Failure::new(class, text))
    }

    /// The server's code, if the server refused.
    pub(super) fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Server { source, .. } => source.code(),
            Self::Told(_) | Self::Doubtful(_) => None,
        }
    }

    /// True for one of these codes.
    pub(super) fn is(&self, codes: &[SqlState]) -> bool {
        self.code().is_some_and(|code| codes.contains(code))
    }

    /// True if the same statement may well succeed at once: another session changed the same catalog row, or had the template.
    pub(super) fn is_passing(&self) -> bool {
        let Self::Server { source, .. } = self else {
            return false;
        };
        let Some(error) = source.as_db_error() else {
            return false;
        };
        let code = error.code();
        [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
            // The server gives this one no code of its own, and translates no internal error.
            || (*code == SqlState::INTERNAL_ERROR && error.message().starts_with("tuple concurrently"))
    }

    /// True if it may be this session that is wrong: a server caches per session whose member the admin is, and such a cache can miss
    /// a membership that was granted just while it was filled. A new session has a new cache.
    pub(super) fn doubts_session(&self) -> bool {
        match self {
            Self::Server { .. } => self.is(&[SqlState::INSUFFICIENT_PRIVILEGE]),
            Self::Told(failure) => failure.class == Class::Privileges,
            Self::Doubtful(_) => true,
        }
    }

    /// True if the connection broke, rather than the statement.
    pub(super) fn lost_connection(&self) -> bool {
        match self {
            Self::Server { source, .. } => source
                .code()
                .is_none_or(|code| code.code().starts_with("08") || code.code().starts_with("57P")),
            Self::Told(_) | Self::Doubtful(_) => false,
        }
    }

    /// As a port's failure.
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::Told(failure) | Self::Doubtful(failure) => failure,
            Self::Server { step, source } => failure(&step, &source),
        }
    }
}

/// The failure of a step, in words of our own with the code.
pub(super) fn failure(step: &str, error: &Error) -> Failure {
    let (class, words) = meaning(error.code());
    tracing::debug!(
        step,
        sqlstate = error.code().map(SqlState::code),
        cause = error
            .as_db_error()
            .is_none()
            .then(|| error.source().map(ToString::to_string))
            .flatten(),
        "PostgreSQL refused a step"
    );
    match error.code() {
        Some(code) => Failure::new(
            class,
            format!("{step}: {words} (SQLSTATE {})", printable(code.code())),
        ),
        None => Failure::new(class, format!("{step}: {words}")),
    }
}

/// A hostile server may send anything as a code.
fn printable(code: &str) -> &str {
    if code.len() == 5 && code.bytes().all(|b| b.is_ascii_alphanumeric()) {
        code
    } else {
        "unknown"
    }
}

/// What a code means where nothing more special is known.
pub(super) fn meaning(code: Option<&SqlState>) -> (Class, &'static str) {
    let Some(code) = code else {
        return (Class::Unavailable, "the connection was lost");
    };
    match code.code() {
        "28P01" => (Class::Authentication, "the password is refused"),
        "28000" => (
            Class::Authentication,
            "the login is not permitted (NOLOGIN, or no line in pg_hba.conf)",
        ),
        "42501" => (Class::Privileges, "a right is missing"),
        "25006" => (
            Class::Unavailable,
            "the server is read-only (a standby in recovery?)",
        ),
        "55P03" => (Class::Unavailable, "something else holds a lock on it"),
        "57014" | "25P03" | "25P04" => (Class::Unavailable, "it did not finish in time"),
        "53300" => (
            Class::Unavailable,
            "no connection is free (max_connections or a connection limit)",
        ),
        "53100" => (Class::Unavailable, "the server's disk is full"),
        "57P01" | "57P02" | "57P03" | "57P05" => (
            Class::Unavailable,
            "the server is starting or shutting down",
        ),
        "40001" | "40P01" => (Class::Unavailable, "another session was in the way"),
        "55006" => (Class::Blocked, "something uses it"),
        "55000" => (Class::Blocked, "its present state does not allow it"),
        "2BP01" => (Class::Blocked, "other objects depend on it"),
        "3D000" => (Class::Misconfigured, "the database does not exist"),
        "3F000" | "42P01" | "42703" => {
            (Class::Misconfigured, "a schema, table or column is missing")
        }
        "42710" | "42P04" | "42P06" | "42P07" | "23505" => (Class::Conflict, "it exists already"),
        "42704" => (Class::Rejected, "something that it names does not exist"),
        "0A000" => (Class::Rejected, "the server does not support it"),
        _ if code.code().starts_with("08") => (Class::Unavailable, "the connection failed"),
        _ if code.code().starts_with("53") => {
            (Class::Unavailable, "the server is short of resources")
        }
        _ => (Class::Rejected, "the server refuses it"),
    }
}

/// A name or label that others chose, made safe for one line of a condition: short, printable ASCII.
pub(super) fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || "_-./:@ ".contains(c) {
            c
        } else {
            '?'
        }
    };
    let mut safe: String = text.chars().take(MOST).map(keep).collect();
    if text.chars().nth(MOST).is_some() {
        safe.push_str("...");
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(code: &str) -> Class {
        meaning(Some(&SqlState::from_code(code))).0
    }

    #[test]
    fn each_code_has_the_class_that_its_remedy_needs() {
        let table = [
            (Class::Authentication, ["28P01", "28000"].as_slice()),
            (Class::Privileges, &["42501"]),
            (
                Class::Unavailable,
                &[
                    "08006", "08001", "08P01", "57P01", "57P03", "57014", "53300", "53200",
                    "25006", "55P03", "40001", "40P01",
                ],
            ),
            (Class::Blocked, &["55006", "55000", "2BP01"]),
            (Class::Conflict, &["42710", "42P04", "23505"]),
            (Class::Rejected, &["22023", "42601", "XX000", "0A000"]),
        ];
        for (expected, codes) in table {
            for code in codes {
                assert_eq!(class(code), expected, "{code}");
            }
        }
        assert_eq!(meaning(None).0, Class::Unavailable);
    }

    #[test]
    fn h38_a_code_that_is_none_is_not_repeated() {
        assert_eq!(printable("42501"), "42501");
        for hostile in ["", "42501\n", "4250\u{7}", "<b>42"] {
            assert_eq!(printable(hostile), "unknown", "{hostile:?}");
        }
    }

    #[test]
    fn h38_labels_that_others_chose_are_short_and_printable() {
        assert_eq!(quoted("psql"), "psql");
        assert_eq!(quoted("a\nERROR: b\u{1b}[31m"), "a?ERROR: b??31m");
        assert_eq!(quoted(&"x".repeat(100)), format!("{}...", "x".repeat(40)));
    }
}
