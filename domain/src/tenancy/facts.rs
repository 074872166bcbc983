//! What adapters saw in one round, as data. Nothing here is a conclusion.
//!
//! A part that was not asked for is [`Seen::NotAsked`]; a part that could not be seen is [`Seen::Failed`]: not seen is never
//! the same as absent.

use std::collections::BTreeSet;
use std::time::Duration;

use super::capability::RefusedExtension;
use super::claim::{Claim, ClaimState};
use super::endpoint::Endpoint;
use super::failure::Failure;
use super::instance::InstanceSnapshot;
use super::names::Uid;
use super::reason::{ReadyStatus, Reason};
use super::registration::{InstanceDefinition, InstanceIdentity};

/// One observed part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Seen<T> {
    /// The phase does not need it.
    #[default]
    NotAsked,
    /// It was asked for and could not be seen.
    Failed(Failure),
    /// It was seen.
    Known(T),
}

/// Which parts a round needs; see [`super::decide::Tenant::wants`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // a set of independent questions, each asked or not
pub struct Wants {
    /// Is the Instance able to provision, proved by a read of this round?
    pub provisioning: bool,
    /// Registry rows, role, database and installable extensions, from the management database.
    pub server: bool,
    /// Extensions inside the tenant database; never for a Tenant that asks for none.
    pub inside: bool,
    /// The OpenBao entry.
    pub entry: bool,
    /// The ExternalSecret.
    pub projection: bool,
    /// The target Secret's owner.
    pub secret: bool,
    /// A login as the Tenant.
    pub login: bool,
}

/// Everything one round may know about a Tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The Instance named by `spec.instanceRef`.
    pub instance: InstanceFact,
    /// From the management database.
    pub server: Seen<ServerFacts>,
    /// Extensions installed in the tenant database; asked only if that database is there.
    pub inside: Seen<BTreeSet<String>>,
    /// The OpenBao entry.
    pub entry: Seen<EntryFact>,
    /// The ExternalSecret.
    pub projection: Seen<ProjectionFact>,
    /// The target Secret.
    pub secret: Seen<SecretFact>,
    /// The login probe.
    pub login: Seen<LoginFact>,
}

/// The Instance as the Tenant's round sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstanceFact {
    /// No Instance of that name.
    Absent,
    /// There is one, stored in a form that this version does not understand: nothing is known of it, least of all its absence.
    Unreadable,
    /// Being deleted; it still has a connection, which a Tenant's own deletion may use.
    Deleting(InstanceView),
    /// Its condition is `False`, or it has an illegal spec.
    NotReady {
        /// The Instance, if its spec is legal.
        view: Option<InstanceView>,
        /// The reason in its condition.
        reason: String,
    },
    /// Its condition is `Unknown`, or was not judged for the present generation yet.
    Revalidating(InstanceView),
    /// Ready; `provisioning` says whether this round proved it by a read, where that was asked for.
    Ready {
        /// The Instance.
        view: InstanceView,
        /// Proof of this round (seed 003, `RequireProvisioningReady`), with the extensions that the server refuses.
        provisioning: Seen<Vec<RefusedExtension>>,
    },
}

impl InstanceFact {
    /// What an Instance's stored state means to its Tenants: `definition` is `None` for an illegal spec. Provisioning is not
    /// proved by any of it; that takes a read of this round.
    #[must_use]
    pub fn of(
        identity: InstanceIdentity,
        revision: i64,
        definition: Option<&InstanceDefinition>,
        snapshot: &InstanceSnapshot,
        deleting: bool,
    ) -> Self {
        let InstanceIdentity { uid, name } = identity;
        let Some(definition) = definition else {
            return Self::NotReady {
                view: None,
                reason: Reason::InvalidSpec.as_str().to_owned(),
            };
        };
        let view = InstanceView {
            uid,
            name,
            endpoint: definition.endpoint.clone(),
        };
        let judged = snapshot.observed_revision == Some(revision);
        match &snapshot.ready {
            _ if deleting => Self::Deleting(view),
            Some(ready) if judged && ready.reason == Reason::Ready => Self::Ready {
                view,
                provisioning: Seen::NotAsked,
            },
            Some(ready) if judged && ready.status() == ReadyStatus::False => Self::NotReady {
                view: Some(view),
                reason: ready.reason.as_str().to_owned(),
            },
            _ => Self::Revalidating(view),
        }
    }

    /// The Instance's identity and endpoint, if it has a legal spec.
    #[must_use]
    pub fn view(&self) -> Option<&InstanceView> {
        match self {
            Self::Absent | Self::Unreadable => None,
            Self::NotReady { view, .. } => view.as_ref(),
            Self::Deleting(view) | Self::Revalidating(view) | Self::Ready { view, .. } => {
                Some(view)
            }
        }
    }
}

/// Identity and endpoint of an Instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceView {
    /// Its UID.
    pub uid: Uid,
    /// Its name.
    pub name: String,
    /// Its endpoint.
    pub endpoint: Endpoint,
}

/// One read of the management database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// The row of this Tenant's UID.
    pub claim: Option<Claim>,
    /// Rows of other UIDs that hold this database, role or (cluster, namespace, name).
    pub holders: Vec<Holder>,
    /// The role of the claimed name, or of the effective one while there is no claim.
    pub role: Option<RoleFact>,
    /// The database of the claimed name, or of the effective one while there is no claim.
    pub database: Option<DatabaseFact>,
    /// True if the effective login role is the Instance's admin (D2). The admin's name itself is not a fact (C5).
    pub role_is_admin: bool,
}

/// A row of another UID that is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The row.
    pub claim: Claim,
    /// Whether the Tenant of that UID still exists in this cluster; unknown for another cluster's row.
    pub alive: Option<bool>,
}

impl Holder {
    /// True if its Tenant is known to be gone and the row does not say so yet: it may be marked so, and nothing else (T4).
    #[must_use]
    pub fn is_left_behind(&self) -> bool {
        self.alive == Some(false) && self.claim.state == ClaimState::Managed
    }
}

/// A role on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // attributes of a role, as the server lists them
pub struct RoleFact {
    /// Its OID.
    pub oid: u32,
    /// `LOGIN`.
    pub can_login: bool,
    /// `VALID UNTIL` has passed.
    pub expired: bool,
    /// `SUPERUSER`: the admin can then no longer change it.
    pub superuser: bool,
    /// The UID in the comment that only an administrator can write: the second witness.
    pub comment_uid: Option<Uid>,
    /// The admin is a member with its rights (needed to create and drop the database).
    pub admin_is_member: bool,
}

/// A database on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // attributes of a database, as the server lists them
pub struct DatabaseFact {
    /// Its OID.
    pub oid: u32,
    /// Its owner's OID.
    pub owner_oid: u32,
    /// The owner is the admin itself.
    pub owned_by_admin: bool,
    /// `PUBLIC` may connect or create temporary tables.
    pub public_access: bool,
    /// Connections are allowed and not limited to zero, and the owner may connect.
    pub connectable: bool,
    /// Client sessions in it now; counted for a deletion only, else 0.
    pub sessions: u32,
}

/// Who an OpenBao entry belongs to, as written in its data and in its custom metadata (D9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryOwner {
    /// The Tenant's UID.
    pub tenant_uid: Uid,
    /// The Instance's UID.
    pub instance_uid: Uid,
    /// The Instance's name.
    pub instance_name: String,
    /// The database.
    pub database: String,
    /// The role.
    pub role: String,
}

/// The OpenBao entry at the Tenant's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryFact {
    /// Never written, or removed with all its metadata.
    Absent,
    /// Its latest version was deleted or destroyed; the metadata are still there (T1).
    Deleted {
        /// Owner by the custom metadata.
        metadata: Option<Uid>,
    },
    /// It has a readable latest version.
    Present {
        /// The latest KV version.
        version: u64,
        /// Owner as written in the data, if they carry one.
        data: Option<EntryOwner>,
        /// Owner UID as written in the custom metadata.
        metadata: Option<Uid>,
    },
}

/// The ExternalSecret of the derived name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectionFact {
    /// There is none.
    Absent,
    /// There is one.
    Present(Projection),
}

/// A living ExternalSecret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Its UID.
    pub uid: Uid,
    /// The Tenant UID in our annotation.
    pub owner: Option<Uid>,
    /// It is being deleted.
    pub deleting: bool,
    /// Every field that we set has the value that we would set now.
    pub as_wanted: bool,
    /// ESO has seen the present generation (the prefix of `syncedResourceVersion`, D8).
    pub synced: bool,
    /// What ESO says.
    pub ready: ProjectionReady,
    /// How long ago we last wrote it.
    pub written_age: Duration,
    /// How long ago we asked for a forced sync.
    pub force_sync_age: Option<Duration>,
}

/// The ExternalSecret's `Ready` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectionReady {
    /// No condition yet.
    Unknown,
    /// `True`.
    True,
    /// `False`.
    False {
        /// How long it has been so.
        age: Duration,
        /// ESO says that another ExternalSecret owns the Secret.
        owned_by_another: bool,
        /// ESO's reason word.
        reason: String,
    },
}

/// The target Secret: who owns it. Its content is never read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretFact {
    /// There is none.
    Absent,
    /// There is one, owned by an ExternalSecret of the derived name with this UID.
    OfProjection(Uid),
    /// There is one that something else, or nothing, owns.
    Foreign,
}

/// What the server said to a login with the stored password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginFact {
    /// Logged in; the database belongs to the role.
    Accepted,
    /// Wrong password (28P01).
    WrongPassword,
    /// Not permitted (28000, 42501, 53300 …); the text names the class.
    NotPermitted(String),
}
