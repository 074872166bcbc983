//! From a version to its unpacked bundle: out of a registry, or out of the package directory of this process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crds::applications::repository::Registry as Spec;
use domain::applications::run::Stop;
use domain::packages::documents::{Documents, usable};
use domain::packages::files::Scope;
use domain::packages::names::{DIRECTORY, VersionId, is_package_name, is_version};
use domain::releases::context::{IMAGES_FILE, images};
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use tokio::sync::RwLock;

use crate::adapters::hooks::discovery::has_candidates;
use crate::adapters::registry::{Access, Registry};
use crate::controllers::judged::deep;
use crate::packages::bundles::{Bundle, Bundles};

/// No call to a registry may take longer.
const DEADLINE: Duration = Duration::from_secs(30);

/// A bundle with what is read of it once.
#[derive(Clone)]
pub(super) struct Package {
    /// Its files, which stay on disk while somebody has this.
    pub(super) bundle: Arc<Bundle>,
    /// Its schemas, compiled.
    pub(super) schemas: Arc<PackageSchemas>,
    /// Digests of its images, by name.
    pub(super) images: Arc<BTreeMap<String, String>>,
    /// Where its images lie; empty for a package from a directory.
    pub(super) repository: String,
    /// Docker's configuration for them, as the repository has it.
    pub(super) docker_config: String,
    /// It has hooks.
    pub(super) has_hooks: bool,
}

/// Bundles that are there, by version.
pub struct Loaded {
    bundles: Bundles,
    directory: Option<PathBuf>,
    known: Mutex<Known>,
    /// Held by whoever made a bundle and did not take note of it yet.
    loading: RwLock<()>,
}

#[derive(Default)]
struct Known {
    packages: BTreeMap<VersionId, Package>,
    /// Every bundle that may still be in use.
    held: Vec<Weak<Bundle>>,
}

impl Loaded {
    /// With this store, and the package directory of this process if it has one.
    #[must_use]
    pub fn new(bundles: Bundles, directory: Option<PathBuf>) -> Self {
        Self {
            bundles,
            directory,
            known: Mutex::default(),
            loading: RwLock::default(),
        }
    }

    /// The version's package if it was loaded before and cannot have changed since: a registry's versions do not.
    pub(super) fn known(&self, id: &VersionId) -> Option<Package> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .packages
            .get(id)
            .filter(|package| !package.repository.is_empty())
            .cloned()
    }

    /// Fetches and reads the version's bundle; where it fails is where a run stops.
    pub(super) async fn load(&self, id: &VersionId, spec: &Spec) -> Result<Package, Stop> {
        // They become parts of paths.
        if !is_package_name(&id.package) || !is_version(&id.version) {
            return Err(Stop::NotDownloaded(format!(
                "{id} has no name of a package or version"
            )));
        }
        let loading = self.loading.read().await;
        let (bundle, repository) = if spec.repo == DIRECTORY {
            (self.local(id).await?, String::new())
        } else {
            let path = format!("{}/{}", spec.repo.trim_end_matches('/'), id.package);
            (self.fetched(id, spec).await?, path)
        };
        let read = deep({
            let bundle = bundle.clone();
            move || read(&bundle)
        });
        let failed = || Stop::NotLoaded("the bundle could not be read".to_owned());
        let (schemas, images, has_hooks) =
            read.await.ok_or_else(failed)?.map_err(Stop::NotLoaded)?;
        let package = Package {
            bundle: Arc::new(bundle),
            schemas: Arc::new(schemas),
            images: Arc::new(images),
            repository,
            docker_config: spec.docker_cfg.clone().unwrap_or_default(),
            has_hooks,
        };
        self.keep(id, &package);
        drop(loading);
        self.tidy().await;
        Ok(package)
    }

    /// Removes bundles that nobody uses any more, unless one is being made: it is only room on the disk, and there is a next time.
    async fn tidy(&self) {
        let Ok(_alone) = self.loading.try_write() else {
            return;
        };
        let (bundles, held) = (self.bundles.clone(), self.held());
        let removed = deep(move || bundles.retain(&held).map(|gone| gone.len())).await;
        tracing::debug!(?removed, "bundles that nobody uses were removed");
    }

    fn keep(&self, id: &VersionId, package: &Package) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.packages.insert(id.clone(), package.clone());
        known.held.push(Arc::downgrade(&package.bundle));
        known.held.retain(|bundle| bundle.strong_count() > 0);
    }

    /// Digests of the bundles in use.
    fn held(&self) -> BTreeSet<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let held = known.held.iter().filter_map(Weak::upgrade);
        held.map(|bundle| bundle.digest.clone()).collect()
    }

    async fn fetched(&self, id: &VersionId, spec: &Spec) -> Result<Bundle, Stop> {
        let registry = Access::of_spec(spec).and_then(|access| Registry::new(access, DEADLINE));
        let registry = registry.map_err(|error| Stop::NotDownloaded(error.to_string()))?;
        let fetched = self.bundles.fetch(&registry, &id.package, &id.version);
        fetched
            .await
            .map_err(|error| Stop::NotDownloaded(error.to_string()))
    }

    async fn local(&self, id: &VersionId) -> Result<Bundle, Stop> {
        let absent = || {
            Stop::NotDownloaded(format!(
                "{id} is in no package directory of this process (--package-dir)"
            ))
        };
        let folder = self
            .directory
            .as_ref()
            .ok_or_else(absent)?
            .join(&id.package);
        let folders = [id.version.clone()].into_iter();
        let archives = crate::packages::ARCHIVES
            .iter()
            .map(|ending| format!("{}{ending}", id.version));
        let mut sources = folders.chain(archives).map(|name| folder.join(name));
        let source = sources.find(|source| source.exists()).ok_or_else(absent)?;
        let bundles = self.bundles.clone();
        let kept = deep(move || bundles.keep(&source).map_err(|error| error.to_string()));
        let kept = kept
            .await
            .unwrap_or_else(|| Err("it could not be copied".to_owned()));
        kept.map_err(Stop::NotLoaded)
    }
}

type Read = (PackageSchemas, BTreeMap<String, String>, bool);

fn read(bundle: &Bundle) -> Result<Read, String> {
    let limits = &Limits::DEFAULT;
    let files = crate::packages::read(&bundle.path, Scope::Publication);
    let files = files.map_err(|error| error.to_string())?;
    let documents = Documents::read(&files, limits).map_err(|error| error.to_string())?;
    let schemas = usable(&documents, limits).map_err(|error| error.to_string())?;
    let named = match std::fs::read_to_string(bundle.path.join(IMAGES_FILE)) {
        Ok(text) => images(&text).map_err(|error| error.to_string())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(format!("{IMAGES_FILE} cannot be read: {error}")),
    };
    let has_hooks = has_candidates(&bundle.path).map_err(|error| error.to_string())?;
    Ok((schemas, named, has_hooks))
}
