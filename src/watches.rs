//! Watches: what fills the caches, and what wakes which object.
//!
//! One stream a kind, slim objects, one malformed object never stops a watch. It wakes; it decides nothing about what is done.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use domain::tenancy::names::{Uid, derived_secret_name};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Secret;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::adapters::projection;
use crate::controllers::settled::Settled;
use crate::loops::backlog::Backlog;
use crate::metrics::Metrics;
use crate::metrics::requests::Watched;
use crate::view::{Guarded, Listed, View};

/// How often rests that are over are looked for: less than the jitter of the shortest of them.
const RESTS_LOOKED_AT: Duration = Duration::from_millis(200);
/// Objects of a page of a list: what is decoded at once, beside what is kept.
const PAGE: u32 = 100;

/// A watch of one of our kinds: fills the store, says when it is full, passes on what was applied, and tells of what is gone.
pub(crate) fn objects<K>(
    client: Client,
    (metrics, kind): (Arc<Metrics>, Watched),
    stores: (Writer<Guarded<K>>, Store<Guarded<K>>),
    (listed, backlog): (Listed, Arc<Backlog>),
    gone: mpsc::UnboundedSender<Guarded<K>>,
) -> impl Stream<Item = Result<Guarded<K>, watcher::Error>>
where
    K: Resource<DynamicType = ()>
        + Cached
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
{
    let api: Api<Guarded<K>> = Api::all(client);
    let events = metrics
        .restarts(kind, watch(api, config()))
        .default_backoff()
        .modify(slim);
    follow(events, stores, (listed, backlog), gone)
}

/// What a cache need not hold of a kind.
pub(crate) trait Cached {
    /// Leaves out what nothing reads from the cache.
    fn leave_out(&mut self);
}

impl Cached for PostgreSQLTenant {
    /// Rounds read the object anew; gauges, webhook and wake-ups need no text for people.
    fn leave_out(&mut self) {
        let Some(status) = &mut self.status else {
            return;
        };
        for condition in &mut status.conditions {
            condition.message.clear();
        }
        if let Some(credential) = &mut status.credential {
            credential.openbao_url = None;
        }
    }
}

impl Cached for PostgreSQLInstance {
    /// There are few.
    fn leave_out(&mut self) {}
}

/// Two thirds of an object's memory: what nothing here reads, and spare capacity.
fn slim<K: Resource + Cached + Clone>(object: &mut Guarded<K>) {
    let meta = object.meta_mut();
    meta.managed_fields = None;
    meta.annotations = None;
    meta.labels = None;
    if let Ok(readable) = &mut object.0 {
        readable.leave_out();
    }
    // A decoded list has room for four elements, a copy has room for what is there.
    *object = object.clone();
}

/// What [`objects`] makes of the events of a watch.
fn follow<K>(
    events: impl Stream<Item = watcher::Result<Event<Guarded<K>>>>,
    (writer, store): (Writer<Guarded<K>>, Store<Guarded<K>>),
    (listed, backlog): (Listed, Arc<Backlog>),
    gone: mpsc::UnboundedSender<Guarded<K>>,
) -> impl Stream<Item = Result<Guarded<K>, watcher::Error>>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
{
    let mut before = Vec::new();
    events.reflect(writer).filter_map(move |event| {
        let touched = match event {
            Ok(Event::Init) => {
                before = store.state();
                None
            }
            // The store shows a new list only once it is whole; a round begun earlier would see the old one.
            Ok(Event::InitApply(_)) => None,
            Ok(Event::InitDone) => {
                listed.mark();
                let now = store.state();
                missing(&std::mem::take(&mut before), &now).for_each(|object| tell(&gone, object));
                backlog.ask();
                None
            }
            Ok(Event::Apply(object)) => Some(Ok(object)),
            Ok(Event::Delete(object)) => {
                tell(&gone, object);
                None
            }
            Err(error) => {
                tracing::warn!(kind = %K::kind(&()), "a watch failed and is begun again");
                tracing::debug!(kind = %K::kind(&()), ?error, "why a watch failed");
                None
            }
        };
        futures::future::ready(touched)
    })
}

/// A watch that the API server ends after a minute, so that a dead connection is noticed.
fn config() -> watcher::Config {
    watcher::Config::default().timeout(55).page_size(PAGE)
}

fn tell<K>(gone: &mpsc::UnboundedSender<K>, object: K) {
    // The receiver lives as long as the process; a closed one means that it is ending.
    let _sent = gone.send(object);
}

/// What was there and is no more: deleted while the watch was away.
fn missing<'l, K>(
    before: &'l [Arc<Guarded<K>>],
    now: &[Arc<Guarded<K>>],
) -> impl Iterator<Item = Guarded<K>> + use<'l, K>
where
    K: Resource<DynamicType = ()> + Clone,
{
    let present: HashSet<String> = now
        .iter()
        .filter_map(|object| object.meta().uid.clone())
        .collect();
    before
        .iter()
        .filter(move |object| {
            object
                .meta()
                .uid
                .as_ref()
                .is_some_and(|uid| !present.contains(uid))
        })
        .map(|object| Guarded::clone(object))
}

/// Tenants to look at because their Instance changed in a way that matters to them.
pub(crate) struct InstanceWake {
    view: Arc<View>,
    settled: Arc<Settled>,
    known: Mutex<HashMap<String, String>>,
}

impl InstanceWake {
    pub(crate) fn new(view: Arc<View>, settled: Arc<Settled>) -> Self {
        Self {
            view,
            settled,
            known: Mutex::new(HashMap::new()),
        }
    }

    /// The Tenants of an Instance that is new, gone, can or cannot be read by now, or differs in generation, readiness or
    /// deletion.
    pub(crate) fn tenants(
        &self,
        instance: &Guarded<PostgreSQLInstance>,
        gone: bool,
    ) -> Vec<ObjectRef<Guarded<PostgreSQLTenant>>> {
        let name = instance.name_any();
        let mark = match &instance.0 {
            Err(_) => "unreadable".to_owned(),
            Ok(instance) => format!(
                "{:?} {} {:?} {}",
                instance.uid(),
                instance.revision(),
                instance.snapshot().ready.map(|ready| ready.reason),
                instance.is_deleting()
            ),
        };
        let changed = self.known.lock().is_ok_and(|mut known| {
            if gone {
                return known.remove(&name).is_some();
            }
            known.insert(name.clone(), mark.clone()) != Some(mark)
        });
        let mut woken = Vec::new();
        if changed {
            self.view.each_tenant(|tenant| {
                if tenant.spec.instance_ref == name {
                    woken.extend(wake(&self.settled, tenant));
                }
            });
        }
        woken
    }
}

/// Tenants to look at because their ExternalSecret changed; target Secrets are not watched (D16).
pub(crate) fn external_secrets(
    client: Client,
    metrics: Arc<Metrics>,
    view: Arc<View>,
    settled: Arc<Settled>,
) -> impl Stream<Item = ObjectRef<Guarded<PostgreSQLTenant>>> {
    let resource = projection::resource();
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &resource);
    let config = config().labels(projection::MANAGED_BY_SELECTOR);
    let events = metrics.restarts(Watched::ExternalSecrets, watch(api, config));
    events.default_backoff().touched_objects().filter_map(move |seen| {
        let woken = match seen {
            Ok(object) => tenant_of(&view, &settled, &object),
            Err(error) => {
                tracing::debug!(%error, "the watch of ExternalSecrets failed and is begun again");
                None
            }
        };
        async move { woken }
    })
}

/// Tenants that rested long enough.
pub(crate) fn due_tenants(
    view: Arc<View>,
    settled: Arc<Settled>,
) -> impl Stream<Item = ObjectRef<Guarded<PostgreSQLTenant>>> {
    let ticks = futures::stream::unfold((), |()| async {
        tokio::time::sleep(RESTS_LOOKED_AT).await;
        Some(((), ()))
    });
    ticks.flat_map(move |()| futures::stream::iter(due_now(&view, &settled)))
}

fn due_now(view: &View, settled: &Settled) -> Vec<ObjectRef<Guarded<PostgreSQLTenant>>> {
    let due = settled.due(Instant::now());
    let mut woken = Vec::new();
    if !due.is_empty() {
        view.each_tenant(|tenant| {
            if tenant.uid().is_some_and(|uid| due.contains(&Uid::new(uid))) {
                woken.push(reference(tenant));
            }
        });
    }
    woken
}

/// All Tenants, each time that the authorities for PostgreSQL change: they publish them.
pub(crate) fn all_tenants(
    trust: &certs::Trust,
    view: Arc<View>,
    settled: Arc<Settled>,
) -> impl Stream<Item = ObjectRef<Guarded<PostgreSQLTenant>>> + use<> {
    changes(trust).flat_map(move |()| {
        let mut woken = Vec::new();
        view.each_tenant(|tenant| woken.extend(wake(&settled, tenant)));
        futures::stream::iter(woken)
    })
}

/// All Instances, each time that the authorities for PostgreSQL change: they are verified anew.
pub(crate) fn all_instances(
    trust: &certs::Trust,
    view: Arc<View>,
    settled: Arc<Settled>,
) -> impl Stream<Item = ObjectRef<Guarded<PostgreSQLInstance>>> + use<> {
    changes(trust).flat_map(move |()| {
        let mut woken = Vec::new();
        view.each_instance(|instance| woken.extend(wake_instance(&settled, instance)));
        futures::stream::iter(woken)
    })
}

fn changes(trust: &certs::Trust) -> impl Stream<Item = ()> + use<> {
    futures::stream::unfold(trust.changes(), |mut changes| async move {
        changes.changed().await.ok()?;
        Some(((), changes))
    })
}

fn tenant_of(
    view: &View,
    settled: &Settled,
    object: &PartialObjectMeta<DynamicObject>,
) -> Option<ObjectRef<Guarded<PostgreSQLTenant>>> {
    let (namespace, name) = (object.namespace()?, object.name_any());
    let mut woken = None;
    view.each_tenant(|tenant| {
        let same_namespace = tenant.metadata.namespace.as_deref() == Some(namespace.as_str());
        if same_namespace
            && derived_secret_name(&tenant.spec.instance_ref, &tenant.name_any()) == name
        {
            woken = tenant.uid().map(|uid| {
                let version = object.resource_version().unwrap_or_default();
                settled.wake_at(&Uid::new(uid), &version);
                reference(tenant)
            });
        }
    });
    woken
}

fn wake(
    settled: &Settled,
    tenant: &PostgreSQLTenant,
) -> Option<ObjectRef<Guarded<PostgreSQLTenant>>> {
    settled.wake(&Uid::new(tenant.uid()?));
    Some(reference(tenant))
}

fn reference(tenant: &PostgreSQLTenant) -> ObjectRef<Guarded<PostgreSQLTenant>> {
    ObjectRef::new(&tenant.name_any()).within(&tenant.namespace().unwrap_or_default())
}

/// Instances to look at because their admin Secret changed. Only metadata is watched; the content is read when needed.
pub(crate) fn admin_secrets(
    client: Client,
    metrics: Arc<Metrics>,
    namespace: &str,
    view: Arc<View>,
    settled: Arc<Settled>,
) -> impl Stream<Item = ObjectRef<Guarded<PostgreSQLInstance>>> + use<> {
    let api: Api<PartialObjectMeta<Secret>> = Api::namespaced(client, namespace);
    let events = watch(api, watcher::Config::default());
    let events = metrics.restarts(Watched::Secrets, events);
    events
        .default_backoff()
        .touched_objects()
        .flat_map(move |seen| {
            let mut woken = Vec::new();
            match seen {
                Ok(secret) => {
                    let name = secret.name_any();
                    view.each_instance(|instance| {
                        if instance.spec.admin_credential_ref.name == name {
                            woken.extend(wake_instance(&settled, instance));
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!("the watch of admin Secrets failed and is begun again");
                    tracing::debug!(?error, "why the watch of admin Secrets failed");
                }
            }
            futures::stream::iter(woken)
        })
}

/// The Instance of this name, to be looked at again.
pub(crate) fn instance_named(
    view: &View,
    settled: &Settled,
    name: &str,
) -> Option<ObjectRef<Guarded<PostgreSQLInstance>>> {
    let instance = view.instance(name).ok().flatten()?;
    wake_instance(settled, &instance)
}

fn wake_instance(
    settled: &Settled,
    instance: &PostgreSQLInstance,
) -> Option<ObjectRef<Guarded<PostgreSQLInstance>>> {
    settled.wake(&Uid::new(instance.uid()?));
    Some(ObjectRef::new(&instance.name_any()))
}

#[cfg(test)]
mod tests;
