//! The watches that fill the caches of packages and grants, on every replica.
//!
//! A kind that the API server does not serve counts as empty and is looked for every 30 s (S28). One malformed object counts as absent and
//! never stops a watch.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crds::applications::grants::AvailableClusterResource;
use crds::applications::package::ApplicationPackage;
use domain::settings::requirements::check::Platform;
use domain::tenancy::failure::Failure;
use futures::StreamExt as _;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::cache::{Cache, Table};
use super::platform;
use super::view::{Granted, PackagesView, ReadVersion};
use crate::adapters::kubernetes::served::{is_served, is_unserved};
use crate::metrics::Metrics;
use crate::metrics::requests::Watched;
use crate::view::Guarded;

/// How often kinds that are not served are looked for.
const UNSERVED: Duration = Duration::from_secs(30);
/// How soon after a failure to look for a kind it is looked for again.
const AGAIN: Duration = Duration::from_secs(2);
/// How often the API server's version is looked at.
const PLATFORM: Duration = Duration::from_secs(600);
/// Versions a page: each may be as large as an object can be.
const VERSIONS_PAGE: u32 = 20;
/// Other objects a page.
const PAGE: u32 = 500;

/// What fills the caches.
pub struct Follow {
    /// The API server.
    pub client: Client,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// The caches.
    pub view: Arc<PackagesView>,
    /// What the administrator states of the cluster.
    pub stated: Platform,
    /// Cancelled when the process is asked to end.
    pub stop: CancellationToken,
}

impl Follow {
    /// Fills the caches until the process is asked to end.
    pub async fn run(self) {
        let stop = self.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.follow() => {}
        }
    }

    async fn follow(self) {
        self.look_at_platform().await;
        let packages = self.keep(
            (Watched::Packages, PAGE),
            |view| &view.packages,
            |object: PartialObjectMeta<ApplicationPackage>| Some(object.name_any()),
        );
        let versions = self.keep(
            (Watched::PackageVersions, VERSIONS_PAGE),
            |view| &view.versions,
            ReadVersion::of,
        );
        let grants = self.keep(
            (Watched::Grants, PAGE),
            |view| &view.grants,
            |object: AvailableClusterResource| Granted::of(&object),
        );
        let platform = async {
            loop {
                tokio::time::sleep(PLATFORM).await;
                self.look_at_platform().await;
            }
        };
        futures::future::join4(packages, versions, grants, platform).await;
    }

    async fn look_at_platform(&self) {
        let platform = platform::with_kubernetes(&self.client, self.stated.clone()).await;
        self.view.runs_on(&platform);
    }

    /// Follows one kind for ever.
    async fn keep<K, T>(
        &self,
        (kind, page): (Watched, u32),
        cache: fn(&PackagesView) -> &Cache<T>,
        entry: fn(K) -> Option<T::Entry>,
    ) where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static,
        T: Table<Entry: Send> + 'static,
    {
        let mut told = false;
        loop {
            match self.is_served::<K>(kind).await {
                Ok(true) => {
                    told = false;
                    self.watch((kind, page), cache, entry).await;
                    tracing::warn!(kind = kind.as_str(), "the kind is not served any more");
                }
                Ok(false) => {
                    cache(&self.view).unserved();
                    if !std::mem::replace(&mut told, true) {
                        tracing::info!(
                            kind = kind.as_str(),
                            "the kind is not served: it counts as empty and is looked for again"
                        );
                    }
                    tokio::time::sleep(UNSERVED).await;
                }
                Err(failure) => {
                    tracing::warn!(kind = kind.as_str(), %failure, "the kind could not be looked for");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    async fn is_served<K>(&self, kind: Watched) -> Result<bool, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        is_served::<K>(&self.client, kind.as_str()).await
    }

    /// Until the kind is not served any more.
    async fn watch<K, T>(
        &self,
        (kind, page): (Watched, u32),
        cache: fn(&PackagesView) -> &Cache<T>,
        entry: fn(K) -> Option<T::Entry>,
    ) where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static,
        T: Table<Entry: Send> + 'static,
    {
        let api: Api<Guarded<K>> = Api::all(self.client.clone());
        let config = watcher::Config::default().timeout(55).page_size(page);
        let events = Arc::clone(&self.metrics).restarts(kind, watch(api, config));
        let mut events = std::pin::pin!(events.default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    let view = Arc::clone(&self.view);
                    // Compiling takes longer than the loops may be held up.
                    let taken = tokio::task::spawn_blocking(move || {
                        take(cache(&view), event, entry);
                    });
                    if taken.await.is_err() {
                        tracing::error!(
                            kind = kind.as_str(),
                            "an object made its reader panic and is left out"
                        );
                    }
                }
                Err(error) if is_unserved(&error) => return,
                Err(error) => {
                    tracing::warn!(kind = kind.as_str(), "a watch failed and is begun again");
                    tracing::debug!(kind = kind.as_str(), ?error, "why a watch failed");
                }
            }
        }
    }
}

/// Takes in what the watch brings.
fn take<K, T>(cache: &Cache<T>, event: Event<Guarded<K>>, entry: fn(K) -> Option<T::Entry>)
where
    K: Resource<DynamicType = ()> + Clone,
    T: Table,
{
    match event {
        Event::Init => cache.begin(),
        Event::InitApply(object) => {
            if let Some(entry) = readable(object).and_then(entry) {
                cache.list(entry);
            }
        }
        Event::InitDone => cache.complete(),
        Event::Apply(object) => {
            let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
            match readable(object).and_then(entry) {
                Some(entry) => cache.put(entry),
                None => cache.remove(&namespace, &name),
            }
        }
        Event::Delete(object) => {
            let namespace = object.namespace().unwrap_or_default();
            cache.remove(&namespace, &object.name_any());
        }
    }
}

/// The object, unless it could not be decoded.
fn readable<K: Resource<DynamicType = ()>>(object: Guarded<K>) -> Option<K> {
    match object.0 {
        Ok(object) => Some(object),
        Err(error) => {
            let (namespace, name) = (error.metadata.namespace, error.metadata.name);
            let error = error.error;
            tracing::warn!(kind = %K::kind(&()), ?namespace, ?name, ?error, "an object could not be read and counts as absent");
            None
        }
    }
}
