//! What a look at a PostgreSQL server showed, bound to the configuration it was made with.
//!
//! Decides which failure an observation amounts to; it draws no conclusion about the Instance (that is [`super::instance`]).

use std::collections::BTreeMap;

use super::endpoint::Endpoint;
use super::failure::{Class, Failure};
use super::names::{ExtensionName, Uid};
use super::registration::CredentialReference;

/// What an observation was made of; one of another target is refused and changes nothing (I1, I12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetBinding {
    /// UID of the Instance.
    pub uid: Uid,
    /// Generation of the Instance.
    pub revision: i64,
    /// Its endpoint.
    pub endpoint: Endpoint,
    /// Its credential reference.
    pub credential: CredentialReference,
}

/// Result of one check. Not observed is not success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// As needed.
    Passed,
    /// Known to be unmet.
    Failed(Failure),
    /// Not looked at, or it could not be.
    #[default]
    NotObserved,
}

/// What the registry looks like. A failed connection is not `Absent`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RegistryState {
    /// No schema of that name.
    Absent,
    /// Ours, of an older version.
    NeedsMigration,
    /// Ours, of this version.
    Usable,
    /// Not ours, or newer; never touched. The text says which.
    Incompatible(String),
    /// It could not be looked at.
    #[default]
    NotObserved,
}

/// Whether an extension that the server lists can be installed (T6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installability {
    /// Trusted with all that it requires, or the admin may install untrusted ones.
    Yes,
    /// It, or this extension that it requires, needs a superuser.
    NeedsSuperuser(String),
    /// It requires an extension that the server does not have.
    Requires(String),
}

/// An extension that cannot be had on this server, and why; without a cause the server does not list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedExtension {
    /// Its name.
    pub name: ExtensionName,
    /// Why it cannot be installed though it is listed.
    pub because: Option<Installability>,
}

impl RefusedExtension {
    /// One clause for a condition's message.
    #[must_use]
    pub fn describe(&self) -> String {
        let name = &self.name;
        match &self.because {
            Some(Installability::NeedsSuperuser(which)) if which == name.as_str() => {
                format!("{name} needs a superuser (it is not trusted)")
            }
            Some(Installability::NeedsSuperuser(which)) => {
                format!("{name} requires {which}, which needs a superuser")
            }
            Some(Installability::Requires(which)) => {
                format!("{name} requires {which}, which the server does not have")
            }
            Some(Installability::Yes) | None => format!("{name} is not available on this server"),
        }
    }
}

/// One look at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapabilityObservation {
    /// What it was made of.
    pub target: TargetBinding,
    /// Secret readable, TLS and login accepted.
    pub access: Check,
    /// Version readable and supported, not a standby, writable, no pooler in between.
    pub metadata: Check,
    /// Attributes of the admin role and its right to make the registry, by reading.
    pub privileges: Check,
    /// The rolled-back attempt; made in `Validating` only.
    pub rights_probe: Check,
    /// The registry.
    pub registry: RegistryState,
    /// For display.
    pub server_version: Option<String>,
    /// What the server lists, and whether the admin can install it.
    pub extensions: BTreeMap<ExtensionName, Installability>,
    /// What an administrator should know though all checks pass (a superuser as admin, say).
    pub advice: Vec<String>,
}

impl CapabilityObservation {
    /// An observation in which nothing was seen yet.
    #[must_use]
    pub fn blank(target: TargetBinding) -> Self {
        Self {
            target,
            access: Check::NotObserved,
            metadata: Check::NotObserved,
            privileges: Check::NotObserved,
            rights_probe: Check::NotObserved,
            registry: RegistryState::NotObserved,
            server_version: None,
            extensions: BTreeMap::new(),
            advice: Vec::new(),
        }
    }

    /// The first of access, metadata and privileges that is not known to be met.
    #[must_use]
    pub fn management_failure(&self) -> Option<Failure> {
        let checks = [
            (&self.access, "the connection"),
            (&self.metadata, "the server's metadata"),
            (&self.privileges, "the admin's rights"),
        ];
        checks.into_iter().find_map(|(check, what)| match check {
            Check::Passed => None,
            Check::Failed(failure) => Some(failure.clone()),
            Check::NotObserved => Some(Failure::not_observed(what)),
        })
    }

    /// Why the registry can be neither used nor prepared.
    #[must_use]
    pub fn registry_failure(&self) -> Option<Failure> {
        match &self.registry {
            RegistryState::Incompatible(text) => {
                Some(Failure::new(Class::Misconfigured, text.clone()))
            }
            RegistryState::NotObserved => Some(Failure::not_observed("the registry")),
            RegistryState::Absent | RegistryState::NeedsMigration | RegistryState::Usable => None,
        }
    }

    /// Why the registry is not usable now.
    #[must_use]
    pub fn registry_unusable(&self) -> Option<Failure> {
        match &self.registry {
            RegistryState::Usable => None,
            RegistryState::Absent | RegistryState::NeedsMigration => Some(Failure::new(
                Class::Unavailable,
                "the registry was prepared but is not there",
            )),
            RegistryState::Incompatible(_) | RegistryState::NotObserved => self.registry_failure(),
        }
    }

    /// Why this extension cannot be had here, if it cannot.
    #[must_use]
    pub fn refusal(&self, name: &ExtensionName) -> Option<RefusedExtension> {
        match self.extensions.get(name) {
            Some(Installability::Yes) => None,
            because => Some(RefusedExtension {
                name: name.clone(),
                because: because.cloned(),
            }),
        }
    }

    /// What a ready Instance's condition says.
    #[must_use]
    pub fn ready_message(&self) -> String {
        let mut text =
            String::from("connected; registry usable; the admin role has what is needed");
        for advice in &self.advice {
            text.push_str("; ");
            text.push_str(advice);
        }
        text
    }
}
