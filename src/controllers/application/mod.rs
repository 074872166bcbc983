//! Applications: each is brought to the release that its settings give, or taken down, on the leader (section 9).
//!
//! Where a run stops and what that means is the domain's (`domain::applications`); this room carries facts and performs single steps.
//!
//! Reading order: this file (what wakes an Application, and its rounds), `run` (the pipeline), `bundle` (from version to files on disk),
//! `release` (helm's calls as effects), `teardown` (the way out), `record` (what is saved).

mod bundle;
mod record;
mod release;
mod run;
mod teardown;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crds::applications::application::Application;
use domain::applications::effect::ApplicationEffect as Effect;
use domain::releases::Instance;
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::Uid;
use domain::tenancy::reason::Retry;
use futures::{FutureExt, StreamExt};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::{Action, Config};
use kube::runtime::{Controller, PredicateConfig, WatchStreamExt, predicates, reflector, watcher};
use kube::{Api, ResourceExt};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::bundle::Loaded;
use super::backoff::Backoff;
use super::offering::RELOAD;
use super::{Counted, Ending, caught};
use crate::adapters::helm::Helm;
use crate::adapters::kubernetes::applications::{Applications, is_held};
use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::identity::Accounts;
use crate::adapters::kubernetes::packages::Packages;
use crate::applications::view::PackagesView;
use crate::effects;
use crate::leader::Leading;
use crate::metrics::Metrics;

/// The controller's name in metrics and logs.
pub const CONTROLLER: &str = "application";
/// Applications worked on at once; each may wait for a process of helm.
pub const APPLICATIONS_AT_ONCE: u16 = 8;
/// The first and the longest pause after failures (section 9).
pub const BACKOFF: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(2 * 3600));
/// Rounds that one reconcile may take; a healthy one needs six.
const MOST_ROUNDS: usize = 20;
/// How often kinds that are not served are looked for.
const UNSERVED: Duration = Duration::from_secs(30);

/// What Applications are brought about with.
pub struct Instances {
    /// Applications of the API server.
    pub applications: Applications,
    /// Repositories of the API server.
    pub packages: Packages,
    /// Events.
    pub events: Events,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// What is published, and what projects were granted.
    pub view: Arc<PackagesView>,
    /// As whom releases are applied (S21).
    pub accounts: Accounts,
    /// The `helm` command.
    pub helm: Helm,
    /// Bundles on disk.
    pub loaded: Loaded,
    /// The repository of Applications that name none.
    pub default_repository: String,
    /// What templates see as `.Platform`.
    pub platform: Value,
    /// Failures in a row.
    pub backoff: Backoff,
    /// Cancelled when the process is asked to end: no round begins after that.
    pub stop: CancellationToken,
}

/// What wakes an Application: its metadata alone, since each round reads the whole.
type Woken = PartialObjectMeta<Application>;

/// Brings Applications about while this replica leads, until `stop`.
pub async fn follow(instances: Arc<Instances>, leading: Leading) {
    let stop = instances.stop.clone();
    tokio::select! {
        () = stop.cancelled() => return,
        () = leading.acquired() => {}
    }
    if !until_known(&instances).await {
        return;
    }
    let (reader, writer) = reflector::store::<Woken>();
    let api = Api::<Woken>::all(instances.applications.client());
    // A status that is written here is no reason to look again.
    let changed = watcher(api, watcher::Config::default().timeout(55))
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let gate = leading.clone();
    let controller = Controller::for_stream(changed, reader)
        .with_config(Config::default().concurrency(APPLICATIONS_AT_ONCE))
        .graceful_shutdown_on(stop.cancelled_owned())
        .run(
            move |object, instances: Arc<Instances>| {
                let gate = gate.clone();
                async move { Ok::<_, Infallible>(gate.gate(reconcile(&instances, &object)).await) }
                    .boxed()
            },
            |_, error, _| match *error {},
            instances,
        )
        .for_each(|_| futures::future::ready(()));
    leading.gate(controller).await;
}

/// True once the kind is served and everything published is known; false if the process ends before.
async fn until_known(instances: &Instances) -> bool {
    loop {
        match instances.applications.are_served().await {
            Ok(true) if instances.view.is_synced() => return true,
            Ok(_) => {}
            Err(failure) => tracing::warn!(%failure, "Applications could not be looked for"),
        }
        let pause = if instances.view.is_synced() {
            UNSERVED
        } else {
            Duration::from_millis(100)
        };
        tokio::select! {
            () = instances.stop.cancelled() => return false,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn reconcile(instances: &Instances, object: &Woken) -> Action {
    let counted = Counted::start(&instances.metrics, CONTROLLER);
    let instance = Instance {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
    };
    let rounds = rounds(instances, &instance);
    let ending = caught(&instances.metrics, CONTROLLER, rounds).await;
    counted.ended(ending);
    let uid = Uid::new(object.uid().unwrap_or_default());
    match ending.retry() {
        None => {
            instances.backoff.forget(&uid);
            Action::await_change()
        }
        Some(retry) => Action::requeue(instances.backoff.after(&uid, retry)),
    }
}

async fn rounds(instances: &Instances, instance: &Instance) -> Ending {
    for _ in 0..MOST_ROUNDS {
        if instances.stop.is_cancelled() {
            return Ending::STOPPED;
        }
        match Box::pin(round(instances, instance)).await {
            Ok(Round::Again) => {}
            Ok(Round::Ended(ending)) => return ending,
            Err(failure) if failure.class == Class::Stale => tokio::time::sleep(RELOAD).await,
            Err(failure) => {
                tracing::warn!(namespace = %instance.namespace, name = %instance.name, %failure, "an Application could not be looked after");
                return Ending::Pause(Retry::Backoff);
            }
        }
    }
    Ending::Pause(Retry::Backoff)
}

/// How a round went.
enum Round {
    /// A step was made; look again.
    Again,
    /// Nothing is left to do now.
    Ended(Ending),
}

async fn round(instances: &Instances, instance: &Instance) -> Result<Round, Failure> {
    let api = &instances.applications;
    let Some(object) = api.get(&instance.namespace, &instance.name).await? else {
        return Ok(Round::Ended(Ending::Gone));
    };
    match (
        object.metadata.deletion_timestamp.is_some(),
        is_held(&object),
    ) {
        (true, false) => Ok(Round::Ended(Ending::Gone)),
        (true, true) => teardown::round(instances, instance, &object).await,
        (false, false) => {
            let hold = api.hold(&object, true);
            effects::perform(&instances.metrics, Effect::Hold.id(), hold).await?;
            Ok(Round::Again)
        }
        (false, true) => {
            let ran = Box::pin(run::run(instances, instance, &object)).await?;
            let Some(ran) = ran else {
                return Ok(Round::Again);
            };
            record::record(instances, &object, &ran).await?;
            Ok(Round::Ended(Ending::Pause(ran.stop.retry())))
        }
    }
}
