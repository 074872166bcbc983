//! Drift of a `Ready` Tenant: every fact is looked at again; what is additive and ours is repaired, the rest is reported.
//!
//! A repair saves the earliest phase whose work is undone and walks on from there. Nothing is written when nothing drifted.

use super::creating::PROJECTION_GRACE;
use super::ownership::OwnEntry;
use super::{Step, Tenant};
use crate::tenancy::claim::Claim;
use crate::tenancy::facts::{Facts, LoginFact, ProjectionReady, Seen, ServerFacts};
use crate::tenancy::tenant::TenantPhase;

impl Tenant {
    pub(super) fn ready(&self, facts: &Facts) -> Result<Step, Step> {
        let (claim, server) = self.own_claim(facts)?;
        // OpenBao being away does not take a Ready Tenant down, so the rest is judged without it.
        let unseen_entry = match &facts.entry {
            Seen::Failed(failure) => Some(failure),
            _ => None,
        };
        let entry = if unseen_entry.is_some() {
            None
        } else {
            Some(self.own_entry(claim, facts)?)
        };
        if let Some(step) = self.role_drift(claim, server, entry)? {
            return Ok(step);
        }
        let Some(database) = self.own_database(claim, server)? else {
            return Ok(self.advance(
                TenantPhase::RoleCreated,
                "the database is not there; verifying again",
            ));
        };
        let repair = |message: &str| Ok(self.advance(TenantPhase::RoleCreated, message));
        if database.owned_by_admin || database.public_access || !database.connectable {
            return repair("the database differs from what is needed; repairing it");
        }
        let installed = self.known(&facts.inside, "the tenant database")?;
        let complete = self
            .definition
            .extensions
            .iter()
            .all(|name| installed.contains(name.as_str()));
        if !complete || !self.database_is_recorded(claim, database.oid) {
            return repair("the database lacks an extension; creating it");
        }
        if let Some(failure) = unseen_entry {
            return Err(self.unseen(failure));
        }
        if let Some(step) = self.projection_drift(facts)? {
            return Ok(step);
        }
        match self.known(&facts.login, "the login")? {
            LoginFact::Accepted => Ok(self.converged(claim, database.oid)),
            LoginFact::WrongPassword if self.may_resend(claim, server) => Ok(self.advance(
                TenantPhase::CredentialProjected,
                "the server refuses the stored password; applying it again",
            )),
            refused => Ok(self.login_refused(refused, claim, server)),
        }
    }

    fn role_drift(
        &self,
        claim: &Claim,
        server: &ServerFacts,
        entry: Option<OwnEntry>,
    ) -> Result<Option<Step>, Step> {
        let repair =
            |message: &str| Ok(Some(self.advance(TenantPhase::CredentialCreated, message)));
        let Some(role) = self.own_role(claim, server)? else {
            return repair("the role is gone; making it again");
        };
        if claim.role_oid != Some(role.oid) || !role.can_login || !role.admin_is_member {
            return repair("the role differs from what is needed; repairing it");
        }
        match entry {
            Some(entry) if !entry.marked => Ok(Some(self.advance(
                TenantPhase::Planned,
                "the OpenBao entry lost its owner's mark; writing it again",
            ))),
            Some(entry) if claim.applied_kv_version != Some(entry.version) => {
                repair("OpenBao has a newer version of the password; applying it")
            }
            _ => Ok(None),
        }
    }

    fn projection_drift(&self, facts: &Facts) -> Result<Option<Step>, Step> {
        let apply = |message: &str| Ok(Some(self.advance(TenantPhase::DatabaseCreated, message)));
        match self.own_projection(facts)? {
            None => apply("the ExternalSecret is gone; making it again"),
            Some(projection) if projection.deleting || !projection.as_wanted => {
                apply("the ExternalSecret differs from what is wanted; applying it again")
            }
            Some(projection) => match &projection.ready {
                ProjectionReady::False { age, reason, .. } if *age >= PROJECTION_GRACE => {
                    Ok(Some(self.projection_failing(projection, reason, facts)))
                }
                _ => Ok(None),
            },
        }
    }
}
