//! The settings that every session pins in its startup packet, where nothing that a tenant sets can win over them (D12).
//!
//! `ALTER DATABASE … SET` and `ALTER ROLE … SET` are open to the owner of a database, which the admin visits. A setting that the
//! client sends at startup beats both.

use std::fmt::Write as _;
use std::time::Duration;

/// What servers list as the session's program.
pub(super) const APPLICATION_NAME: &str = "tenantry";

/// A setting of our own that no server knows; a direct connection reads it back, a pooler in between loses it.
pub(super) const NONCE_SETTING: &str = "tenantry.session";

/// Settings that every supported version knows.
const PINNED: &[(&str, &str)] = &[
    // Run as who logged in, not as what a role setting names.
    ("role", "none"),
    ("default_transaction_read_only", "off"),
    ("default_transaction_isolation", "read\\ committed"),
    ("default_transaction_deferrable", "off"),
    // Names are qualified in every statement; this is the second lock on the same door.
    ("search_path", "pg_catalog,pg_temp"),
    ("local_preload_libraries", ""),
    // Where and how objects of an extension would be stored.
    ("default_tablespace", ""),
    ("temp_tablespaces", ""),
    ("default_table_access_method", "heap"),
    // How our statements are parsed and how passwords would be hashed.
    ("standard_conforming_strings", "on"),
    ("transform_null_equals", "off"),
    ("array_nulls", "on"),
    ("row_security", "on"),
    ("check_function_bodies", "on"),
    ("password_encryption", "scram-sha-256"),
    // A notice would only cost a message.
    ("client_min_messages", "warning"),
];

/// Settings that exist from a major version on; an older server would refuse the login for them.
const PINNED_SINCE: &[(u16, &str, &str)] = &[
    (14, "idle_session_timeout", "0"),
    // What a new role's creator is granted; the grants are our own statements.
    (16, "createrole_self_grant", ""),
    (17, "transaction_timeout", "0"),
];

/// Limits that the server keeps by itself should this process vanish in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerLimits {
    /// For one statement.
    pub(super) statement: Duration,
    /// For one lock.
    pub(super) lock: Duration,
    /// For a transaction without a statement.
    pub(super) idle_in_transaction: Duration,
}

/// The `options` of the startup packet; `major` is the server's major version, if it is known yet.
pub(super) fn options(limits: ServerLimits, major: Option<u16>, nonce: &str) -> String {
    let mut text = String::new();
    let mut pin = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{}-c {name}={value}",
            if text.is_empty() { "" } else { " " }
        );
    };
    for (name, value) in PINNED {
        pin(name, value);
    }
    for (since, name, value) in PINNED_SINCE {
        if major.is_some_and(|major| major >= *since) {
            pin(name, value);
        }
    }
    pin(
        "statement_timeout",
        &limits.statement.as_millis().to_string(),
    );
    pin("lock_timeout", &limits.lock.as_millis().to_string());
    pin(
        "idle_in_transaction_session_timeout",
        &limits.idle_in_transaction.as_millis().to_string(),
    );
    pin(NONCE_SETTING, nonce);
    text
}

/// The major version in a server's `server_version`, as in `15.18 (Debian 15.18-1)` or `18beta1`.
pub(super) fn major_version(server_version: &str) -> Option<u16> {
    let digits = server_version.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ServerLimits = ServerLimits {
        statement: Duration::from_secs(60),
        lock: Duration::from_millis(2500),
        idle_in_transaction: Duration::from_secs(5),
    };

    #[test]
    fn d12_what_a_tenant_can_set_is_pinned_in_the_startup_packet() {
        let text = options(LIMITS, None, "n1");
        for setting in [
            "-c role=none",
            "-c default_transaction_read_only=off",
            "-c search_path=pg_catalog,pg_temp",
            "-c local_preload_libraries= ",
            "-c statement_timeout=60000",
            "-c lock_timeout=2500",
            "-c idle_in_transaction_session_timeout=5000",
            "-c tenantry.session=n1",
        ] {
            assert!(text.contains(setting), "{setting} is not in {text}");
        }
    }

    #[test]
    fn d12_a_setting_is_sent_only_to_a_server_that_knows_it() {
        for (major, known) in [
            (None, 0),
            (Some(13), 0),
            (Some(14), 1),
            (Some(16), 2),
            (Some(18), 3),
        ] {
            let text = options(LIMITS, major, "n");
            let sent = PINNED_SINCE
                .iter()
                .filter(|(_, name, _)| text.contains(name))
                .count();
            assert_eq!(sent, known, "{major:?}");
        }
    }

    #[test]
    fn every_value_is_one_word_of_the_options() {
        let text = options(LIMITS, Some(18), "n");
        let unescaped = text.replace("\\ ", "_");
        assert!(
            unescaped
                .split(' ')
                .all(|word| word == "-c" || word.contains('=')),
            "{text}"
        );
    }

    #[test]
    fn the_major_version_is_read_from_every_form_of_a_version() {
        for (text, major) in [
            ("13.23", 13),
            ("15.18 (Debian 15.18-1.pgdg)", 15),
            ("18beta1", 18),
            ("16.14.2", 16),
        ] {
            assert_eq!(major_version(text), Some(major), "{text}");
        }
        assert_eq!(major_version("devel"), None);
    }
}
