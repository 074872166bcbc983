//! The closed list of reasons, what one `Ready` condition may say, and when a round looks again.
//!
//! Decides C6 (status follows from the reason) and the retry class of D15. It never computes a time of day.

use std::time::Duration;

use super::failure::Class;

/// Reasons of the `Ready` condition (contract, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Normal progress.
    Reconciling,
    /// Converged.
    Ready,
    /// The spec must change.
    InvalidSpec,
    /// A value that may not change was changed; restore it or migrate.
    ImmutableField,
    /// Something needed is away; retried automatically.
    DependencyUnavailable,
    /// Credential or TLS must be fixed.
    AuthenticationFailed,
    /// The admin role lacks a right.
    InsufficientPrivileges,
    /// The Tenant's Instance is not usable.
    InstanceNotReady,
    /// Something that is not ours holds the name.
    Conflict,
    /// A step failed and is retried by its class.
    ProvisioningFailed,
    /// External Secrets Operator could not deliver the Secret.
    CredentialProjectionFailed,
}

impl Reason {
    /// Every reason, for documentation and tests.
    pub const ALL: &'static [Self] = &[
        Self::Reconciling,
        Self::Ready,
        Self::InvalidSpec,
        Self::ImmutableField,
        Self::DependencyUnavailable,
        Self::AuthenticationFailed,
        Self::InsufficientPrivileges,
        Self::InstanceNotReady,
        Self::Conflict,
        Self::ProvisioningFailed,
        Self::CredentialProjectionFailed,
    ];

    /// The name in the condition.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reconciling => "Reconciling",
            Self::Ready => "Ready",
            Self::InvalidSpec => "InvalidSpec",
            Self::ImmutableField => "ImmutableField",
            Self::DependencyUnavailable => "DependencyUnavailable",
            Self::AuthenticationFailed => "AuthenticationFailed",
            Self::InsufficientPrivileges => "InsufficientPrivileges",
            Self::InstanceNotReady => "InstanceNotReady",
            Self::Conflict => "Conflict",
            Self::ProvisioningFailed => "ProvisioningFailed",
            Self::CredentialProjectionFailed => "CredentialProjectionFailed",
        }
    }

    /// The reason with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.as_str() == text)
    }

    /// The condition's status that goes with the reason (C6).
    #[must_use]
    pub fn status(self) -> ReadyStatus {
        match self {
            Self::Ready => ReadyStatus::True,
            Self::Reconciling => ReadyStatus::Unknown,
            _ => ReadyStatus::False,
        }
    }

    /// When a round that ended with this reason looks again (D15).
    #[must_use]
    pub fn retry(self) -> Retry {
        match self {
            Self::Ready | Self::InvalidSpec | Self::ImmutableField | Self::InstanceNotReady => {
                Retry::Slow
            }
            Self::Conflict => Retry::After(Duration::from_secs(60)),
            Self::Reconciling
            | Self::DependencyUnavailable
            | Self::AuthenticationFailed
            | Self::InsufficientPrivileges
            | Self::ProvisioningFailed
            | Self::CredentialProjectionFailed => Retry::Backoff,
        }
    }

    /// Whether only another spec helps: trying again changes nothing.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::InvalidSpec | Self::ImmutableField)
    }

    /// What a Tenant's condition says of a failure of this class.
    #[must_use]
    pub fn of_tenant_failure(class: Class) -> Self {
        match class {
            Class::Unavailable
            | Class::Authentication
            | Class::Stale
            | Class::NamespaceTerminating => Self::DependencyUnavailable,
            Class::Privileges | Class::Misconfigured | Class::Blocked | Class::Rejected => {
                Self::ProvisioningFailed
            }
            Class::Conflict => Self::Conflict,
            Class::NotInstallable => Self::InvalidSpec,
            Class::ProjectionUnsupported => Self::CredentialProjectionFailed,
        }
    }

    /// What an Instance's condition says of a failure of this class.
    #[must_use]
    pub fn of_instance_failure(class: Class) -> Self {
        match class {
            Class::Authentication => Self::AuthenticationFailed,
            Class::Privileges => Self::InsufficientPrivileges,
            _ => Self::DependencyUnavailable,
        }
    }
}

/// Status of the `Ready` condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadyStatus {
    /// Converged.
    True,
    /// A known unmet contract.
    False,
    /// In progress.
    Unknown,
}

impl ReadyStatus {
    /// The name in the condition.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What the one `Ready` condition says; the status follows from the reason, so the two cannot disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Why.
    pub reason: Reason,
    /// For people: resource names and error classes only (C6).
    pub message: String,
}

/// The longest message of a condition in bytes; what is longer ends in `…`. A stored message is the one that was decided, so
/// that the next round finds it equal and writes nothing.
pub const MESSAGE_MAX: usize = 1024;

impl Ready {
    /// A condition of this reason; a message over [`MESSAGE_MAX`] is cut at a character.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: capped(message.into()),
        }
    }

    /// The condition's status.
    #[must_use]
    pub fn status(&self) -> ReadyStatus {
        self.reason.status()
    }
}

/// A text for people, cut at a character if it is longer than [`MESSAGE_MAX`].
#[must_use]
pub fn capped(mut message: String) -> String {
    const MARK: &str = "…";
    if message.len() > MESSAGE_MAX {
        let room = MESSAGE_MAX - MARK.len();
        let end = (0..=room).rev().find(|end| message.is_char_boundary(*end));
        message.truncate(end.unwrap_or_default());
        message.push_str(MARK);
    }
    message
}

/// When to look again if no watch wakes the object earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// At the slow timer (10 minutes ± 10 %, D15).
    Slow,
    /// Exponentially per object, 1 s to 30 s (D15).
    Backoff,
    /// After this long.
    After(Duration),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_ready_true_has_reason_ready_and_progress_is_unknown() {
        for reason in Reason::ALL {
            let status = Ready::new(*reason, "").status();
            match reason {
                Reason::Ready => assert_eq!(status, ReadyStatus::True),
                Reason::Reconciling => assert_eq!(status, ReadyStatus::Unknown),
                _ => assert_eq!(status, ReadyStatus::False),
            }
            assert_eq!(Reason::parse(reason.as_str()), Some(*reason));
        }
    }

    #[test]
    fn a_long_message_is_cut_at_a_character_and_cutting_again_changes_nothing() {
        let ready = Ready::new(Reason::Conflict, "ü".repeat(MESSAGE_MAX));
        assert!(ready.message.len() <= MESSAGE_MAX && ready.message.ends_with("ü…"));
        assert_eq!(Ready::new(Reason::Conflict, ready.message.clone()), ready);
    }

    #[test]
    fn d15_a_conflict_waits_a_minute_and_a_dependency_backs_off() {
        assert_eq!(
            Reason::Conflict.retry(),
            Retry::After(Duration::from_secs(60))
        );
        assert_eq!(Reason::DependencyUnavailable.retry(), Retry::Backoff);
        assert_eq!(Reason::InvalidSpec.retry(), Retry::Slow);
    }
}
