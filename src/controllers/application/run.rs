//! The pipeline of one run: version → requirements → bundle → settings → release → workloads, in the domain's order.
//!
//! Each stage asks the domain; this file carries what it needs and where it stopped.

use crds::applications::application::Application;
use domain::applications::effect::ApplicationEffect as Effect;
use domain::applications::release::{ReleaseStep, decide};
use domain::applications::run::Stop;
use domain::applications::steps::Standing;
use domain::applications::workloads::scaled;
use domain::packages::configure::{Wanted, configure, values_of};
use domain::packages::names::VersionId;
use domain::releases::Instance;
use domain::releases::context::Context;
use domain::settings::limits::Limits;
use domain::tenancy::failure::{Class, Failure};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use webhook::ApplicationView as _;

use super::Instances;
use super::bundle::Package;
use super::record::Ran;
use super::release::{DEADLINE, perform, uninstall};
use crate::adapters::helm::Release;
use crate::adapters::helm::revisions::revisions;
use crate::adapters::kubernetes::kinds::kinds;
use crate::adapters::kubernetes::workloads::workloads;
use crate::controllers::judged::deep;
use crate::effects;

/// Digits of a digest that fit into a label.
const DIGITS: usize = 40;

/// One run; `None` if a step was made after which everything is looked at again.
pub(super) async fn run(
    instances: &Instances,
    instance: &Instance,
    object: &Application,
) -> Result<Option<Ran>, Failure> {
    let id = object.version_id(&instances.default_repository);
    let Some(version) = instances.view.version(&id).filter(|version| !version.draft) else {
        let text = format!(
            "{id} is not published: see ApplicationPackageVersion {}",
            id.object_name()
        );
        return Ok(Some(Stop::Waiting(text).into()));
    };
    if let Some(denied) = version.requirements.violations.first() {
        return suspend(instances, instance, object, &denied.to_string()).await;
    }
    let package = match Box::pin(package(instances, &id)).await? {
        Ok(package) => package,
        Err(stop) => return Ok(Some(stop.into())),
    };
    let (settings, values) = match configured(instances, object, &package).await {
        Ok(configured) => configured,
        Err(text) => return Ok(Some(Stop::Refused(text).into())),
    };
    if package.has_hooks {
        let text =
            "this version of Tenantry runs no hooks of packages: the package cannot be installed";
        return Ok(Some(Stop::NoHooks(text.to_owned()).into()));
    }
    if object.is_paused() {
        return Ok(Some(Stop::Paused.into()));
    }
    let applied = release(instances, instance, &id, &package, (&settings, &values)).await;
    let applied = match applied {
        Err(failure) if failure.class != Class::Stale => {
            // Its account may have been made anew, and the token of the old one be worth nothing.
            instances.accounts.forget(&instance.namespace);
            Some(Stop::NotApplied(failure.text))
        }
        applied => applied?,
    };
    Ok(applied.map(|stop| Ran {
        stop,
        settings: Some(settings),
    }))
}

/// A requirement is not met: what is installed is taken down, and the Application kept.
async fn suspend(
    instances: &Instances,
    instance: &Instance,
    object: &Application,
    why: &str,
) -> Result<Option<Ran>, Failure> {
    if object.past().installed {
        let client = instances.accounts.client(&instance.namespace).await?;
        if !revisions(&client, instance, DEADLINE).await?.is_empty() {
            uninstall(instances, instance).await?;
            return Ok(None);
        }
    }
    Ok(Some(Stop::Unmet(why.to_owned()).into()))
}

async fn package(instances: &Instances, id: &VersionId) -> Result<Result<Package, Stop>, Failure> {
    if let Some(package) = instances.loaded.known(id) {
        return Ok(Ok(package));
    }
    let Some(repository) = instances.packages.repository(&id.repository).await? else {
        let text = format!("there is no PackageRepository {}", id.repository);
        return Ok(Err(Stop::NotDownloaded(text)));
    };
    let load =
        async { Ok::<_, Failure>(instances.loaded.load(id, &repository.spec.registry).await) };
    let load = Box::pin(load);
    effects::perform(&instances.metrics, Effect::Download.id(), load).await
}

/// Effective settings and values, or why the settings are refused.
async fn configured(
    instances: &Instances,
    object: &Application,
    package: &Package,
) -> Result<(Value, Value), String> {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let catalogs = instances.view.catalogs(namespace);
    let (wanted, applied) = (object.settings(), object.last_applied());
    let schemas = package.schemas.clone();
    let judged = deep(move || {
        let limits = &Limits::DEFAULT;
        let wanted = Wanted {
            settings: &wanted,
            applied: applied.as_ref(),
            catalogs: &catalogs,
        };
        let configured = configure(&schemas, wanted, limits).map_err(|error| error.to_string())?;
        if !configured.violations.is_empty() {
            let texts = configured.violations.iter().map(ToString::to_string);
            return Err(texts.collect::<Vec<_>>().join("; "));
        }
        let values = values_of(&schemas, &configured.settings, limits);
        let (values, _) = values.map_err(|error| error.to_string())?;
        Ok((configured.settings, values))
    });
    let judged = judged.await;
    judged.unwrap_or_else(|| Err("the settings could not be judged".to_owned()))
}

/// The release as wanted, then how its workloads stand; `None` if something was put right first.
async fn release(
    instances: &Instances,
    instance: &Instance,
    id: &VersionId,
    package: &Package,
    (settings, values): (&Value, &Value),
) -> Result<Option<Stop>, Failure> {
    let identity = instances.accounts.identity(&instance.namespace).await?;
    let client = instances.accounts.client(&instance.namespace).await?;
    let context = Context {
        instance,
        package: &id.package,
        version: &id.version,
        repository: &package.repository,
        docker_config: &package.docker_config,
        images: &package.images,
        settings,
        platform: &instances.platform,
    };
    let digest = digest(&package.bundle.digest, &context.document(), values);
    let found = revisions(&client, instance, DEADLINE).await?;
    let (helm, metrics) = (&instances.helm, &instances.metrics);
    let done = match decide(&found, &digest) {
        ReleaseStep::Nothing => {
            let workloads = workloads(&client, instance, DEADLINE).await;
            let standing = workloads.map_or(Standing::Unknown, |workloads| scaled(&workloads));
            return Ok(Some(Stop::Applied(standing)));
        }
        ReleaseStep::RollBack(to) => {
            let work = helm.roll_back(instance, to, &identity);
            perform(metrics, Effect::Recover, work).await
        }
        ReleaseStep::Clear => {
            let work = helm.uninstall(instance, &identity);
            perform(metrics, Effect::Recover, work).await
        }
        ReleaseStep::Apply => {
            let release = Release {
                context,
                bundle: &package.bundle.path,
                values,
                digest: &digest,
                kinds: Some(kinds(&client, DEADLINE).await?),
            };
            perform(metrics, Effect::Apply, helm.apply(&release, &identity)).await
        }
    };
    match done {
        Ok(()) => Ok(None),
        Err(error) => Ok(Some(Stop::NotApplied(error.to_string()))),
    }
}

/// What says that the same need not be applied again.
fn digest(bundle: &str, context: &Value, values: &Value) -> String {
    let mut hash = Sha256::new();
    for part in [bundle, &context.to_string(), &values.to_string()] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let digits = digest.iter().map(|byte| format!("{byte:02x}"));
    digits.collect::<String>().chars().take(DIGITS).collect()
}
