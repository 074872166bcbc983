//! `PostgreSQLInstance` ↔ domain. Borrows what it can, and invents nothing: what the wire does not hold is absent.

use domain::tenancy::endpoint::EndpointDraft;
use domain::tenancy::instance::{Checkpoint, InstanceSnapshot};
use domain::tenancy::names::Uid;
use domain::tenancy::registration::{InstanceDraft, InstanceIdentity};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::instance::{PostgreSQLInstance, PostgreSQLInstanceSpec, PostgreSQLInstanceStatus};
use crate::condition::{self, Round};

impl PostgreSQLInstanceSpec {
    /// The spec for [`domain::tenancy::registration::InstanceDefinition::parse`] and for admission.
    #[must_use]
    pub fn draft(&self) -> InstanceDraft<'_> {
        let endpoint = &self.endpoint;
        InstanceDraft {
            endpoint: EndpointDraft {
                host: &endpoint.host,
                hostaddr: &endpoint.hostaddr,
                port: endpoint.port,
                database: &endpoint.database,
                ssl_mode: &endpoint.ssl_mode,
            },
            secret_name: &self.admin_credential_ref.name,
            username_key: &self.admin_credential_ref.username_key,
            password_key: &self.admin_credential_ref.password_key,
        }
    }
}

impl PostgreSQLInstance {
    /// Which object this is; `None` for one that no API server has stored.
    #[must_use]
    pub fn identity(&self) -> Option<InstanceIdentity> {
        Some(InstanceIdentity {
            uid: Uid::new(self.metadata.uid.clone()?),
            name: self.metadata.name.clone()?,
        })
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

    /// What status holds, for [`domain::tenancy::instance::Instance::reconstitute`].
    #[must_use]
    pub fn snapshot(&self) -> InstanceSnapshot {
        let Some(status) = &self.status else {
            return InstanceSnapshot::default();
        };
        InstanceSnapshot {
            checkpoint: status
                .phase
                .as_deref()
                .map(Checkpoint::parse)
                .unwrap_or_default(),
            observed_revision: status.observed_generation,
            ready: condition::read_ready(&status.conditions),
            reported_version: status.postgresql_version.clone(),
        }
    }

    /// The status to write for this snapshot of this very object, conditions of others included; `None` if the present one
    /// says it already (C6: then nothing moves, not even a time).
    #[must_use]
    pub fn status_to_write(
        &self,
        snapshot: &InstanceSnapshot,
        now: &Time,
    ) -> Option<PostgreSQLInstanceStatus> {
        let generation = self.revision();
        let round = Round {
            generation,
            concluded: snapshot.observed_revision == Some(generation),
        };
        let present = self.status.clone().unwrap_or_default();
        let next = PostgreSQLInstanceStatus {
            observed_generation: snapshot.observed_revision,
            phase: condition::phase_to_write(
                present.phase.as_deref(),
                snapshot.ready.as_ref(),
                snapshot.checkpoint,
                Checkpoint::as_str,
            ),
            postgresql_version: snapshot.reported_version.clone(),
            conditions: condition::merge(&present.conditions, snapshot.ready.as_ref(), round, now),
        };
        (next != present).then_some(next)
    }
}
