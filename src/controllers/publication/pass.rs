//! Once over all objects of the repository: load → decide → one effect, until nothing is left to do.
//!
//! It carries facts to the domain and performs the step that comes back; which step that is, is never decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Duration;

use crds::applications::package::ApplicationPackage;
use crds::applications::repository::{PackageRepository, PackageRepositorySpec, Registry};
use crds::applications::version::ApplicationPackageVersion;
use domain::packages::effect::PublicationEffect as Effect;
use domain::packages::names::{LOCAL_REPOSITORY, VersionId};
use domain::packages::offer::{self, OfferStep};
use domain::packages::repository::{self, Problem, RepositoryStatus, RepositoryStep};
use domain::packages::version::Source::{Offered, Withdrawn};
use domain::packages::version::{self, Found, VersionStatus, VersionStep};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::reason::Retry;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::{Resource, ResourceExt};

use super::source::Source;
use super::{CONTROLLER, Publication, Seen};
use crate::controllers::{Counted, Ending};
use crate::effects;

/// Rounds that one object may take; a healthy one needs four.
const MOST_ROUNDS: usize = 20;
/// Before an object that changed under a round is read again.
const RELOAD: Duration = Duration::from_millis(50);

/// Carries everything over once; `Pause(Backoff)` if a part failed.
pub(super) async fn run(publication: &Publication, source: &mut Source, seen: &Seen) -> Ending {
    let mut pass = Pass {
        publication,
        seen,
        owner: None,
        status: None,
        created: 0,
        failed: false,
    };
    pass.everything(source).await;
    if publication.stop.is_cancelled() {
        Ending::STOPPED
    } else if pass.failed {
        Ending::Pause(Retry::Backoff)
    } else {
        Ending::Pause(Retry::Slow)
    }
}

struct Pass<'p> {
    publication: &'p Publication,
    seen: &'p Seen,
    /// The repository as the packages' owner, once it is there.
    owner: Option<OwnerReference>,
    /// What the repository's status is to say, once everything else was carried over.
    status: Option<RepositoryStatus>,
    created: i64,
    failed: bool,
}

/// One object to carry over.
#[derive(Clone, Copy)]
enum Object<'o> {
    Repository,
    Package(&'o str, bool),
    Version(&'o VersionId, bool),
}

/// How a round went.
enum Round {
    /// A step was made; look again.
    Again,
    /// Nothing is left to do.
    Done,
    /// The name of the version's object is taken.
    NameTaken,
}

impl Pass<'_> {
    async fn everything(&mut self, source: &mut Source) {
        let mut problems = source.problems();
        if self.converge(Object::Repository, source).await.is_none() {
            return;
        }
        let mut packages: BTreeMap<String, Option<String>> = BTreeMap::new();
        for (id, offered) in source.offered() {
            let kind = packages.entry(id.package.clone()).or_default();
            if offered.kind.is_some() {
                kind.clone_from(&offered.kind);
            }
        }
        for package in packages.keys() {
            self.converge(Object::Package(package, true), source).await;
        }
        let ids: Vec<VersionId> = source.offered().keys().cloned().collect();
        for id in &ids {
            let counted = Counted::start(&self.publication.metrics, CONTROLLER);
            let before = self.failed;
            let ended = self.converge(Object::Version(id, true), source).await;
            counted.ended(if self.failed && !before {
                Ending::Pause(Retry::Backoff)
            } else {
                Ending::Pause(Retry::Slow)
            });
            if let Some(Round::NameTaken) = ended {
                problems.push(Problem::NameTaken(id.clone()));
            }
        }
        // What could not be read was not taken away.
        if source.is_complete() {
            self.withdraw(source, &packages).await;
        }
        self.status = Some(RepositoryStatus::of(packages, problems));
        self.converge(Object::Repository, source).await;
    }

    /// Rounds of one object until nothing is left; `None` if it failed, which is logged and makes the pass not whole.
    async fn converge(&mut self, object: Object<'_>, source: &mut Source) -> Option<Round> {
        for _ in 0..MOST_ROUNDS {
            if self.publication.stop.is_cancelled() {
                return None;
            }
            match Box::pin(self.round(object, source)).await {
                Ok(Round::Again) => {}
                Ok(ended) => return Some(ended),
                Err(failure) if failure.class == Class::Stale => tokio::time::sleep(RELOAD).await,
                Err(failure) => {
                    tracing::warn!(%failure, "a part of a package's publication failed");
                    break;
                }
            }
        }
        self.failed = true;
        None
    }

    async fn round(&mut self, object: Object<'_>, source: &mut Source) -> Result<Round, Failure> {
        match object {
            Object::Repository => self.repository().await,
            Object::Package(name, offered) => self.package(name, offered).await,
            Object::Version(id, offered) => self.version(id, offered, source).await,
        }
    }

    /// Objects of this repository that the source has no more.
    async fn withdraw(&mut self, source: &mut Source, packages: &BTreeMap<String, Option<String>>) {
        let api = &self.publication.packages;
        let listed = async {
            let versions = api.versions_of(LOCAL_REPOSITORY).await?;
            let packages = api.packages_of(LOCAL_REPOSITORY).await?;
            Ok::<_, Failure>((versions, packages))
        };
        let (versions, offered) = match listed.await {
            Ok(listed) => listed,
            Err(failure) => {
                tracing::warn!(%failure, "what is published could not be listed");
                self.failed = true;
                return;
            }
        };
        let known: BTreeSet<String> = source
            .offered()
            .keys()
            .map(VersionId::object_name)
            .collect();
        for name in versions.iter().filter(|name| !known.contains(*name)) {
            match api.version(name).await.map(|found| found?.id()) {
                Ok(Some(id)) if id.repository == LOCAL_REPOSITORY => {
                    self.converge(Object::Version(&id, false), source).await;
                }
                // Gone since, or another repository's with a label that is not its own.
                Ok(_) => {}
                Err(failure) => {
                    tracing::warn!(name, %failure, "a version could not be read");
                    self.failed = true;
                }
            }
        }
        for name in offered.iter().filter(|name| !packages.contains_key(*name)) {
            self.converge(Object::Package(name, false), source).await;
        }
    }

    async fn repository(&mut self) -> Result<Round, Failure> {
        let api = &self.publication.packages;
        let found = api.repository(LOCAL_REPOSITORY).await?;
        self.owner = found.as_ref().and_then(PackageRepository::as_owner);
        let recorded = found.as_ref().map(PackageRepository::recorded);
        let wanted = self.status.as_ref();
        let recorded_as = recorded.as_ref().map(Option::as_ref);
        match (repository::decide(recorded_as, wanted), &found, wanted) {
            (RepositoryStep::Create, _, _) => {
                let object = local_repository();
                let create = api.create_repository(&object);
                self.perform(Effect::CreateRepository, LOCAL_REPOSITORY, create)
                    .await?;
                Ok(Round::Again)
            }
            (RepositoryStep::Save, Some(object), Some(wanted)) => {
                let status = object.status_to_write(wanted, self.created, &now());
                let save = api.save_repository(object, &status);
                self.perform(Effect::SaveRepository, LOCAL_REPOSITORY, save)
                    .await?;
                let before = recorded.flatten().map(|recorded| recorded.reason);
                if before.as_ref() != Some(&wanted.reason)
                    && (before.is_some() || !wanted.succeeded())
                {
                    let about = object.object_ref(&());
                    self.publication
                        .events
                        .reason_changed(&about, wanted.succeeded(), &wanted.reason, &wanted.message)
                        .await;
                }
                Ok(Round::Again)
            }
            _ => Ok(Round::Done),
        }
    }

    async fn package(&self, name: &str, offered: bool) -> Result<Round, Failure> {
        let (api, Some(owner)) = (&self.publication.packages, &self.owner) else {
            return Err(Failure::not_observed("the repository of a package"));
        };
        let found = api.package(name).await?;
        let recorded = found.as_ref().map(|package| package.record(&owner.uid));
        let step = offer::decide(recorded.as_ref(), LOCAL_REPOSITORY, offered);
        match (step, &found) {
            (OfferStep::Create, _) => {
                let object = ApplicationPackage::named(name, owner.clone());
                let create = api.create_package(&object);
                self.perform(Effect::CreatePackage, name, create).await?;
            }
            (OfferStep::Own, Some(object)) => {
                let own = api.own_package(object, owner.clone());
                self.perform(Effect::OwnPackage, name, own).await?;
            }
            (OfferStep::Offer(repositories), Some(object)) => {
                let offer = api.offer_package(object, repositories);
                self.perform(Effect::OfferPackage, name, offer).await?;
            }
            _ => return Ok(Round::Done),
        }
        Ok(Round::Again)
    }

    async fn version(
        &mut self,
        id: &VersionId,
        offered: bool,
        source: &mut Source,
    ) -> Result<Round, Failure> {
        let (api, name) = (&self.publication.packages, id.object_name());
        let object = api.version(&name).await?;
        if let Some(version) = object.as_ref().and_then(ResourceExt::resource_version) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(name.clone(), version);
        }
        let found = ApplicationPackageVersion::found(object.as_ref(), id);
        let outcome = source.offered().get(id).filter(|_| offered);
        let step = match outcome {
            Some(offered) => version::decide(id, &found, Offered(offered.outcome.as_ref())),
            None => version::decide(id, &found, Withdrawn),
        };
        match (step, &object) {
            (VersionStep::Create(labels), _) => {
                let object = ApplicationPackageVersion::named(id, &labels);
                let create = api.create_version(&object);
                self.perform(Effect::CreateVersion, &name, create).await?;
                self.created += 1;
            }
            (VersionStep::Label(labels), Some(object)) => {
                let label = api.label_version(object, &labels);
                self.perform(Effect::LabelVersion, &name, label).await?;
            }
            (VersionStep::Save(status), Some(object)) => {
                match self.save(object, &found, &status).await {
                    Err(failure) if failure.class == Class::Rejected && status.loaded.is_true() => {
                        source.not_stored(id, &failure.text);
                    }
                    saved => saved?,
                }
            }
            (VersionStep::NameTaken, _) => return Ok(Round::NameTaken),
            _ => return Ok(Round::Done),
        }
        Ok(Round::Again)
    }

    async fn save(
        &self,
        object: &ApplicationPackageVersion,
        found: &Found,
        status: &VersionStatus,
    ) -> Result<(), Failure> {
        let written = object.status_to_write(status, &now());
        let save = self.publication.packages.save_version(object, &written);
        self.perform(Effect::SaveVersion, &object.name_any(), save)
            .await?;
        let loaded = &status.loaded;
        let before = match found {
            Found::Recorded(record) => record.loaded.as_ref().map(|loaded| loaded.reason),
            _ => None,
        };
        if before != Some(loaded.reason) {
            tracing::info!(
                name = %object.name_any(), reason = loaded.reason.as_str(), says = ?loaded.message, "a package version's publication changed"
            );
            let about = object.object_ref(&());
            self.publication
                .events
                .reason_changed(
                    &about,
                    loaded.is_true(),
                    loaded.reason.as_str(),
                    &loaded.message,
                )
                .await;
        }
        Ok(())
    }

    async fn perform(
        &self,
        effect: Effect,
        name: &str,
        work: impl Future<Output = Result<(), Failure>>,
    ) -> Result<(), Failure> {
        effects::perform(&self.publication.metrics, effect.id(), work).await?;
        tracing::debug!(name, effect = effect.id(), "done");
        Ok(())
    }
}

/// The repository of the directory. Its path stays out of the cluster: it says something of this process's machine only.
fn local_repository() -> PackageRepository {
    let registry = Registry {
        repo: "--package-dir".to_owned(),
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

fn now() -> Time {
    Time(jiff::Timestamp::now())
}
