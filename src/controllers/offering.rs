//! Carries what a repository offers to the API server, object by object: load → decide → one effect, until nothing is left to do.
//!
//! It is the same for a directory and for a registry. Which step an object needs is the domain's; where the files come from is the
//! caller's.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crds::applications::package::ApplicationPackage;
use crds::applications::version::ApplicationPackageVersion;
use domain::packages::effect::PublicationEffect as Effect;
use domain::packages::names::VersionId;
use domain::packages::offer::{self, OfferStep};
use domain::packages::publication::{LoadReason, Refusal};
use domain::packages::version::{self, Found, Source, VersionStatus, VersionStep};
use domain::tenancy::failure::{Class, Failure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::{Resource, ResourceExt};
use tokio_util::sync::CancellationToken;

use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::packages::Packages;
use crate::effects;
use crate::metrics::Metrics;

/// Rounds that one object may take; a healthy one needs four.
pub(super) const MOST_ROUNDS: usize = 20;
/// Before an object that changed under a round is read again.
pub(super) const RELOAD: Duration = Duration::from_millis(50);

/// resourceVersions that this process saw last, by the name of the version's object: what a watch brings of them is no news.
pub(super) type Seen = Mutex<HashMap<String, String>>;

/// How an object ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// Nothing is left to do.
    Done,
    /// The name of the version's object is taken (S27).
    NameTaken,
    /// The API server does not take what would be published; that is recorded.
    NotStored(String),
}

/// How a round went.
enum Round {
    /// A step was made; look again.
    Again,
    /// Nothing is left to do.
    Done,
    /// The name of the version's object is taken.
    NameTaken,
    /// The status was refused for good.
    NotStored(String),
}

/// The offer of one repository, while it is carried over.
pub(super) struct Offering<'o> {
    pub(super) packages: &'o Packages,
    pub(super) events: &'o Events,
    pub(super) metrics: &'o Metrics,
    /// The repository's name.
    pub(super) repository: &'o str,
    /// The repository, which owns what it offers.
    pub(super) owner: OwnerReference,
    pub(super) seen: &'o Seen,
    /// No round begins after it.
    pub(super) stop: &'o CancellationToken,
    /// Versions that had no object before.
    pub(super) created: i64,
    /// A part failed, which is logged.
    pub(super) failed: bool,
}

impl Offering<'_> {
    /// A package that is offered, or is not any more; `None` if it failed.
    pub(super) async fn package(&mut self, name: &str, offered: bool) -> Option<Carried> {
        for _ in 0..MOST_ROUNDS {
            let round = Box::pin(self.package_round(name, offered)).await;
            if let Some(ended) = self.ended(round).await? {
                return Some(ended);
            }
        }
        self.give_up()
    }

    /// A version; `None` if it failed.
    pub(super) async fn version(&mut self, id: &VersionId, source: Source<'_>) -> Option<Carried> {
        let mut refused: Option<Refusal> = None;
        for _ in 0..MOST_ROUNDS {
            let source = refused
                .as_ref()
                .map_or(source, |refusal| Source::Offered(Err(refusal)));
            let round = Box::pin(self.version_round(id, source)).await;
            match self.ended(round).await? {
                Some(Carried::NotStored(text)) => {
                    refused = Some(Refusal::new(LoadReason::NotStored, text));
                }
                Some(Carried::Done) => {
                    let refused = refused.map(|refusal| Carried::NotStored(refusal.text));
                    return Some(refused.unwrap_or(Carried::Done));
                }
                Some(ended) => return Some(ended),
                None => {}
            }
        }
        self.give_up()
    }

    /// Objects of the repository that it offers no more.
    pub(super) async fn withdraw(
        &mut self,
        offered: &BTreeSet<VersionId>,
        packages: &BTreeSet<String>,
    ) {
        let listed = async {
            let versions = self.packages.versions_of(self.repository).await?;
            let packages = self.packages.packages_of(self.repository).await?;
            Ok::<_, Failure>((versions, packages))
        };
        let (versions, known) = match listed.await {
            Ok(listed) => listed,
            Err(failure) => {
                tracing::warn!(%failure, "what is published could not be listed");
                self.failed = true;
                return;
            }
        };
        let names: BTreeSet<String> = offered.iter().map(VersionId::object_name).collect();
        for name in versions.iter().filter(|name| !names.contains(*name)) {
            match self.packages.version(name).await.map(|found| found?.id()) {
                Ok(Some(id)) if id.repository == self.repository => {
                    self.version(&id, Source::Withdrawn).await;
                }
                // Gone since, or another repository's with a label that is not its own.
                Ok(_) => {}
                Err(failure) => {
                    tracing::warn!(name, %failure, "a version could not be read");
                    self.failed = true;
                }
            }
        }
        for name in known.iter().filter(|name| !packages.contains(*name)) {
            self.package(name, false).await;
        }
    }

    /// The object's end, or `Some(None)` to look again; `None` if it failed.
    async fn ended(&mut self, round: Result<Round, Failure>) -> Option<Option<Carried>> {
        match round {
            Ok(Round::Done) => return Some(Some(Carried::Done)),
            Ok(Round::NameTaken) => return Some(Some(Carried::NameTaken)),
            Ok(Round::NotStored(text)) => return Some(Some(Carried::NotStored(text))),
            _ if self.stop.is_cancelled() => return None,
            Ok(Round::Again) => {}
            Err(failure) if failure.class == Class::Stale => tokio::time::sleep(RELOAD).await,
            Err(failure) => {
                tracing::warn!(%failure, "a part of a package's publication failed");
                return self.give_up().map(Some);
            }
        }
        Some(None)
    }

    fn give_up(&mut self) -> Option<Carried> {
        self.failed = true;
        None
    }

    async fn package_round(&self, name: &str, offered: bool) -> Result<Round, Failure> {
        let (api, owner) = (self.packages, &self.owner);
        let found = api.package(name).await?;
        let recorded = found.as_ref().map(|package| package.record(&owner.uid));
        let step = offer::decide(recorded.as_ref(), self.repository, offered);
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

    async fn version_round(
        &mut self,
        id: &VersionId,
        source: Source<'_>,
    ) -> Result<Round, Failure> {
        let (api, name) = (self.packages, id.object_name());
        let object = api.version(&name).await?;
        if let Some(version) = object.as_ref().and_then(ResourceExt::resource_version) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(name.clone(), version);
        }
        let found = ApplicationPackageVersion::found(object.as_ref(), id);
        match (version::decide(id, &found, source), &object) {
            (VersionStep::Create(labels), _) => {
                let object = ApplicationPackageVersion::named(id, &labels, self.owner.clone());
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
                        return Ok(Round::NotStored(failure.text));
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
        let save = self.packages.save_version(object, &written);
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
            self.events
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
        effects::perform(self.metrics, effect.id(), work).await?;
        tracing::debug!(name, effect = effect.id(), "done");
        Ok(())
    }
}

pub(super) fn now() -> Time {
    Time(jiff::Timestamp::now())
}
