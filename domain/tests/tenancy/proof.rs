//! What must be known to be ours before an effect may be asked for, said a second time and independently of the code (T3).

use domain::tenancy::claim::Claim;
use domain::tenancy::effect::TenantEffect;
use domain::tenancy::facts::{
    DatabaseFact, EntryFact, Facts, ProjectionFact, RoleFact, Seen, ServerFacts,
};
use domain::tenancy::names::Uid;
use domain::tenancy::tenant::DeletionPolicy;

use crate::world::Object;

/// One round's object and facts, as evidence.
pub struct Proof<'a> {
    object: &'a Object,
    facts: &'a Facts,
    server: Option<&'a ServerFacts>,
    /// The row of our UID, claimed under the present Instance.
    claim: Option<&'a Claim>,
    role: Option<&'a RoleFact>,
    database: Option<&'a DatabaseFact>,
}

impl<'a> Proof<'a> {
    pub fn of(object: &'a Object, facts: &'a Facts) -> Self {
        let server = match &facts.server {
            Seen::Known(server) => Some(server),
            _ => None,
        };
        let instance = facts.instance.view().map(|view| &view.uid);
        let claim = server.and_then(|server| server.claim.as_ref());
        Self {
            object,
            facts,
            server,
            claim: claim.filter(|claim| {
                claim.tenant_uid == object.identity.uid && Some(&claim.instance_uid) == instance
            }),
            role: server.and_then(|server| server.role.as_ref()),
            database: server.and_then(|server| server.database.as_ref()),
        }
    }

    /// True if everything that the effect touches is proved ours, or free where it makes something.
    pub fn covers(&self, effect: &TenantEffect) -> bool {
        use TenantEffect as E;
        match effect {
            E::AddFinalizer => !self.object.deleting && self.deletes() && !self.object.finalizer,
            E::RemoveFinalizer => self.object.finalizer,
            E::Claim => self.claim.is_none() && self.names_are_free(),
            E::WriteEntry => self.password_was_never_made(),
            E::WriteEntryMetadata => self.claim.is_some() && self.entry(),
            E::CreateRole => self.claim.is_some() && self.role.is_none() && self.entry(),
            E::SetVerifier => self.role() && self.entry(),
            E::RepairRole => self.role(),
            E::CreateDatabase => self.role() && self.database_was_never_made(),
            E::RepairDatabase => self.role() && (self.database() || self.given_to_admin()),
            E::CloseDatabase | E::CreateExtension(_) | E::RecordDatabase => self.database(),
            E::ApplyProjection => self.claim.is_some() && self.entry() && self.projection(true),
            E::ForceSync => self.projection(false),
            E::FreezePolicy => self.object.deleting && self.deletes() && self.claim.is_some(),
            E::DeleteProjection => (self.frozen() || self.unclaimed()) && self.projection(false),
            E::ForbidLogin | E::DropRole => self.frozen() && self.role(),
            E::EndSessions | E::DropDatabase => self.frozen() && self.database(),
            E::DestroyEntry => self.frozen() && self.entry(),
            E::ReleaseClaim => self.frozen(),
            E::MarkUnmanaged(uid) => self.is_gone(uid),
        }
    }

    fn is_ours(&self, uid: Option<&Uid>) -> bool {
        uid == Some(&self.object.identity.uid)
    }

    fn deletes(&self) -> bool {
        self.object.policy == DeletionPolicy::Delete
    }

    /// Deletion, with the policy `Delete` frozen in our row.
    fn frozen(&self) -> bool {
        let frozen = self.claim.and_then(|claim| claim.frozen_policy);
        self.object.deleting && frozen == Some(DeletionPolicy::Delete)
    }

    /// Deletion with policy `Delete`, of a Tenant that has no row.
    fn unclaimed(&self) -> bool {
        self.object.deleting && self.deletes() && self.claim.is_none() && self.server.is_some()
    }

    fn names_are_free(&self) -> bool {
        let held = self.server.is_none_or(|server| !server.holders.is_empty());
        !held && self.role.is_none() && self.database.is_none()
    }

    fn password_was_never_made(&self) -> bool {
        let unused = self
            .claim
            .is_some_and(|claim| claim.applied_kv_version.is_none());
        unused && self.facts.entry == Seen::Known(EntryFact::Absent)
    }

    fn database_was_never_made(&self) -> bool {
        let unrecorded = self.claim.is_some_and(|claim| claim.database_oid.is_none());
        unrecorded && self.database.is_none()
    }

    fn role(&self) -> bool {
        self.role.zip(self.claim).is_some_and(|(role, claim)| {
            claim.role_oid == Some(role.oid) || self.is_ours(role.comment_uid.as_ref())
        })
    }

    fn database(&self) -> bool {
        self.role()
            && self
                .database
                .zip(self.claim)
                .is_some_and(|(database, claim)| {
                    self.role.map(|role| role.oid) == Some(database.owner_oid)
                        && claim.database_oid.is_none_or(|oid| oid == database.oid)
                })
    }

    fn given_to_admin(&self) -> bool {
        self.database
            .zip(self.claim)
            .is_some_and(|(database, claim)| {
                database.owned_by_admin && claim.database_oid == Some(database.oid)
            })
    }

    fn entry(&self) -> bool {
        match &self.facts.entry {
            Seen::Known(EntryFact::Present { data, metadata, .. }) => {
                let data = data.as_ref().map(|owner| &owner.tenant_uid);
                let marks: Vec<&Uid> = data.into_iter().chain(metadata).collect();
                !marks.is_empty() && marks.iter().all(|mark| self.is_ours(Some(mark)))
            }
            Seen::Known(EntryFact::Deleted { metadata }) => self.is_ours(metadata.as_ref()),
            _ => false,
        }
    }

    fn projection(&self, or_free: bool) -> bool {
        match &self.facts.projection {
            Seen::Known(ProjectionFact::Absent) => or_free,
            Seen::Known(ProjectionFact::Present(found)) => self.is_ours(found.owner.as_ref()),
            _ => false,
        }
    }

    fn is_gone(&self, uid: &Uid) -> bool {
        let ourselves = self.object.deleting && self.is_ours(Some(uid)) && self.claim.is_some();
        ourselves
            || self.server.is_some_and(|server| {
                let dead = |uid_of: &Uid, alive| uid_of == uid && alive == Some(false);
                server
                    .holders
                    .iter()
                    .any(|holder| dead(&holder.claim.tenant_uid, holder.alive))
            })
    }
}
