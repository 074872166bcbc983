//! A Tenant that is being deleted: what may be removed, in which order, and when its finalizer goes.
//!
//! Decides the deletion half of section 7. Ownership is verified at every store before anything is removed; any failure keeps
//! the finalizer and says why. It works from the identity and the registry row alone, so an object whose spec would not pass
//! today's rules can still go.

// `Err` is a step too, the one that ends the round early; it is made once and handed on.
#![allow(clippy::result_large_err)]

use super::claim::{Claim, ClaimState};
use super::decide::{Step, Then, rest, save_unless_equal};
use super::effect::TenantEffect;
use super::facts::{EntryFact, Facts, InstanceFact, ProjectionFact, Seen, ServerFacts, Wants};
use super::failure::{Class, Failure};
use super::names::derived_secret_name;
use super::proof::{EntryOwnership, database_is_ours, entry_ownership, role_is_ours};
use super::reason::{Ready, Reason, Retry};
use super::tenant::{DeletionPolicy, SecretLayout, TenantIdentity, TenantPhase, TenantStatus};

/// A Tenant with a deletion timestamp, in one round.
#[derive(Clone, Debug)]
pub struct Departing {
    identity: TenantIdentity,
    revision: i64,
    instance_ref: String,
    policy: DeletionPolicy,
    saved: TenantStatus,
    finalizer: bool,
    layout: SecretLayout,
}

impl Departing {
    /// The departing Tenant; `instance_ref` and `policy` as stored. A policy that cannot be read counts as `Retain`: in doubt
    /// nothing is destroyed.
    #[must_use]
    pub fn reconstitute(
        identity: TenantIdentity,
        revision: i64,
        instance_ref: String,
        policy: Option<DeletionPolicy>,
        saved: TenantStatus,
        finalizer: bool,
        layout: SecretLayout,
    ) -> Self {
        Self {
            identity,
            revision,
            instance_ref,
            policy: policy.unwrap_or_default(),
            saved,
            finalizer,
            layout,
        }
    }

    /// Which Tenant it is.
    #[must_use]
    pub fn identity(&self) -> &TenantIdentity {
        &self.identity
    }

    /// The Instance that it names.
    #[must_use]
    pub fn instance_ref(&self) -> &str {
        &self.instance_ref
    }

    /// The stored status.
    #[must_use]
    pub fn saved(&self) -> &TenantStatus {
        &self.saved
    }

    /// The name of its ExternalSecret.
    #[must_use]
    pub fn projection_name(&self) -> String {
        derived_secret_name(&self.instance_ref, &self.identity.name)
    }

    /// Where its entry is, while there is no claim that says so.
    #[must_use]
    pub fn derived_path(&self) -> String {
        self.layout.path(&self.identity)
    }

    /// Which parts the round needs to see: none for `Retain`, which waits for nothing.
    #[must_use]
    pub fn wants(&self) -> Wants {
        if !self.finalizer || self.saved.phase != TenantPhase::Deleting {
            return Wants::default();
        }
        Wants {
            server: true,
            entry: true,
            projection: true,
            ..Wants::default()
        }
    }

    /// The next step; total and deterministic.
    #[must_use]
    pub fn decide(&self, facts: &Facts) -> Step {
        if !self.finalizer {
            return rest(Retry::Slow);
        }
        if self.saved.phase != TenantPhase::Deleting {
            if self.policy == DeletionPolicy::Retain {
                return Step::Effect(TenantEffect::RemoveFinalizer);
            }
            let status = TenantStatus {
                phase: TenantPhase::Deleting,
                ready: Some(Ready::new(
                    Reason::Reconciling,
                    "removing database, role and password",
                )),
                ..self.saved.clone()
            };
            return save_unless_equal(&self.saved, status, Then::Continue);
        }
        self.remove(facts).unwrap_or_else(|conclusion| conclusion)
    }

    /// What follows when an effect failed: the finalizer stays, and the condition says why.
    #[must_use]
    pub fn after_failure(&self, failure: &Failure) -> Step {
        match failure.class {
            Class::Stale => rest(Retry::Backoff),
            _ => self.conclude_failure(failure),
        }
    }

    fn remove(&self, facts: &Facts) -> Result<Step, Step> {
        if facts.instance.view().is_none() {
            let (state, cure) = match facts.instance {
                InstanceFact::Unreadable => ("cannot be read", "correct it"),
                _ => (
                    "does not exist or has an illegal spec",
                    "create or correct it",
                ),
            };
            return Err(self.conclude(
                Reason::InstanceNotReady,
                format!(
                    "PostgreSQLInstance {} {state}, so ownership cannot be verified: {cure}, or release the record",
                    self.instance_ref
                ),
            ));
        }
        let server = self.known(&facts.server)?;
        // A row of another UID is none of ours, whoever put it there (T3).
        let claim = server
            .claim
            .as_ref()
            .filter(|claim| claim.tenant_uid == self.identity.uid);
        let Some(claim) = claim else {
            return self.remove_unclaimed(facts);
        };
        self.check_instance(claim, facts)?;
        match claim.frozen_policy {
            None if self.policy == DeletionPolicy::Delete => {
                return Ok(Step::Effect(TenantEffect::FreezePolicy));
            }
            Some(DeletionPolicy::Delete) => {}
            // The row wins over the spec; without a frozen policy the spec's `Retain` holds.
            Some(DeletionPolicy::Retain) | None => return Ok(self.retain(claim)),
        }
        if let Some(step) = self.remove_projection(facts)? {
            return Ok(step);
        }
        if let Some(step) = self.remove_from_server(claim, server)? {
            return Ok(step);
        }
        let entry = self.known(&facts.entry)?;
        if entry_ownership(&self.identity.uid, entry) == EntryOwnership::Ours {
            return Ok(Step::Effect(TenantEffect::DestroyEntry));
        }
        Ok(Step::Effect(TenantEffect::ReleaseClaim))
    }

    fn retain(&self, claim: &Claim) -> Step {
        if claim.state == ClaimState::Unmanaged {
            return Step::Effect(TenantEffect::RemoveFinalizer);
        }
        Step::Effect(TenantEffect::MarkUnmanaged(self.identity.uid.clone()))
    }

    fn check_instance(&self, claim: &Claim, facts: &Facts) -> Result<(), Step> {
        let other = facts
            .instance
            .view()
            .is_some_and(|view| view.uid != claim.instance_uid);
        if other {
            let text = "the record in the registry belongs to another PostgreSQLInstance (its UID differs): an administrator must \
                        adopt or release it; nothing was removed";
            return Err(self.conclude(Reason::Conflict, text.to_owned()));
        }
        Ok(())
    }

    /// Without a claim nothing on the server is ours. An entry of ours without a claim is a contradiction: nothing is dropped.
    fn remove_unclaimed(&self, facts: &Facts) -> Result<Step, Step> {
        let entry: &EntryFact = self.known(&facts.entry)?;
        if entry_ownership(&self.identity.uid, entry) == EntryOwnership::Ours {
            let text = "this tenant has a password in OpenBao but no claim in the registry: the Instance's endpoint leads to another \
                        server; point it back, or release the record. Nothing was removed";
            return Err(self.conclude(Reason::Conflict, text.to_owned()));
        }
        // Under `Retain` the ExternalSecret stays (D5).
        if self.policy == DeletionPolicy::Delete
            && let Some(step) = self.remove_projection(facts)?
        {
            return Ok(step);
        }
        Ok(Step::Effect(TenantEffect::RemoveFinalizer))
    }

    /// Our ExternalSecret goes without waiting for ESO to be alive (D5).
    fn remove_projection(&self, facts: &Facts) -> Result<Option<Step>, Step> {
        let projection = match &facts.projection {
            // No such API: then there is no ExternalSecret either.
            Seen::Failed(failure) if failure.class == Class::ProjectionUnsupported => {
                return Ok(None);
            }
            seen => self.known(seen)?,
        };
        match projection {
            ProjectionFact::Present(projection)
                if projection.owner.as_ref() == Some(&self.identity.uid)
                    && !projection.deleting =>
            {
                Ok(Some(Step::Effect(TenantEffect::DeleteProjection)))
            }
            _ => Ok(None),
        }
    }

    fn remove_from_server(
        &self,
        claim: &Claim,
        server: &ServerFacts,
    ) -> Result<Option<Step>, Step> {
        let role = server
            .role
            .as_ref()
            .filter(|role| role_is_ours(&claim.recorded(), role));
        let database = match &server.database {
            Some(database) if database_is_ours(&claim.recorded(), role, database) => Some(database),
            Some(database)
                if claim.database_oid == Some(database.oid)
                    || role.is_some_and(|role| role.oid == database.owner_oid) =>
            {
                let text = format!(
                    "database {} is not what was recorded (owner or OID differ): nothing was dropped; give it back to role {}, or \
                     release the record",
                    claim.database, claim.role
                );
                return Err(self.conclude(Reason::Conflict, text));
            }
            // Another database of that name: ours is gone.
            _ => None,
        };
        let effect = match (role, database) {
            (Some(role), _) if role.can_login || !role.admin_is_member => {
                Some(TenantEffect::ForbidLogin)
            }
            (_, Some(database)) if database.sessions > 0 => Some(TenantEffect::EndSessions),
            (_, Some(_)) => Some(TenantEffect::DropDatabase),
            (Some(_), None) => Some(TenantEffect::DropRole),
            (None, None) => None,
        };
        Ok(effect.map(Step::Effect))
    }

    fn known<'f, T>(&self, seen: &'f Seen<T>) -> Result<&'f T, Step> {
        match seen {
            Seen::Known(value) => Ok(value),
            Seen::Failed(failure) => Err(self.conclude_failure(failure)),
            Seen::NotAsked => Err(rest(Retry::Backoff)),
        }
    }

    fn conclude_failure(&self, failure: &Failure) -> Step {
        self.conclude(
            Reason::of_tenant_failure(failure.class),
            failure.text.clone(),
        )
    }

    fn conclude(&self, reason: Reason, message: String) -> Step {
        let status = TenantStatus {
            observed_generation: Some(self.revision),
            ready: Some(Ready::new(reason, message)),
            ..self.saved.clone()
        };
        let retry = if reason == Reason::InstanceNotReady {
            Retry::Backoff
        } else {
            reason.retry()
        };
        save_unless_equal(&self.saved, status, Then::Rest(retry))
    }
}
