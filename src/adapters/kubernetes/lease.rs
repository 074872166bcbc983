//! The Lease that replicas elect their leader by (`coordination.k8s.io/v1`).
//!
//! It reads and writes under the resourceVersion that was read. Who may take it is decided in [`crate::leader`].

use std::time::Duration;

use domain::tenancy::failure::Failure;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, Patch, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::failure::{Attempt, within};
use super::{FIELD_MANAGER, writer};
use crate::leader::{Held, Leases, Record};

const LEASES: &str = "leases.coordination.k8s.io";

/// One Lease.
pub struct ClusterLease {
    api: Api<Lease>,
    namespace: String,
    name: String,
    deadline: Duration,
}

impl ClusterLease {
    /// The Lease of this name; `deadline` bounds each call.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str, deadline: Duration) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            deadline,
        }
    }

    fn attempt(&self, verb: &'static str) -> Attempt<'_> {
        Attempt {
            verb,
            resource: LEASES,
            namespace: &self.namespace,
            name: &self.name,
        }
    }
}

impl Leases for ClusterLease {
    async fn read(&self) -> Result<Option<Held>, Failure> {
        let get = self.api.get_opt(&self.name);
        let found = within(self.deadline, &self.attempt("get"), get).await?;
        Ok(found.map(|lease| Held {
            version: lease.metadata.resource_version.unwrap_or_default(),
            record: record(lease.spec.unwrap_or_default()),
        }))
    }

    async fn write(&self, record: &Record, version: Option<&str>) -> Result<(), Failure> {
        let Some(version) = version else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.name.clone()),
                    namespace: Some(self.namespace.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(spec(record)),
            };
            let writer = PostParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PostParams::default()
            };
            let create = self.api.create(&writer, &lease);
            within(self.deadline, &self.attempt("create"), create).await?;
            return Ok(());
        };
        // A patch leaves what a chart put on the Lease; with its resourceVersion it is refused if the Lease changed.
        let changes = json!({"metadata": {"resourceVersion": version}, "spec": spec(record)});
        let (params, patch) = (writer(), Patch::Merge(changes));
        let patch = self.api.patch(&self.name, &params, &patch);
        within(self.deadline, &self.attempt("patch"), patch).await?;
        Ok(())
    }
}

fn record(spec: LeaseSpec) -> Record {
    let seconds = spec.lease_duration_seconds.unwrap_or_default();
    Record {
        holder: spec.holder_identity.unwrap_or_default(),
        duration: Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
        acquired: spec.acquire_time.map(|time| time.0),
        renewed: spec.renew_time.map(|time| time.0),
        transitions: spec.lease_transitions.unwrap_or_default(),
    }
}

fn spec(record: &Record) -> LeaseSpec {
    // Whole seconds are what the API has; rounded up, so that nobody takes it early.
    let seconds = record.duration.as_secs() + u64::from(record.duration.subsec_nanos() > 0);
    LeaseSpec {
        holder_identity: Some(record.holder.clone()),
        lease_duration_seconds: Some(i32::try_from(seconds.max(1)).unwrap_or(i32::MAX)),
        acquire_time: record.acquired.map(MicroTime),
        renew_time: record.renewed.map(MicroTime),
        lease_transitions: Some(record.transitions),
        ..LeaseSpec::default()
    }
}
