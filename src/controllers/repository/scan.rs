//! What a scan reads of a registry: the packages, their versions, and the files of those that are to be read (section 2).
//!
//! What was read is carried over at once, so a scan that ends early keeps what it did. What could not be listed was not taken away.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crds::applications::convert_scan::Counted;
use crds::applications::repository::{PackageRepository, Registry as Spec};
use crds::applications::version::ApplicationPackageVersion;
use domain::packages::files::Scope;
use domain::packages::names::{VersionId, is_channel, is_package_name, is_version};
use domain::packages::publication::{LoadReason, Refusal};
use domain::packages::repository::Problem;
use domain::packages::scan::reads;
use domain::packages::version::Source;
use futures::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;

use super::Repositories;
use crate::adapters::registry::{Access, Kind, Registry, RegistryError};
use crate::controllers::judged::{Judged, deep, judge};
use crate::controllers::offering::{Carried, Offering, Seen};
use crate::packages::read_layers;
use crate::packages::repository::VERSIONS_MAX;

/// No call to a registry may take longer.
const DEADLINE: Duration = Duration::from_secs(30);
/// Versions fetched at once.
const FETCHES_AT_ONCE: usize = 4;

/// What a scan found.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// The packages on offer; a type where files said one.
    pub(super) kinds: BTreeMap<String, Option<String>>,
    pub(super) counted: BTreeMap<String, Counted>,
    pub(super) problems: Vec<Problem>,
    /// Everything was looked at and carried over.
    pub(super) complete: bool,
    /// Versions that were unknown before.
    pub(super) created: i64,
}

/// A scan under way.
pub(super) struct Scan<'s> {
    object: &'s PackageRepository,
    name: String,
    full: bool,
    offering: Offering<'s>,
    found: Scanned,
}

impl<'s> Scan<'s> {
    pub(super) fn new(
        repositories: &'s Repositories,
        object: &'s PackageRepository,
        (owner, seen): (OwnerReference, &'s Seen),
        full: bool,
    ) -> Self {
        Self {
            object,
            name: object.name_any(),
            full,
            offering: Offering {
                packages: &repositories.packages,
                events: &repositories.events,
                metrics: &repositories.metrics,
                repository: object.metadata.name.as_deref().unwrap_or_default(),
                owner,
                seen,
                stop: &repositories.stop,
                created: 0,
                failed: false,
            },
            found: Scanned::default(),
        }
    }

    /// What was found so far.
    pub(super) fn end(self) -> Scanned {
        Scanned {
            created: self.offering.created,
            complete: self.found.complete && !self.offering.failed,
            ..self.found
        }
    }

    /// Reads the registry.
    pub(super) async fn run(&mut self) {
        self.found.complete = true;
        let registry = match registry_of(&self.object.spec.registry) {
            Ok(registry) => registry,
            Err(error) => return self.unreadable("spec.registry", &error),
        };
        let packages = match registry.tags("").await {
            Ok(tags) => tags,
            Err(error) => return self.unreadable("the list of packages", &error),
        };
        let mut ids = BTreeSet::new();
        for package in packages {
            if is_package_name(&package) {
                self.versions_of(&registry, &package, &mut ids).await;
            } else {
                self.found
                    .problems
                    .push(Problem::PackageName(shown(&package)));
            }
        }
        for package in self.found.kinds.keys().cloned().collect::<Vec<_>>() {
            self.offering.package(&package, true).await;
        }
        self.versions(&registry, &ids).await;
        if self.found.complete && !self.offering.failed && !self.offering.stop.is_cancelled() {
            let packages = self.found.kinds.keys().cloned().collect();
            self.offering.withdraw(&ids, &packages).await;
        }
        if self.offering.stop.is_cancelled() {
            self.found.complete = false;
        }
    }

    async fn versions_of(
        &mut self,
        registry: &Registry,
        package: &str,
        ids: &mut BTreeSet<VersionId>,
    ) {
        let tags = match registry.tags(&format!("{package}/version")).await {
            Ok(tags) => tags,
            Err(error) if error.kind == Kind::Absent => {
                self.found.kinds.insert(package.to_owned(), None);
                return self
                    .found
                    .problems
                    .push(Problem::NoVersions(package.to_owned()));
            }
            Err(error) => {
                return self.unreadable(
                    &format!("the list of versions of package {package}"),
                    &error,
                );
            }
        };
        self.found.kinds.insert(package.to_owned(), None);
        for tag in tags.into_iter().filter(|tag| !is_channel(tag)) {
            if !is_version(&tag) {
                self.found.problems.push(Problem::VersionName {
                    package: package.to_owned(),
                    name: shown(&tag),
                });
            } else if ids.len() >= VERSIONS_MAX {
                self.found.complete = false;
                let most = VERSIONS_MAX;
                self.found.problems.push(Problem::TooMany { most });
                return;
            } else {
                self.counted(package).versions += 1;
                ids.insert(VersionId {
                    repository: self.name.clone(),
                    package: package.to_owned(),
                    version: tag,
                });
            }
        }
    }

    /// Reads what is to be read, and carries every version over as soon as it was read.
    async fn versions(&mut self, registry: &Registry, ids: &BTreeSet<VersionId>) {
        let (packages, full) = (self.offering.packages, self.full);
        let fetched = ids.iter().cloned().map(|id| async move {
            let object = match packages.version(&id.object_name()).await {
                Ok(object) => object,
                Err(failure) => return (id, Err(failure)),
            };
            let found = ApplicationPackageVersion::found(object.as_ref(), &id);
            let judged = if reads(&found, full) {
                Some(fetch(registry, &id).await)
            } else {
                None
            };
            (id, Ok(judged))
        });
        let mut fetched = futures::stream::iter(fetched).buffered(FETCHES_AT_ONCE);
        while let Some((id, fetched)) = fetched.next().await {
            if self.offering.stop.is_cancelled() {
                return;
            }
            match fetched {
                Ok(judged) => self.carry(&id, judged).await,
                Err(failure) => {
                    tracing::warn!(version = %id, %failure, "a version could not be read");
                    self.offering.failed = true;
                }
            }
        }
    }

    async fn carry(&mut self, id: &VersionId, judged: Option<Fetched>) {
        let carried = match &judged {
            None => self.offering.version(id, Source::Unread).await,
            Some(fetched) => {
                self.counted(&id.package).read += 1;
                // A version that could not be fetched is fetched again soon.
                self.found.complete &= fetched.settled;
                if let Some(kind) = &fetched.judged.kind {
                    self.found
                        .kinds
                        .insert(id.package.clone(), Some(kind.clone()));
                }
                let outcome = Source::Offered(fetched.judged.outcome.as_ref());
                self.offering.version(id, outcome).await
            }
        };
        if carried == Some(Carried::NameTaken) {
            self.found.problems.push(Problem::NameTaken(id.clone()));
        }
    }

    fn counted(&mut self, package: &str) -> &mut Counted {
        self.found.counted.entry(package.to_owned()).or_default()
    }

    fn unreadable(&mut self, place: &str, error: &RegistryError) {
        self.found.complete = false;
        self.found.problems.push(Problem::Unreadable {
            place: place.to_owned(),
            why: format!("cannot be read: {error}"),
        });
    }
}

fn registry_of(spec: &Spec) -> Result<Registry, RegistryError> {
    Registry::new(Access::of_spec(spec)?, DEADLINE)
}

/// A version that was asked for.
struct Fetched {
    judged: Judged,
    /// Asking again soon would bring nothing else.
    settled: bool,
}

async fn fetch(registry: &Registry, id: &VersionId) -> Fetched {
    let path = format!("{}/version", id.package);
    let image = match registry.pull(&path, &id.version).await {
        Ok(image) => image,
        Err(error) => {
            return Fetched {
                settled: matches!(error.kind, Kind::TooLarge | Kind::Refused),
                judged: Refusal::new(LoadReason::NotFetched, error.to_string()).into(),
            };
        }
    };
    let known = id.clone();
    let judged = deep(move || {
        let layers = image.layers.iter().map(|layer| &*layer.bytes);
        let files = read_layers(layers, Scope::Publication);
        judge(&known, files.map_err(|error| error.to_string()))
    });
    let judged = judged.await.unwrap_or_else(|| {
        Refusal::new(
            LoadReason::Unreadable,
            "the version's files could not be judged",
        )
        .into()
    });
    Fetched {
        judged,
        settled: true,
    }
}

/// Names are shown in status: bounded, and quoted where they are shown.
fn shown(name: &str) -> String {
    name.chars().take(80).collect()
}
