//! What can be wrong with stored bytes, and why something else is stored than before. It holds words, and decides nothing.

use std::fmt;

use super::{AUTHORITIES, CERTIFICATE};
use crate::pem::PemError;

/// Why stored bytes cannot be used. Names the key of the Secret, never its content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A key of the Secret is absent or empty.
    #[error("{key} is missing or empty")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A key of the Secret does not hold what it should.
    #[error("{key}: {source}")]
    Content {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        source: PemError,
    },
    /// The authority was not made by this mode.
    #[error("{AUTHORITIES} begins with an authority that Tenantry did not make")]
    Foreign,
    /// A certificate's time is over.
    #[error("{key} has expired")]
    Expired {
        /// The key.
        key: &'static str,
    },
    /// No stored authority signed the pair.
    #[error("{CERTIFICATE} was not signed by an authority in {AUTHORITIES}")]
    Untrusted,
}

/// Why something else is stored than before.
#[derive(Debug)]
#[non_exhaustive]
pub enum Why {
    /// Nothing was stored.
    Absent,
    /// The stored authority cannot be used, so authority and pair are new.
    AuthorityFault(Fault),
    /// As before, but this process still held a usable one and puts it back.
    PutBack(Fault),
    /// The stored pair cannot be used, so it is new.
    PairFault(Fault),
    /// The authority comes to its end: there is a new one, and the old one stays trusted.
    AuthorityDue,
    /// The pair comes to its end.
    PairDue,
    /// The pair lacks a name that is wanted.
    NamesChanged,
    /// The new authority is known by now: a pair of its.
    NewAuthority,
    /// An old authority is not needed any more.
    OldAuthorityGone,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => write!(f, "there was none"),
            Self::AuthorityFault(fault) | Self::PairFault(fault) => {
                write!(f, "what was stored cannot be used: {fault}")
            }
            Self::PutBack(fault) => write!(
                f,
                "what was stored cannot be used: {fault}; the one in force is put back"
            ),
            Self::AuthorityDue => write!(f, "the authority comes to its end"),
            Self::PairDue => write!(f, "the serving certificate comes to its end"),
            Self::NamesChanged => write!(f, "the serving certificate lacks a name"),
            Self::NewAuthority => write!(f, "there is a new authority"),
            Self::OldAuthorityGone => write!(f, "an old authority is not needed any more"),
        }
    }
}

impl Why {
    /// Whether something was broken, which a person should know of.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::AuthorityFault(_) | Self::PutBack(_) | Self::PairFault(_)
        )
    }
}
