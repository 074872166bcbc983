//! Once over all objects of the directory's repository.
//!
//! It carries facts to the domain and performs the step that comes back; which step that is, is never decided here.

use std::collections::{BTreeMap, BTreeSet};

use crds::applications::repository::{PackageRepository, PackageRepositorySpec, Registry};
use domain::packages::effect::PublicationEffect as Effect;
use domain::packages::names::{DIRECTORY, LOCAL_REPOSITORY, VersionId};
use domain::packages::repository::{self, Problem, RepositoryStatus, RepositoryStep};
use domain::packages::version::Source::Offered;
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::reason::Retry;
use kube::Resource;

use super::source::Source;
use super::{CONTROLLER, Publication};
use crate::controllers::offering::{Carried, MOST_ROUNDS, Offering, RELOAD, Seen, now};
use crate::controllers::{Counted, Ending};
use crate::effects;

/// Carries everything over once; `Pause(Backoff)` if a part failed.
pub(super) async fn run(publication: &Publication, source: &mut Source, seen: &Seen) -> Ending {
    let carried = everything(publication, source, seen).await;
    if publication.stop.is_cancelled() {
        Ending::STOPPED
    } else if carried.is_none() {
        Ending::Pause(Retry::Backoff)
    } else {
        Ending::Pause(Retry::Slow)
    }
}

/// `None` if a part failed, which is logged.
async fn everything(publication: &Publication, source: &mut Source, seen: &Seen) -> Option<()> {
    let object = repository(publication, None).await?;
    let mut offering = Offering {
        packages: &publication.packages,
        events: &publication.events,
        metrics: &publication.metrics,
        repository: LOCAL_REPOSITORY,
        owner: object.as_owner()?,
        seen,
        stop: &publication.stop,
        created: 0,
        failed: false,
    };
    let mut problems = source.problems();
    let packages = offered_packages(source);
    for package in packages.keys() {
        offering.package(package, true).await;
    }
    let ids: BTreeSet<VersionId> = source.offered().keys().cloned().collect();
    for id in &ids {
        if let Some(Carried::NameTaken) = version(&mut offering, id, source).await {
            problems.push(Problem::NameTaken(id.clone()));
        }
    }
    // What could not be read was not taken away.
    if source.is_complete() {
        let names = packages.keys().cloned().collect();
        offering.withdraw(&ids, &names).await;
    }
    let status = RepositoryStatus::of(packages, problems);
    repository(publication, Some((&status, offering.created))).await?;
    (!offering.failed).then_some(())
}

/// The packages on offer, with the type that their newest version says.
fn offered_packages(source: &Source) -> BTreeMap<String, Option<String>> {
    let mut packages: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (id, offered) in source.offered() {
        let kind = packages.entry(id.package.clone()).or_default();
        if offered.judged.kind.is_some() {
            kind.clone_from(&offered.judged.kind);
        }
    }
    packages
}

async fn version(
    offering: &mut Offering<'_>,
    id: &VersionId,
    source: &mut Source,
) -> Option<Carried> {
    let counted = Counted::start(offering.metrics, CONTROLLER);
    let outcome = source.offered().get(id)?.judged.outcome.as_ref();
    let carried = offering.version(id, Offered(outcome)).await;
    if let Some(Carried::NotStored(text)) = &carried {
        source.not_stored(id, text);
    }
    counted.ended(Ending::Pause(match carried {
        Some(_) => Retry::Slow,
        None => Retry::Backoff,
    }));
    carried
}

/// The repository as it is to be, with what is to be said of it once everything else was carried over; `None` if that failed.
async fn repository(
    publication: &Publication,
    wanted: Option<(&RepositoryStatus, i64)>,
) -> Option<PackageRepository> {
    for _ in 0..MOST_ROUNDS {
        if publication.stop.is_cancelled() {
            return None;
        }
        match Box::pin(repository_round(publication, wanted)).await {
            Ok(Some(object)) => return Some(object),
            Ok(None) => {}
            Err(failure) if failure.class == Class::Stale => tokio::time::sleep(RELOAD).await,
            Err(failure) => {
                tracing::warn!(%failure, "the repository of the package directory could not be recorded");
                return None;
            }
        }
    }
    None
}

/// The repository if nothing is left to do.
async fn repository_round(
    publication: &Publication,
    wanted: Option<(&RepositoryStatus, i64)>,
) -> Result<Option<PackageRepository>, Failure> {
    let (api, metrics) = (&publication.packages, &publication.metrics);
    let found = api.repository(LOCAL_REPOSITORY).await?;
    let recorded = found.as_ref().map(PackageRepository::recorded);
    let recorded_as = recorded.as_ref().map(Option::as_ref);
    let step = repository::decide(recorded_as, wanted.map(|(status, _)| status));
    match (step, found, wanted) {
        (RepositoryStep::Save, Some(object), Some((wanted, created))) => {
            let status = object.status_to_write(wanted, created, &now());
            let save = api.save_repository(&object, &status);
            effects::perform(metrics, Effect::SaveRepository.id(), save).await?;
            let before = recorded.flatten().map(|recorded| recorded.reason);
            if before.as_ref() != Some(&wanted.reason) && (before.is_some() || !wanted.succeeded())
            {
                let about = object.object_ref(&());
                publication
                    .events
                    .reason_changed(&about, wanted.succeeded(), &wanted.reason, &wanted.message)
                    .await;
            }
            Ok(None)
        }
        (RepositoryStep::Create, _, _) | (_, None, _) => {
            let object = local_repository();
            let create = api.create_repository(&object);
            effects::perform(metrics, Effect::CreateRepository.id(), create).await?;
            Ok(None)
        }
        (_, Some(object), _) => Ok(Some(object)),
    }
}

/// The repository of the directory. Its path stays out of the cluster: it says something of this process's machine only.
fn local_repository() -> PackageRepository {
    let registry = Registry {
        repo: DIRECTORY.to_owned(),
        ..Registry::default()
    };
    PackageRepository::new(
        LOCAL_REPOSITORY,
        PackageRepositorySpec {
            registry,
            scan_interval: None,
        },
    )
}
