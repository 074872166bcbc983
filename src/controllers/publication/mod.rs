//! Publication: a directory of packages as the repository `local`, followed on the leader (section 1.4).
//!
//! It scans, waits until the directory is still, and carries each object to where the domain says it should be, one effect a
//! round. Where the packages' kinds are not served it waits for them, and nothing else of the process does.
//!
//! Reading order: `source` (files to what is offered), `pass` (once over all objects), this file (when).

mod pass;
mod source;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crds::applications::version::{ApplicationPackageVersion, REPOSITORY_LABEL};
use domain::packages::names::LOCAL_REPOSITORY;
use domain::tenancy::names::Uid;
use domain::tenancy::reason::Retry;
use futures::{Stream, StreamExt};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::source::Source;
use super::backoff::Backoff;
use super::offering::Seen;
use super::{Ending, caught};
use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::packages::Packages;
use crate::leader::Leading;
use crate::metrics::Metrics;

/// The controller's name in metrics and logs.
pub const CONTROLLER: &str = "applicationpackageversion";
/// How often the directory is looked at.
const POLL: Duration = Duration::from_secs(1);
/// How often kinds that are not served are looked for.
const UNSERVED: Duration = Duration::from_secs(30);

/// What publication works with.
pub struct Publication {
    /// The API server.
    pub packages: Packages,
    /// Events.
    pub events: Events,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// The directory.
    pub directory: PathBuf,
    /// How often everything is checked again although nothing changed.
    pub resync: Duration,
    /// Cancelled when the process is asked to end: no round begins after that.
    pub stop: CancellationToken,
}

/// Publishes while this replica leads, until `stop`; a round under way is finished.
pub async fn follow(publication: Publication, leading: Leading) {
    let stop = publication.stop.clone();
    let work = async {
        leading.acquired().await;
        leading.gate(publish(&publication)).await;
    };
    // A round looks at `stop` itself, so that none is cut off.
    tokio::select! {
        () = work => {}
        () = async {
            stop.cancelled().await;
            if leading.is_valid() { std::future::pending::<()>().await; }
        } => {}
    }
}

async fn publish(publication: &Publication) {
    if !until_served(publication).await {
        return;
    }
    let (news, seen) = (Notify::new(), Seen::default());
    let changes = changes(publication, &seen).for_each(|()| {
        news.notify_one();
        futures::future::ready(())
    });
    tokio::select! {
        () = rounds(publication, &news, &seen) => {}
        () = changes => {}
    }
}

/// True once the kinds are served; false if the process ends before.
async fn until_served(publication: &Publication) -> bool {
    let mut told = false;
    loop {
        match publication.packages.are_served().await {
            Ok(true) => return true,
            Ok(false) if told => {}
            Ok(false) => {
                tracing::warn!(
                    "the API server does not serve the packages' kinds of deckhouse.io: install their CRDs (chart value applications.enabled); --package-dir waits for them"
                );
                told = true;
            }
            Err(failure) => tracing::warn!(%failure, "the packages' kinds could not be looked for"),
        }
        tokio::select! {
            () = publication.stop.cancelled() => return false,
            () = tokio::time::sleep(UNSERVED) => {}
        }
    }
}

/// Something else than our own writes touched a version of ours.
fn changes<'p>(publication: &Publication, seen: &'p Seen) -> impl Stream<Item = ()> + 'p + use<'p> {
    let api: Api<PartialObjectMeta<ApplicationPackageVersion>> =
        Api::all(publication.packages.client());
    let config = watcher::Config::default()
        .timeout(55)
        .labels(&format!("{REPOSITORY_LABEL}={LOCAL_REPOSITORY}"));
    watcher(api, config)
        .default_backoff()
        .touched_objects()
        .filter_map(move |touched| async move {
            match touched {
                Ok(object) => {
                    let version = object.resource_version().unwrap_or_default();
                    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    (seen.get(&object.name_any()) != Some(&version)).then_some(())
                }
                Err(error) => {
                    tracing::debug!(%error, "the watch of package versions failed and is begun again");
                    None
                }
            }
        })
}

async fn rounds(publication: &Publication, news: &Notify, seen: &Seen) {
    let mut source = Source::new(publication.directory.clone());
    let backoff = Backoff::new(publication.resync);
    // The repository has one back-off, as an object has.
    let key = Uid::new(LOCAL_REPOSITORY);
    let mut due = Instant::now();
    while !publication.stop.is_cancelled() {
        let changed = source.look().await;
        if changed.is_none() {
            tracing::error!("a look at the package directory panicked; it is tried again");
            publication.metrics.reconcile_panicked(CONTROLLER);
        }
        let needed = changed.is_some_and(|changed| changed || Instant::now() >= due);
        if source.is_still() && needed {
            let pass = pass::run(publication, &mut source, seen);
            let ending = caught(&publication.metrics, CONTROLLER, pass).await;
            due = Instant::now() + backoff.after(&key, ending.retry().unwrap_or(Retry::Slow));
            source.acted(ending != Ending::Pause(Retry::Backoff));
        }
        tokio::select! {
            () = publication.stop.cancelled() => {}
            () = tokio::time::sleep(POLL) => {}
            () = news.notified() => due = Instant::now(),
        }
    }
}
