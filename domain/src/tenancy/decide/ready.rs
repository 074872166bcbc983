//! The final proof of a Tenant in `CredentialProjected`, and drift of one in `Ready`: every fact is looked at again.
//!
//! What is additive and ours is repaired, the rest is reported. A repair saves the earliest phase whose work is undone and
//! walks on from there. `Ready=True` is concluded here alone, and nothing is written when nothing drifted.

use std::time::Duration;

use super::ownership::OwnEntry;
use super::projecting::PROJECTION_GRACE;
use super::{Step, Tenant, Then};
use crate::tenancy::claim::Claim;
use crate::tenancy::effect::TenantEffect;
use crate::tenancy::facts::{
    DatabaseFact, Facts, LoginFact, Projection, ProjectionFact, ProjectionReady, Seen, ServerFacts,
};
use crate::tenancy::reason::{Ready, Reason, Retry};
use crate::tenancy::tenant::{TenantPhase, TenantStatus};

/// A verifier is sent again at most this often per KV version (D13).
const RESEND_INTERVAL: Duration = Duration::from_secs(600);

impl Tenant {
    pub(super) fn verify(&self, facts: &Facts) -> Result<Step, Step> {
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
        if let Some(step) = self.database_drift(claim, database, facts)? {
            return Ok(step);
        }
        if let Some(failure) = unseen_entry {
            return Err(self.unseen(failure));
        }
        if let Some(step) = self.projection_drift(facts)? {
            return Ok(step);
        }
        match self.known(&facts.login, "the login")? {
            LoginFact::Accepted => Ok(self.converged(claim, database.oid, next_look(facts))),
            LoginFact::WrongPassword if may_resend(claim, server) => Ok(self.resend()),
            refused => Ok(self.login_refused(refused, claim, server)),
        }
    }

    fn database_drift(
        &self,
        claim: &Claim,
        database: &DatabaseFact,
        facts: &Facts,
    ) -> Result<Option<Step>, Step> {
        let repair = |message: &str| Ok(Some(self.advance(TenantPhase::RoleCreated, message)));
        // Before looking inside: a database that takes no connections cannot be entered, and that is the drift itself.
        if database.owned_by_admin || database.public_access || !database.connectable {
            return repair("the database differs from what is needed; repairing it");
        }
        if self.missing_extension(facts)?.is_some()
            || !self.database_is_recorded(claim, database.oid)
        {
            return repair("the database lacks an extension; creating it");
        }
        Ok(None)
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
        let Some(projection) = self.own_projection(facts)? else {
            return apply("the ExternalSecret is gone; making it again");
        };
        if projection.deleting || !projection.as_wanted {
            return apply("the ExternalSecret differs from what is wanted; applying it again");
        }
        match &projection.ready {
            ProjectionReady::False {
                owned_by_another: true,
                ..
            } => Err(self.secret_owned_by_another()),
            ProjectionReady::False { age, reason, .. } if *age >= PROJECTION_GRACE => {
                Ok(Some(self.projection_failing(projection, reason, facts)))
            }
            ProjectionReady::True if projection.synced => Ok(None),
            // No proof of this generation yet (D8): that does not take `Ready` away, and it does not give it either.
            _ if self.is_ready() => Ok(None),
            _ => Ok(Some(self.advance(
                TenantPhase::ExternalSecretCreated,
                "waiting for External Secrets Operator",
            ))),
        }
    }

    fn resend(&self) -> Step {
        if self.saved.phase == TenantPhase::CredentialProjected {
            return Step::Effect(TenantEffect::SetVerifier);
        }
        self.advance(
            TenantPhase::CredentialProjected,
            "the server refuses the stored password; applying it again",
        )
    }

    fn login_refused(&self, refused: &LoginFact, claim: &Claim, server: &ServerFacts) -> Step {
        let expired = server.role.as_ref().is_some_and(|role| role.expired);
        let why = match refused {
            LoginFact::WrongPassword if expired => "its VALID UNTIL has passed",
            LoginFact::WrongPassword => {
                "the server refuses the stored password though its verifier was just sent again"
            }
            LoginFact::NotPermitted(text) => text,
            LoginFact::Accepted => "the login was accepted",
        };
        self.failed(format!("login as {} failed: {why}", claim.role))
    }

    /// Everything is proved.
    fn converged(&self, claim: &Claim, oid: u32, retry: Retry) -> Step {
        let status = TenantStatus {
            phase: TenantPhase::Ready,
            observed_generation: Some(self.revision),
            database_oid: Some(oid),
            openbao_url: Some(self.layout.url(&claim.secret_path)),
            ready: Some(Ready::new(
                Reason::Ready,
                "database, role, extensions and Secret verified",
            )),
            ..self.named()
        };
        self.save(status, Then::Rest(retry))
    }
}

/// An ExternalSecret that fails since a moment ago does not count yet (D8), and ESO may not write for minutes: look when it does.
fn next_look(facts: &Facts) -> Retry {
    match &facts.projection {
        Seen::Known(ProjectionFact::Present(Projection {
            ready: ProjectionReady::False { age, .. },
            ..
        })) => Retry::After(PROJECTION_GRACE.saturating_sub(*age)),
        _ => Retry::Slow,
    }
}

fn may_resend(claim: &Claim, server: &ServerFacts) -> bool {
    let expired = server.role.as_ref().is_none_or(|role| role.expired);
    !expired && claim.resent_age.is_none_or(|age| age >= RESEND_INTERVAL)
}
