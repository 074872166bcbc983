//! Cached objects, slim: what the webhook may know, what wakes whom, what the gauges count.
//!
//! A cache may lag; nothing that destroys or claims is decided from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use domain::tenancy::reason::ReadyStatus;
use kube::ResourceExt;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::SetOnce;

/// A cached object, or what is known of one that could not be read.
pub type Guarded<K> = DeserializeGuard<K>;

/// Rows of a gauge: phase, `Ready` status, count.
pub type Counts = Vec<(&'static str, &'static str, i64)>;

/// That a store holds its first full list, for everyone who waits for it.
///
/// Not `Store::wait_until_ready`: that wakes only the one who asked last, and the store's own controller asks too.
#[derive(Clone, Default)]
pub struct Listed(Arc<SetOnce<()>>);

impl Listed {
    /// The list is here.
    pub fn mark(&self) {
        // A watch that begins anew lists again; it was said already.
        let _said = self.0.set(());
    }

    /// True once the list is here.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.0.initialized()
    }
}

/// An object that is there and could not be decoded. The log says why, once per change of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The reflector stores.
pub struct View {
    tenants: Store<Guarded<PostgreSQLTenant>>,
    instances: Store<Guarded<PostgreSQLInstance>>,
    tenants_listed: Listed,
    instances_listed: Listed,
}

impl View {
    /// Over these stores.
    #[must_use]
    pub fn new(
        tenants: Store<Guarded<PostgreSQLTenant>>,
        instances: Store<Guarded<PostgreSQLInstance>>,
    ) -> Self {
        Self {
            tenants,
            instances,
            tenants_listed: Listed::default(),
            instances_listed: Listed::default(),
        }
    }

    /// For the watch of Tenants to mark.
    #[must_use]
    pub fn tenants_listed(&self) -> Listed {
        self.tenants_listed.clone()
    }

    /// For the watch of Instances to mark.
    #[must_use]
    pub fn instances_listed(&self) -> Listed {
        self.instances_listed.clone()
    }

    /// True once both stores hold a full list.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.tenants_listed.is_marked() && self.instances_listed.is_marked()
    }

    /// Resolves once both stores hold a full list.
    pub async fn synced(&self) {
        self.tenants_listed.0.wait().await;
        self.instances_listed.0.wait().await;
    }

    /// The Instance of this name; `None` if there is none.
    ///
    /// # Errors
    /// [`Unreadable`] if there is one that could not be decoded: that is not the same as none.
    pub fn instance(&self, name: &str) -> Result<Option<PostgreSQLInstance>, Unreadable> {
        match self.instances.get(&ObjectRef::new(name)) {
            None => Ok(None),
            Some(guarded) => guarded.0.clone().map(Some).map_err(|_| Unreadable),
        }
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
        // One that cannot be read names no database; the reconcile round checks the same rule against the server (D3).
        let instance = self.instance(instance).ok().flatten();
        instance.map(|instance| instance.spec.endpoint.database)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use kube::runtime::reflector::store;

    #[tokio::test]
    async fn t2_every_round_that_waits_for_the_first_lists_goes_on_once_they_are_here() {
        let (tenants, _tenants) = store();
        let (instances, _instances) = store();
        let view = Arc::new(View::new(tenants, instances));
        let rounds: Vec<_> = (0..20)
            .map(|_| {
                let view = Arc::clone(&view);
                tokio::spawn(async move { view.synced().await })
            })
            .collect();
        tokio::task::yield_now().await;
        view.tenants_listed().mark();
        tokio::task::yield_now().await;
        assert!(!view.is_synced());
        view.instances_listed().mark();
        view.instances_listed().mark();
        assert!(view.is_synced());
        for round in rounds {
            let went_on = tokio::time::timeout(Duration::from_secs(5), round).await;
            assert!(went_on.is_ok_and(|joined| joined.is_ok()));
        }
    }
}
