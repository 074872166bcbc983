//! `PostgreSQLTenant` ↔ domain. Borrows what it can, and invents nothing: what the wire does not hold is absent.

use domain::tenancy::admission::Recorded;
use domain::tenancy::names::Uid;
use domain::tenancy::tenant::{TenantDraft, TenantIdentity, TenantPhase, TenantStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::tenant::{
    CredentialStatus, PostgreSQLTenant, PostgreSQLTenantSpec, PostgreSQLTenantStatus,
    SecretReference,
};
use crate::condition::{self, Round};

impl PostgreSQLTenantSpec {
    /// The spec of the Tenant with this `metadata.name`, for [`domain::tenancy::tenant::TenantDefinition::parse`] and for
    /// admission.
    #[must_use]
    pub fn draft<'a>(&'a self, name: &'a str) -> TenantDraft<'a> {
        TenantDraft {
            name,
            instance_ref: &self.instance_ref,
            database: self.database.as_deref(),
            login_role: self.login_role.as_deref(),
            extensions: self.extensions.iter().map(String::as_str).collect(),
            secret_name: self
                .credential
                .as_ref()
                .and_then(|credential| credential.secret_name.as_deref()),
            deletion_policy: &self.deletion_policy,
        }
    }
}

impl PostgreSQLTenantStatus {
    /// The target Secret's name, if recorded.
    #[must_use]
    pub fn secret_name(&self) -> Option<&str> {
        self.credential
            .as_ref()?
            .secret_ref
            .as_ref()?
            .name
            .as_deref()
    }

    /// What admission takes from status (D3).
    #[must_use]
    pub fn recorded(&self) -> Recorded<'_> {
        Recorded {
            phase: self
                .phase
                .as_deref()
                .map(TenantPhase::parse)
                .unwrap_or_default(),
            database: self.database.as_deref(),
            login_role: self.login_role.as_deref(),
            secret_name: self.secret_name(),
            reason: condition::ready_reason(&self.conditions),
        }
    }
}

impl PostgreSQLTenant {
    /// Which object this is; `None` for one that no API server has stored.
    #[must_use]
    pub fn identity(&self) -> Option<TenantIdentity> {
        Some(TenantIdentity {
            uid: Uid::new(self.metadata.uid.clone()?),
            namespace: self.metadata.namespace.clone()?,
            name: self.metadata.name.clone()?,
        })
    }

    /// Spec and name, for [`domain::tenancy::tenant::TenantDefinition::parse`] and for admission.
    #[must_use]
    pub fn draft(&self) -> TenantDraft<'_> {
        self.spec
            .draft(self.metadata.name.as_deref().unwrap_or_default())
    }

    /// `metadata.generation`; 0 for an object that no API server has stored.
    #[must_use]
    pub fn revision(&self) -> i64 {
        self.metadata.generation.unwrap_or_default()
    }

    /// True once the object has a deletion timestamp.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// What admission takes from status (D3); empty without a status.
    #[must_use]
    pub fn recorded(&self) -> Recorded<'_> {
        self.status
            .as_ref()
            .map(PostgreSQLTenantStatus::recorded)
            .unwrap_or_default()
    }

    /// What status holds, as the domain reads it.
    #[must_use]
    pub fn domain_status(&self) -> TenantStatus {
        let Some(status) = &self.status else {
            return TenantStatus::default();
        };
        let credential = status.credential.as_ref();
        TenantStatus {
            observed_generation: status.observed_generation,
            phase: status.recorded().phase,
            database: status.database.clone(),
            login_role: status.login_role.clone(),
            database_oid: status.database_oid.and_then(|oid| u32::try_from(oid).ok()),
            secret_name: status.secret_name().map(str::to_owned),
            openbao_url: credential.and_then(|credential| credential.openbao_url.clone()),
            ready: condition::read_ready(&status.conditions),
        }
    }

    /// The status to write for this domain status of this very object, conditions of others included; `None` if the present one
    /// says it already (C6: then nothing moves, not even a time).
    #[must_use]
    pub fn status_to_write(
        &self,
        status: &TenantStatus,
        now: &Time,
    ) -> Option<PostgreSQLTenantStatus> {
        let generation = self.revision();
        let round = Round {
            generation,
            concluded: status.observed_generation == Some(generation),
        };
        let present = self.status.clone().unwrap_or_default();
        let secret_ref = status
            .secret_name
            .clone()
            .map(|name| SecretReference { name: Some(name) });
        let credential = CredentialStatus {
            secret_ref,
            openbao_url: status.openbao_url.clone(),
        };
        let next = PostgreSQLTenantStatus {
            observed_generation: status.observed_generation,
            phase: condition::phase_to_write(
                present.phase.as_deref(),
                status.ready.as_ref(),
                status.phase,
                TenantPhase::as_str,
            ),
            database: status.database.clone(),
            login_role: status.login_role.clone(),
            database_oid: status.database_oid.map(i64::from),
            credential: Some(credential)
                .filter(|credential| *credential != CredentialStatus::default()),
            conditions: condition::merge(&present.conditions, status.ready.as_ref(), round, now),
        };
        (next != present).then_some(next)
    }
}
