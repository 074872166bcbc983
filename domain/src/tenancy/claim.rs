//! A row of the registry as data: who claimed which database and role on a server.
//!
//! Decides what a row proves about a role or a database of its name (T3); the registry is the authority on ownership
//! (contract, section 8). Proofs that need more than the row are in [`super::proof`].

use std::time::Duration;

use super::names::Uid;
use super::tenant::DeletionPolicy;

/// State of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimState {
    /// A living Tenant uses it.
    Managed,
    /// Its Tenant is gone and the policy was `Retain`; the data stay under the original UID (T4).
    Unmanaged,
    /// Its Tenant is being deleted with policy `Delete`.
    Deleting,
}

impl ClaimState {
    /// The name in the registry.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Unmanaged => "unmanaged",
            Self::Deleting => "deleting",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Managed, Self::Unmanaged, Self::Deleting]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// One registry row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// UID of the cluster's `kube-system` namespace.
    pub cluster_uid: Uid,
    /// The owner. Names prove nothing (D1).
    pub tenant_uid: Uid,
    /// The Instance under which it was claimed.
    pub instance_uid: Uid,
    /// Namespace of the Tenant.
    pub namespace: String,
    /// Name of the Tenant.
    pub name: String,
    /// The claimed database.
    pub database: String,
    /// The claimed role.
    pub role: String,
    /// The target Secret's name when it was claimed (M1).
    pub secret_name: String,
    /// Where the password is, under the mount (T1: this path counts, not a derived one).
    pub secret_path: String,
    /// OID of the role that we made; the proof that a role of that name is ours.
    pub role_oid: Option<u32>,
    /// OID of the database that we made.
    pub database_oid: Option<u32>,
    /// The extensions that were verified as installed (M2).
    pub extensions: Vec<String>,
    /// The KV version whose verifier the role has (D13).
    pub applied_kv_version: Option<u64>,
    /// How long ago that verifier was sent again, by the server's clock; none if it was sent once only (D13).
    pub resent_age: Option<Duration>,
    /// State.
    pub state: ClaimState,
    /// The policy at first contact with the deletion; it wins from then on (M3).
    pub frozen_policy: Option<DeletionPolicy>,
}

impl Claim {
    /// True if its Tenant is to be asked for, should it be out of sight: a row of this cluster that nobody marked yet (T4). Those
    /// that were retained long ago are not asked for again.
    #[must_use]
    pub fn may_be_left_behind(&self, cluster: &Uid) -> bool {
        self.state == ClaimState::Managed && self.cluster_uid == *cluster
    }

    /// What proofs of ownership compare with.
    #[must_use]
    pub fn recorded(&self) -> Recorded<'_> {
        Recorded {
            tenant_uid: &self.tenant_uid,
            role_oid: self.role_oid,
            database_oid: self.database_oid,
        }
    }
}

/// What was recorded about a claim's role and database.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// The Tenant's UID.
    pub tenant_uid: &'a Uid,
    /// OID of the role that we made.
    pub role_oid: Option<u32>,
    /// OID of the database that we made.
    pub database_oid: Option<u32>,
}

impl Recorded<'_> {
    /// A role is ours if its OID is the recorded one or, after a restore, its comment carries our UID; the name proves nothing.
    #[must_use]
    pub fn is_own_role(&self, oid: u32, comment: Option<&Uid>) -> bool {
        self.role_oid == Some(oid) || comment == Some(self.tenant_uid)
    }

    /// A database is ours if its owner is our role and its OID is the recorded one, if any was recorded.
    #[must_use]
    pub fn is_own_database(&self, oid: u32, owner: u32, own_role: Option<u32>) -> bool {
        own_role == Some(owner) && self.database_oid.is_none_or(|recorded| recorded == oid)
    }

    /// The recorded database in the hands of the admin itself: it can be given back to its role.
    #[must_use]
    pub fn is_own_database_of_admin(&self, oid: u32, of_admin: bool) -> bool {
        self.database_oid == Some(oid) && of_admin
    }
}
