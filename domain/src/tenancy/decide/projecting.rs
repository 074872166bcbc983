//! The ExternalSecret, and the wait for External Secrets Operator to prove that the Secret is there (D6, D8).
//!
//! The operator never writes the Secret itself. Each function verifies what it builds on and gives one step; `Err` is a step too.

use std::time::Duration;

use super::{Step, Tenant, rest};
use crate::tenancy::effect::TenantEffect;
use crate::tenancy::facts::{Facts, Projection, ProjectionFact, ProjectionReady, Seen};
use crate::tenancy::reason::{Reason, Retry};
use crate::tenancy::tenant::TenantPhase;

/// ESO's own error counts only after it lasted this long (D8): a fresh ExternalSecret often fails for a moment.
pub(super) const PROJECTION_GRACE: Duration = Duration::from_secs(10);
/// A forced sync is asked for at most this often; ESO's own back-off reaches 7 minutes (D8).
pub(super) const FORCE_SYNC_INTERVAL: Duration = Duration::from_secs(60);

impl Tenant {
    /// The ExternalSecret of the derived name, if it is ours; `None` if there is none.
    pub(super) fn own_projection<'f>(
        &self,
        facts: &'f Facts,
    ) -> Result<Option<&'f Projection>, Step> {
        match self.known(&facts.projection, "the ExternalSecret")? {
            ProjectionFact::Absent => Ok(None),
            ProjectionFact::Present(projection) if projection.owner.as_ref() == Some(&self.identity.uid) => {
                Ok(Some(projection))
            }
            ProjectionFact::Present(_) => Err(self.conflict(format!(
                "ExternalSecret {} exists and does not carry this tenant's UID: delete it, or rename this tenant",
                self.definition.projection_name
            ))),
        }
    }

    /// The ExternalSecret, once claim, role and database are verified at this endpoint (D7).
    pub(super) fn database_created(&self, facts: &Facts) -> Result<Step, Step> {
        let (claim, server) = self.own_claim(facts)?;
        let entry = self.own_entry(claim, facts)?;
        if claim.applied_kv_version != Some(entry.version) {
            // Role first, then the pin (D13).
            return Ok(self.advance(
                TenantPhase::CredentialCreated,
                "the password in OpenBao is newer than the role's",
            ));
        }
        if self.own_role(claim, server)?.is_none() || self.own_database(claim, server)?.is_none() {
            return Ok(self.advance(
                TenantPhase::CredentialCreated,
                "role or database is gone; verifying again",
            ));
        }
        let projection = self.own_projection(facts)?;
        self.check_secret(facts)?;
        match projection {
            Some(projection) if projection.deleting => Ok(rest(Retry::Backoff)),
            Some(projection) if projection.as_wanted => Ok(self.advance(
                TenantPhase::ExternalSecretCreated,
                "waiting for External Secrets Operator",
            )),
            _ => Ok(Step::Effect(TenantEffect::ApplyProjection)),
        }
    }

    /// Waits until ESO has proved the pinned version (D8).
    pub(super) fn external_secret_created(&self, facts: &Facts) -> Result<Step, Step> {
        let Some(projection) = self.own_projection(facts)? else {
            return Ok(self.advance(
                TenantPhase::DatabaseCreated,
                "the ExternalSecret is gone; making it again",
            ));
        };
        if !projection.as_wanted || projection.deleting {
            return Ok(self.advance(
                TenantPhase::DatabaseCreated,
                "the ExternalSecret was changed; applying it again",
            ));
        }
        match &projection.ready {
            ProjectionReady::True if projection.synced => Ok(self.advance(
                TenantPhase::CredentialProjected,
                "Secret delivered; proving the login",
            )),
            ProjectionReady::False {
                owned_by_another: true,
                ..
            } => Err(self.secret_owned_by_another()),
            ProjectionReady::False { age, reason, .. } if *age >= PROJECTION_GRACE => {
                Ok(self.projection_failing(projection, reason, facts))
            }
            ProjectionReady::False { age, .. } => {
                Ok(rest(Retry::After(PROJECTION_GRACE.saturating_sub(*age))))
            }
            // ESO is silent: its watch wakes us; after a while it counts as away.
            _ if projection.written_age >= PROJECTION_GRACE => Ok(self.projection_unanswered()),
            _ => {
                let grace = PROJECTION_GRACE.saturating_sub(projection.written_age);
                Ok(rest(Retry::After(grace)))
            }
        }
    }

    /// ESO fails though OpenBao answers us: ask for a sync now and then, and say what ESO says.
    pub(super) fn projection_failing(
        &self,
        projection: &Projection,
        reason: &str,
        facts: &Facts,
    ) -> Step {
        let due = projection
            .force_sync_age
            .is_none_or(|age| age >= FORCE_SYNC_INTERVAL);
        if due && matches!(facts.entry, Seen::Known(_)) {
            return Step::Effect(TenantEffect::ForceSync);
        }
        if let Some(age) = projection
            .force_sync_age
            .filter(|age| self.is_ready() && *age < PROJECTION_GRACE)
        {
            // ESO has not had the time to answer; until then a `Ready` Tenant stays so.
            return rest(Retry::After(PROJECTION_GRACE.saturating_sub(age)));
        }
        let text = format!(
            "ExternalSecret {} reports {reason}: see its events for the cause",
            self.definition.projection_name
        );
        let reason = Reason::CredentialProjectionFailed;
        self.conclude(reason, text, reason.retry())
    }

    fn projection_unanswered(&self) -> Step {
        let text = format!(
            "External Secrets Operator has not answered to ExternalSecret {}: is it running?",
            self.definition.projection_name
        );
        let reason = Reason::DependencyUnavailable;
        self.conclude(reason, text, reason.retry())
    }

    pub(super) fn secret_owned_by_another(&self) -> Step {
        self.conflict(format!(
            "Secret {} is owned by another ExternalSecret: delete that",
            self.definition.secret_name
        ))
    }
}
