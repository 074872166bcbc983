//! What an adapter says when it could not see or do something: a class that rules can read, and a text that is safe to show.
//!
//! It decides nothing; [`super::reason`] maps classes to reasons.

use std::fmt;

/// Why a port failed, as far as rules care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The other side is away, busy, sealed, a standby, or did not answer in time; retrying helps.
    Unavailable,
    /// TLS or a login was refused; someone must fix a credential or a certificate.
    Authentication,
    /// The login works and a right is missing.
    Privileges,
    /// The other side is there and not usable as configured (a KV v1 mount, a missing mount, a foreign schema).
    Misconfigured,
    /// Something that is not ours is in the way.
    Conflict,
    /// The extension cannot be installed on this server (T6).
    NotInstallable,
    /// Something holds the object: a session, a prepared transaction, a subscription.
    Blocked,
    /// The API of ExternalSecret is not served.
    ProjectionUnsupported,
    /// The namespace is being terminated: nothing can be made in it, and nothing needs to be.
    NamespaceTerminating,
    /// The object changed since it was read; read it again.
    Stale,
    /// The request itself was refused as wrong; retrying the same does not help by itself.
    Rejected,
}

/// A failure that may be shown: `text` names resources and error classes only, never a credential (C5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What rules read.
    pub class: Class,
    /// What people read.
    pub text: String,
}

impl Failure {
    /// A failure of a class with a text that is safe for status.
    #[must_use]
    pub fn new(class: Class, text: impl Into<String>) -> Self {
        Self {
            class,
            text: text.into(),
        }
    }

    /// Something that a round needs and did not see; not seen is never the same as met.
    #[must_use]
    pub fn not_observed(what: &str) -> Self {
        Self::new(
            Class::Unavailable,
            format!("{what} could not be observed in this round"),
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}
