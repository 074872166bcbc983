//! What is ours: proofs by UID and OID, never by name (D1, T3).
//!
//! Each function gives the proved part, or the step that says why it is not ours. It alters nothing.

use super::{Step, Tenant, Then};
use crate::tenancy::claim::Claim;
use crate::tenancy::facts::{
    DatabaseFact, EntryFact, EntryOwner, Facts, InstanceView, RoleFact, SecretFact, Seen,
    ServerFacts,
};
use crate::tenancy::proof::{EntryOwnership, database_is_ours, entry_ownership, role_is_ours};
use crate::tenancy::reason::{Ready, Reason, Retry};
use crate::tenancy::tenant::{TenantPhase, TenantStatus};

/// A present entry that is proved ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnEntry {
    /// Its KV version.
    pub(super) version: u64,
    /// Its custom metadata carry our UID.
    pub(super) marked: bool,
}

type Proof<T> = Result<T, Step>;

impl Tenant {
    pub(super) fn server<'f>(&self, facts: &'f Facts) -> Proof<&'f ServerFacts> {
        self.known(&facts.server, "the management database")
    }

    pub(super) fn known<'f, T>(&self, seen: &'f Seen<T>, what: &str) -> Proof<&'f T> {
        match seen {
            Seen::Known(value) => Ok(value),
            Seen::Failed(failure) => Err(self.unseen(failure)),
            // Asked for a part that this round did not observe: look again, change nothing.
            Seen::NotAsked => Err(Step::Rest {
                retry: Retry::Backoff,
                notice: Some(format!("{what} was not observed in this round")),
            }),
        }
    }

    /// The row of this Tenant's UID. A row of another UID is none of ours, whoever put it there (T3).
    pub(super) fn claim_of_ours<'f>(&self, server: &'f ServerFacts) -> Option<&'f Claim> {
        server
            .claim
            .as_ref()
            .filter(|claim| claim.tenant_uid == self.identity.uid)
    }

    /// Our claim, with every recorded name equal to the effective one (M1, M2, M4).
    pub(super) fn own_claim<'f>(&self, facts: &'f Facts) -> Proof<(&'f Claim, &'f ServerFacts)> {
        let server = self.server(facts)?;
        match self.claim_of_ours(server) {
            Some(claim) => {
                self.check_claim(claim, facts)?;
                Ok((claim, server))
            }
            // The checkpoint is ahead of the facts (forged, or another registry): start over, where everything is read.
            None => Err(self.advance(
                TenantPhase::Pending,
                "no claim in the registry: reading everything again",
            )),
        }
    }

    pub(super) fn check_claim(&self, claim: &Claim, facts: &Facts) -> Proof<()> {
        if let Some(view) = facts.instance.view()
            && claim.instance_uid != view.uid
        {
            return Err(self.claimed_under_another_instance(view, facts));
        }
        let immutable = [
            (
                "database",
                claim.database.as_str(),
                self.definition.database.as_str(),
            ),
            (
                "loginRole",
                claim.role.as_str(),
                self.definition.role.as_str(),
            ),
            (
                "credential.secretName",
                claim.secret_name.as_str(),
                self.definition.secret_name.as_str(),
            ),
        ];
        for (field, recorded, wanted) in immutable {
            if recorded != wanted {
                return Err(self.immutable_by(claim, format!(
                    "spec.{field} is {wanted} but {recorded} was created: set it back to {recorded}, or make a new tenant and migrate"
                )));
            }
        }
        let removed = claim.extensions.iter().find(|name| {
            !self
                .definition
                .extensions
                .iter()
                .any(|e| e.as_str() == *name)
        });
        match removed {
            Some(name) => Err(self.immutable_by(claim, format!(
                "spec.extensions no longer has {name}, which is installed: extensions are never dropped, add it again"
            ))),
            None => Ok(()),
        }
    }

    fn claimed_under_another_instance(&self, view: &InstanceView, facts: &Facts) -> Step {
        match &facts.entry {
            Seen::Known(EntryFact::Present {
                data: Some(owner), ..
            }) if owner.instance_name != view.name => self.other_instance(owner),
            // The entry tells an edited `instanceRef` from a re-created Instance; `Pending` reads it.
            Seen::NotAsked if self.saved.phase != TenantPhase::Pending => self.advance(
                TenantPhase::Pending,
                "claimed under another Instance: reading everything again",
            ),
            _ => self.recreated_instance(&view.name),
        }
    }

    fn recreated_instance(&self, name: &str) -> Step {
        self.conflict(format!(
            "this tenant was made under another PostgreSQLInstance than the present {name} (its UID differs): an administrator \
             must adopt or release the record"
        ))
    }

    pub(super) fn other_instance(&self, owner: &EntryOwner) -> Step {
        self.immutable(format!(
            "spec.instanceRef is {} but this tenant was created on {}: set it back, or make a new tenant and migrate",
            self.definition.instance, owner.instance_name
        ))
    }

    /// The entry, present and ours (D9, T1).
    pub(super) fn own_entry(&self, claim: &Claim, facts: &Facts) -> Proof<OwnEntry> {
        let entry = self.known(&facts.entry, "the OpenBao entry")?;
        match (entry_ownership(&self.identity.uid, entry), entry) {
            (EntryOwnership::Nobodys, _) if claim.applied_kv_version.is_some() => Err(self.failed(format!(
                "the OpenBao entry {} is gone though its password is in use: write the password back there with this tenant's \
                 UID as custom metadata, or delete the tenant; no new password is made",
                claim.secret_path
            ))),
            (EntryOwnership::Nobodys, _) => {
                Err(self.advance(TenantPhase::Planned, "no password was stored yet"))
            }
            (EntryOwnership::Ours, EntryFact::Deleted { .. }) => Err(self.failed(format!(
                "the latest version of the OpenBao entry {} is deleted: undelete it (bao kv undelete) or, if it was \
                 destroyed, write the password back as a new version; no new password is made",
                claim.secret_path
            ))),
            (EntryOwnership::Ours, EntryFact::Present { version, data, metadata }) => {
                if let (Some(owner), Some(view)) = (data, facts.instance.view())
                    && owner.instance_uid != view.uid
                {
                    let renamed = owner.instance_name != view.name;
                    return Err(if renamed { self.other_instance(owner) } else { self.recreated_instance(&view.name) });
                }
                Ok(OwnEntry { version: *version, marked: metadata.is_some() })
            }
            _ => Err(self.conflict(format!(
                "the OpenBao entry {} does not carry this tenant's UID: it belongs to something else; move it away, or delete this tenant",
                claim.secret_path
            ))),
        }
    }

    /// Our role; `None` if there is no role of the claimed name.
    pub(super) fn own_role<'f>(
        &self,
        claim: &Claim,
        server: &'f ServerFacts,
    ) -> Proof<Option<&'f RoleFact>> {
        match &server.role {
            Some(role) if !role_is_ours(&claim.recorded(), role) => Err(self.conflict(format!(
                "role {} exists and is not this tenant's (its OID is not the recorded one): nothing was changed",
                claim.role
            ))),
            // The admin may change nothing of it any more, and it may do anything on the server.
            Some(role) if role.superuser => Err(self.failed(format!(
                "role {0} was made a superuser, so the admin may not change it: as a superuser run ALTER ROLE \"{0}\" NOSUPERUSER",
                claim.role
            ))),
            role => Ok(role.as_ref()),
        }
    }

    /// Our database; `None` if there is none of the claimed name and none was recorded.
    pub(super) fn own_database<'f>(
        &self,
        claim: &Claim,
        server: &'f ServerFacts,
    ) -> Proof<Option<&'f DatabaseFact>> {
        match &server.database {
            None if claim.database_oid.is_some() => Err(self.failed(format!(
                "database {} was created and is gone: restore it, or delete the tenant; it is never made again silently",
                claim.database
            ))),
            None => Ok(None),
            Some(database) if database_is_ours(&claim.recorded(), server.role.as_ref(), database) => Ok(Some(database)),
            // The database that we recorded, given to the admin itself: it can be given back to its role.
            Some(database)
                if claim
                    .recorded()
                    .is_own_database_of_admin(database.oid, database.owned_by_admin) =>
            {
                Ok(Some(database))
            }
            Some(_) => Err(self.conflict(format!(
                "database {} exists and is not this tenant's (owner or OID differ from what was recorded): nothing was changed",
                claim.database
            ))),
        }
    }

    /// The target Secret is free, or our ExternalSecret's (D6).
    pub(super) fn check_secret(&self, facts: &Facts) -> Proof<()> {
        let secret = self.known(&facts.secret, "the target Secret")?;
        let projection = match &facts.projection {
            Seen::Known(crate::tenancy::facts::ProjectionFact::Present(projection)) => {
                Some(&projection.uid)
            }
            _ => None,
        };
        match secret {
            SecretFact::Absent => Ok(()),
            SecretFact::OfProjection(uid) if projection == Some(uid) => Ok(()),
            // Left by an ExternalSecret of ours that was deleted a moment ago; garbage collection takes it.
            SecretFact::OfProjection(_) => Err(super::rest(Retry::Backoff)),
            SecretFact::Foreign => {
                // Once the name is claimed it may not be edited any more (M1).
                let remedy = if self.saved.phase.says_created() {
                    "delete it"
                } else {
                    "delete it, or set spec.credential.secretName"
                };
                Err(self.conflict(format!(
                    "Secret {} exists and is not owned by this tenant's ExternalSecret: {remedy}",
                    self.definition.secret_name
                )))
            }
        }
    }

    /// As [`Self::immutable`], with the names that were claimed in status: setting them back must pass admission (D3), also
    /// when status was wiped or says something else.
    fn immutable_by(&self, claim: &Claim, text: String) -> Step {
        let reason = Reason::ImmutableField;
        let status = TenantStatus {
            observed_generation: Some(self.revision),
            database: Some(claim.database.clone()),
            login_role: Some(claim.role.clone()),
            secret_name: Some(claim.secret_name.clone()),
            ready: Some(Ready::new(reason, text)),
            ..self.saved.clone()
        };
        self.save(status, Then::Rest(reason.retry()))
    }

    pub(super) fn immutable(&self, text: String) -> Step {
        self.conclude(Reason::ImmutableField, text, Reason::ImmutableField.retry())
    }

    pub(super) fn conflict(&self, text: String) -> Step {
        self.conclude(Reason::Conflict, text, Reason::Conflict.retry())
    }

    pub(super) fn failed(&self, text: String) -> Step {
        self.conclude(
            Reason::ProvisioningFailed,
            text,
            Reason::ProvisioningFailed.retry(),
        )
    }
}
