//! What every round may use. Built once, in `run`; it decides nothing.

use std::sync::Arc;

use domain::tenancy::endpoint::AddressPolicy;
use domain::tenancy::names::Uid;
use domain::tenancy::tenant::SecretLayout;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::credentials::Credentials;
use super::phases::Phases;
use super::settled::Settled;
use crate::adapters::kubernetes::Cluster;
use crate::adapters::kubernetes::events::Events;
use crate::adapters::openbao::OpenBao;
use crate::adapters::postgres::Postgres;
use crate::adapters::projection::{Projections, Store};
use crate::metrics::Metrics;
use crate::view::View;

/// What the deployment says, as opposed to any object.
pub struct Deployment {
    /// UID of the `kube-system` namespace.
    pub cluster_uid: Uid,
    /// Where entries are.
    pub layout: SecretLayout,
    /// Which store ExternalSecrets refer to.
    pub store: Store,
    /// Whom PostgreSQL servers are verified with; a file of it is published to tenants as `ca.crt` (D7).
    pub trust: Arc<certs::Trust>,
    /// Which addresses are refused.
    pub addresses: AddressPolicy,
}

/// Ports, memory and deployment, shared by all rounds.
pub struct Context {
    /// The API server.
    pub cluster: Cluster,
    /// PostgreSQL servers.
    pub postgres: Postgres,
    /// OpenBao.
    pub openbao: OpenBao,
    /// ExternalSecrets and target Secrets.
    pub projections: Projections,
    /// Events.
    pub events: Events,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Cached objects.
    pub view: Arc<View>,
    /// Admin logins of this process's rounds.
    pub credentials: Credentials,
    /// Back-off by object.
    pub backoff: Backoff,
    /// Since when objects are in their phase.
    pub phases: Phases,
    /// Which objects need no look yet.
    pub settled: Arc<Settled>,
    /// Names of Instances that something suggests to look at now.
    pub instances_to_check: UnboundedSender<String>,
    /// Cancelled when the process is asked to end: no round begins after that.
    pub stop: CancellationToken,
    /// The deployment.
    pub deployment: Deployment,
}
