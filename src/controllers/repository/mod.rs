//! Package repositories: each is scanned when it is due, one operation at a time, on the leader (section 1.4).
//!
//! When a scan is due and which operation runs is the domain's (`domain::packages::scan`); what a scan reads is in `scan`. A registry that
//! hangs holds up its own repository alone.

mod operation;
mod scan;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crds::applications::operation::PackageRepositoryOperation;
use crds::applications::repository::PackageRepository;
use domain::packages::effect::{PublicationEffect, ScanEffect};
use domain::packages::names::DIRECTORY;
use domain::packages::scan::{DEFAULT_INTERVAL, ScanStep, decide};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::Uid;
use domain::tenancy::reason::Retry;
use futures::{FutureExt, StreamExt};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::{Action, Config};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{Controller, PredicateConfig, WatchStreamExt, predicates, watcher};
use kube::{Api, ResourceExt};
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::offering::{MOST_ROUNDS, RELOAD, now};
use super::{Counted, Ending, caught};
use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::packages::Packages;
use crate::effects;
use crate::leader::Leading;
use crate::metrics::Metrics;

/// The controller's name in metrics and logs.
pub const CONTROLLER: &str = "packagerepository";
/// Repositories scanned at once.
pub const REPOSITORIES_AT_ONCE: u16 = 4;
/// How often kinds that are not served are looked for.
const UNSERVED: Duration = Duration::from_secs(30);
/// No rest is longer: clocks may be set.
const LONGEST_REST: Duration = DEFAULT_INTERVAL;

/// What scans work with.
pub struct Repositories {
    /// The API server.
    pub packages: Packages,
    /// Events.
    pub events: Events,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Failures in a row, by repository.
    pub backoff: Backoff,
    /// Cancelled when the process is asked to end: no round begins after that.
    pub stop: CancellationToken,
}

/// What wakes a repository: its metadata alone, since each round reads the whole.
type Woken = PartialObjectMeta<PackageRepository>;

/// Scans while this replica leads, until `stop`.
pub async fn follow(repositories: Arc<Repositories>, leading: Leading) {
    let stop = repositories.stop.clone();
    tokio::select! {
        () = stop.cancelled() => return,
        () = leading.acquired() => {}
    }
    if !until_served(&repositories).await {
        return;
    }
    let client = repositories.packages.client();
    let (reader, writer) = reflector::store::<Woken>();
    let config = || watcher::Config::default().timeout(55);
    // A status that is written here is no reason to look again.
    let changed = watcher(Api::<Woken>::all(client.clone()), config())
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let asked = watcher(Api::<PackageRepositoryOperation>::all(client), config())
        .default_backoff()
        .touched_objects()
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let gate = leading.clone();
    let controller = Controller::for_stream(changed, reader)
        .with_config(Config::default().concurrency(REPOSITORIES_AT_ONCE))
        .watches_stream(asked, |operation| {
            Some(ObjectRef::new(&operation.spec.package_repository))
        })
        .graceful_shutdown_on(stop.cancelled_owned())
        .run(
            move |object, repositories| {
                let (gate, name) = (gate.clone(), object.name_any());
                async move { Ok::<_, Infallible>(gate.gate(reconcile(&repositories, &name)).await) }
                    .boxed()
            },
            |_, error, _| match *error {},
            repositories,
        )
        .for_each(|_| futures::future::ready(()));
    leading.gate(controller).await;
}

/// True once the kinds are served; false if the process ends before.
async fn until_served(repositories: &Repositories) -> bool {
    loop {
        let served = async {
            let packages = &repositories.packages;
            Ok::<_, Failure>(
                packages.are_served().await? && packages.operations_are_served().await?,
            )
        };
        match served.await {
            Ok(true) => return true,
            Ok(false) => tracing::debug!("the API server does not serve the packages' kinds"),
            Err(failure) => tracing::warn!(%failure, "the packages' kinds could not be looked for"),
        }
        tokio::select! {
            () = repositories.stop.cancelled() => return false,
            () = tokio::time::sleep(UNSERVED) => {}
        }
    }
}

/// Rounds of one repository until it rests.
async fn reconcile(repositories: &Repositories, name: &str) -> Action {
    let counted = Counted::start(&repositories.metrics, CONTROLLER);
    let mut rest = LONGEST_REST;
    let rounds = rounds(repositories, name, &mut rest);
    let ending = caught(&repositories.metrics, CONTROLLER, rounds).await;
    counted.ended(ending);
    let key = Uid::new(name);
    match ending.retry() {
        None => {
            repositories.backoff.forget(&key);
            Action::await_change()
        }
        Some(Retry::Backoff) => Action::requeue(repositories.backoff.after(&key, Retry::Backoff)),
        Some(_) => {
            repositories.backoff.forget(&key);
            Action::requeue(rest)
        }
    }
}

/// `rest` is how long nothing is to do, once that is so.
async fn rounds(repositories: &Repositories, name: &str, rest: &mut Duration) -> Ending {
    for _ in 0..MOST_ROUNDS {
        if repositories.stop.is_cancelled() {
            return Ending::STOPPED;
        }
        match Box::pin(round(repositories, name)).await {
            Ok(Round::Again) => {}
            Ok(Round::Gone) => return Ending::Gone,
            Ok(Round::Rest(pause)) => {
                *rest = pause.min(LONGEST_REST);
                return Ending::Pause(Retry::Slow);
            }
            Err(failure) if failure.class == Class::Stale => tokio::time::sleep(RELOAD).await,
            Err(failure) => {
                tracing::warn!(name, %failure, "a package repository could not be looked after");
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
    /// Nothing to do for so long.
    Rest(Duration),
    /// The repository is gone, or another part's.
    Gone,
}

async fn round(repositories: &Repositories, name: &str) -> Result<Round, Failure> {
    let api = &repositories.packages;
    let Some(object) = api.repository(name).await? else {
        return Ok(Round::Gone);
    };
    // The directory's is carried by publication.
    if object.spec.registry.repo == DIRECTORY {
        return Ok(Round::Gone);
    }
    let operations = api.operations_of(name).await?;
    let facts = match object.scan_facts(&operations, &now()) {
        Ok(facts) => facts,
        // The CRD's pattern lets no other text pass than one with a number that is too large.
        Err(error) => {
            tracing::warn!(name, %error, "spec.scanInterval cannot be used");
            return Ok(Round::Rest(LONGEST_REST));
        }
    };
    let named = |name: &str| {
        let found = operations.iter().find(|known| known.name_any() == name);
        found.ok_or_else(|| Failure::not_observed("an operation that was decided on"))
    };
    match decide(&facts) {
        ScanStep::Rest(pause) => return Ok(Round::Rest(pause)),
        ScanStep::Terminate => {
            let terminating = object.terminating();
            let save = api.save_repository(&object, &terminating);
            effects::perform(
                &repositories.metrics,
                PublicationEffect::SaveRepository.id(),
                save,
            )
            .await?;
        }
        ScanStep::Begin { full } => {
            let operation = PackageRepositoryOperation::of(&object, full, &now());
            let create = api.create_operation(&operation);
            effects::perform(
                &repositories.metrics,
                ScanEffect::CreateOperation.id(),
                create,
            )
            .await?;
        }
        ScanStep::Forget(operation) => {
            let delete = api.delete_operation(named(&operation)?);
            effects::perform(
                &repositories.metrics,
                ScanEffect::DeleteOperation.id(),
                delete,
            )
            .await?;
        }
        ScanStep::Run(operation) => {
            operation::run(repositories, &object, named(&operation)?).await?;
        }
    }
    Ok(Round::Again)
}
