//! The parts for Applications: what the webhook judges them by, publication from a directory, and scans of registries.
//!
//! It builds and joins them; none of them exists without `--applications`, but publication, which has a flag of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::settings::requirements::check::Platform;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::RunError;
use crate::adapters::helm::Helm;
use crate::adapters::kubernetes::DEADLINE;
use crate::adapters::kubernetes::applications::Applications;
use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::identity::Accounts;
use crate::adapters::kubernetes::packages::Packages;
use crate::applications::view::PackagesView;
use crate::applications::{self, Follow};
use crate::cli::RunOptions;
use crate::controllers::application::{self, APPLICATIONS_AT_ONCE, Instances, Loaded};
use crate::controllers::backoff::Backoff;
use crate::controllers::publication::{self, Publication};
use crate::controllers::repository::{self, REPOSITORIES_AT_ONCE, Repositories};
use crate::leader::Leading;
use crate::metrics::Metrics;
use crate::packages::bundles::{BundleError, Bundles};

/// See the module text.
pub(super) struct ApplicationParts {
    publication: Option<Publication>,
    repositories: Option<Arc<Repositories>>,
    instances: Option<Arc<Instances>>,
    follow: Option<Follow>,
}

impl ApplicationParts {
    pub(super) fn build(
        options: &RunOptions,
        (stated, platform): (Platform, Value),
        (client, config): (&kube::Client, kube::Config),
        metrics: &Arc<Metrics>,
        stop: &CancellationToken,
    ) -> Result<Self, RunError> {
        let packages = || Packages::new(client.clone(), DEADLINE);
        let resync = options.loops.resync_interval;
        let enabled = options.applications.applications;
        let view = Arc::new(PackagesView::default());
        let instances = if enabled {
            let parts = (platform, config, Arc::clone(&view));
            Some(Arc::new(instances(options, parts, client, metrics, stop)?))
        } else {
            None
        };
        Ok(Self {
            instances,
            publication: options
                .packages
                .package_dir
                .clone()
                .map(|directory| Publication {
                    packages: packages(),
                    events: Events::new(client.clone()),
                    metrics: Arc::clone(metrics),
                    directory,
                    resync,
                    stop: stop.clone(),
                }),
            repositories: enabled.then(|| {
                Arc::new(Repositories {
                    packages: packages(),
                    events: Events::new(client.clone()),
                    metrics: Arc::clone(metrics),
                    backoff: Backoff::new(resync),
                    stop: stop.clone(),
                })
            }),
            follow: enabled.then(|| Follow {
                client: client.clone(),
                metrics: Arc::clone(metrics),
                view,
                stated,
                stop: stop.clone(),
            }),
        })
    }

    /// What the webhook knows of packages and grants.
    pub(super) fn view(&self) -> Option<Arc<PackagesView>> {
        self.follow.as_ref().map(|follow| Arc::clone(&follow.view))
    }

    /// Watches and controllers, until `stop`; rounds under way are finished.
    pub(super) fn run(self, metrics: &Metrics, leading: &Leading) -> BoxFuture<'static, ()> {
        let none = || futures::future::ready(()).boxed();
        if self.publication.is_some() {
            metrics.workers(publication::CONTROLLER, 1);
        }
        if self.repositories.is_some() {
            metrics.workers(repository::CONTROLLER, REPOSITORIES_AT_ONCE);
        }
        if self.instances.is_some() {
            metrics.workers(application::CONTROLLER, APPLICATIONS_AT_ONCE);
        }
        let published = self.publication.map_or_else(none, |publication| {
            publication::follow(publication, leading.clone()).boxed()
        });
        let scanned = self.repositories.map_or_else(none, |repositories| {
            repository::follow(repositories, leading.clone()).boxed()
        });
        let applied = self.instances.map_or_else(none, |instances| {
            application::follow(instances, leading.clone()).boxed()
        });
        let followed = self.follow.map_or_else(none, |follow| follow.run().boxed());
        async move {
            futures::future::join4(published, scanned, applied, followed).await;
        }
        .boxed()
    }
}

fn instances(
    options: &RunOptions,
    (platform, config, view): (Value, kube::Config, Arc<PackagesView>),
    client: &kube::Client,
    metrics: &Arc<Metrics>,
    stop: &CancellationToken,
) -> Result<Instances, RunError> {
    let stated = &options.applications;
    let unusable = |error: BundleError| RunError::BundleDir(stated.bundle_dir.clone(), error);
    let bundles = Bundles::open(&stated.bundle_dir.join("bundles")).map_err(unusable)?;
    let calls = stated.bundle_dir.join("calls");
    // What a process that was killed left of its calls.
    let emptied = std::fs::remove_dir_all(&calls);
    if let Err(error) = emptied
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(unusable(error.into()));
    }
    std::fs::create_dir_all(&calls).map_err(|error| unusable(error.into()))?;
    let own = std::env::current_exe().map_err(RunError::OwnProgram)?;
    let account = stated.applications_service_account.clone();
    Ok(Instances {
        applications: Applications::new(client.clone(), DEADLINE),
        packages: Packages::new(client.clone(), DEADLINE),
        events: Events::new(client.clone()),
        metrics: Arc::clone(metrics),
        view,
        accounts: Accounts::new(client.clone(), config, account, DEADLINE),
        helm: Helm::new(program(&stated.helm), own, calls),
        loaded: Loaded::new(bundles, options.packages.package_dir.clone()),
        default_repository: stated.default_repository.clone(),
        platform,
        backoff: Backoff::between(options.loops.resync_interval, application::BACKOFF),
        stop: stop.clone(),
    })
}

/// A program that is only a name, where PATH has it: helm is started with an environment of its own.
fn program(stated: &Path) -> PathBuf {
    if stated.components().count() > 1 {
        return stated.to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|place| place.join(stated));
    places
        .find(|place| place.is_file())
        .unwrap_or_else(|| stated.to_owned())
}

/// What the webhook judges Applications by.
pub(super) fn served(options: &RunOptions, view: Arc<PackagesView>) -> webhook::Applications {
    let options = &options.applications;
    webhook::Applications {
        view,
        checks: applications::checks(),
        default_repository: options.default_repository.clone(),
        enforce_destructive_switch: options.enforce_destructive_switch,
    }
}
