//! Cached objects, slim: what the webhook may know, what wakes whom, what the gauges count.
//!
//! A cache may lag; nothing that destroys or claims is decided from it.

use std::collections::BTreeMap;

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use domain::tenancy::reason::ReadyStatus;
use futures::FutureExt;
use kube::ResourceExt;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::store::WriterDropped;
use kube::runtime::reflector::{ObjectRef, Store};

/// A cached object, or what is known of one that could not be read.
pub type Guarded<K> = DeserializeGuard<K>;

/// Rows of a gauge: phase, `Ready` status, count.
pub type Counts = Vec<(&'static str, &'static str, i64)>;

/// The reflector stores.
pub struct View {
    tenants: Store<Guarded<PostgreSQLTenant>>,
    instances: Store<Guarded<PostgreSQLInstance>>,
}

impl View {
    /// Over these stores.
    #[must_use]
    pub fn new(
        tenants: Store<Guarded<PostgreSQLTenant>>,
        instances: Store<Guarded<PostgreSQLInstance>>,
    ) -> Self {
        Self { tenants, instances }
    }

    /// True once both stores hold a full list.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        let listed =
            |waited: Option<Result<(), WriterDropped>>| waited.is_some_and(|ready| ready.is_ok());
        listed(self.tenants.wait_until_ready().now_or_never())
            && listed(self.instances.wait_until_ready().now_or_never())
    }

    /// Resolves once both stores hold a full list.
    pub async fn synced(&self) {
        // An error means that the writer is gone: the process is ending.
        let _ready = self.tenants.wait_until_ready().await;
        let _ready = self.instances.wait_until_ready().await;
    }

    /// The Instance of this name, if it is cached and readable.
    #[must_use]
    pub fn instance(&self, name: &str) -> Option<PostgreSQLInstance> {
        self.instances
            .get(&ObjectRef::new(name))
            .and_then(|guarded| guarded.0.clone().ok())
    }

    /// Runs over every readable Tenant.
    pub fn each_tenant(&self, mut visit: impl FnMut(&PostgreSQLTenant)) {
        for guarded in self.tenants.state() {
            if let Ok(tenant) = &guarded.0 {
                visit(tenant);
            }
        }
    }

    /// Runs over every readable Instance.
    pub fn each_instance(&self, mut visit: impl FnMut(&PostgreSQLInstance)) {
        for guarded in self.instances.state() {
            if let Ok(instance) = &guarded.0 {
                visit(instance);
            }
        }
    }

    /// Tenants and Instances by phase and `Ready`.
    #[must_use]
    pub fn counts(&self) -> (Counts, Counts) {
        let (mut tenants, mut instances) = (BTreeMap::new(), BTreeMap::new());
        self.each_tenant(|tenant| {
            let status = tenant.domain_status();
            *tenants
                .entry((status.phase.as_str(), ready(status.ready.as_ref())))
                .or_insert(0) += 1;
        });
        self.each_instance(|instance| {
            let snapshot = instance.snapshot();
            *instances
                .entry((snapshot.checkpoint.as_str(), ready(snapshot.ready.as_ref())))
                .or_insert(0) += 1;
        });
        let rows = |counts: BTreeMap<(&'static str, &'static str), i64>| {
            counts
                .into_iter()
                .map(|((phase, ready), count)| (phase, ready, count))
                .collect()
        };
        (rows(tenants), rows(instances))
    }

    /// How many Tenants and Instances could not be read.
    #[must_use]
    pub fn undecodable(&self) -> (usize, usize) {
        let tenants = self
            .tenants
            .state()
            .iter()
            .filter(|guarded| guarded.0.is_err())
            .count();
        let instances = self
            .instances
            .state()
            .iter()
            .filter(|guarded| guarded.0.is_err())
            .count();
        (tenants, instances)
    }
}

fn ready(condition: Option<&domain::tenancy::reason::Ready>) -> &'static str {
    condition
        .map_or(ReadyStatus::Unknown, domain::tenancy::reason::Ready::status)
        .as_str()
}

impl webhook::ClusterView for View {
    fn synced(&self) -> bool {
        self.is_synced()
    }

    fn management_database(&self, instance: &str) -> Option<String> {
        self.instance(instance)
            .map(|instance| instance.spec.endpoint.database)
    }

    fn tenant_databases(&self, instance: &str) -> Vec<(String, String)> {
        let mut claimed = Vec::new();
        self.each_tenant(|tenant| {
            let recorded = tenant.recorded();
            if let (true, true, Some(database)) = (
                tenant.spec.instance_ref == instance,
                recorded.phase.says_created(),
                recorded.database,
            ) {
                claimed.push((
                    format!(
                        "{}/{}",
                        tenant.namespace().unwrap_or_default(),
                        tenant.name_any()
                    ),
                    database.to_owned(),
                ));
            }
        });
        claimed
    }
}
