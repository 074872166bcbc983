//! The way out: the release goes, then what hooks left, then the finalizer. Any step that fails is tried again, and the Application stays.

use crds::applications::application::Application;
use domain::applications::effect::ApplicationEffect as Effect;
use domain::applications::release::{TeardownStep, teardown};
use domain::applications::run::Stop;
use domain::releases::Instance;
use domain::settings::orphans::{Declared, declared_by_schema};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::reason::Retry;
use serde_json::Value;

use super::release::{DEADLINE, uninstall};
use super::{Instances, Round, record};
use crate::adapters::helm::revisions::revisions;
use crate::adapters::kubernetes::orphans::purge;
use crate::controllers::Ending;
use crate::effects;

/// One step, or several that need nothing saved in between.
pub(super) async fn round(
    instances: &Instances,
    instance: &Instance,
    object: &Application,
) -> Result<Round, Failure> {
    match torn_down(instances, instance, object).await {
        Ok(()) => Ok(Round::Ended(Ending::Gone)),
        Err(failure) if failure.class == Class::Stale => Err(failure),
        // Its account may have gone before it. Everything of the namespace goes anyway, and nothing can be applied there.
        Err(_)
            if instances
                .applications
                .namespace_goes(&instance.namespace)
                .await? =>
        {
            release(instances, instance).await?;
            Ok(Round::Ended(Ending::Gone))
        }
        Err(failure) => {
            let ran = Stop::NotApplied(failure.text).into();
            record::record(instances, object, &ran).await?;
            Ok(Round::Ended(Ending::Pause(Retry::Backoff)))
        }
    }
}

async fn torn_down(
    instances: &Instances,
    instance: &Instance,
    object: &Application,
) -> Result<(), Failure> {
    record::record(instances, object, &Stop::Paused.into()).await?;
    let mut purged = false;
    // Three steps, each at most once more than needed.
    for _ in 0..4 {
        let client = instances.accounts.client(&instance.namespace).await?;
        let found = revisions(&client, instance, DEADLINE).await?;
        match teardown(!found.is_empty(), purged) {
            TeardownStep::Uninstall => uninstall(instances, instance).await?,
            TeardownStep::Purge => {
                let kinds = declared(instances, object).await?;
                let work = purge(&client, instance, &kinds, DEADLINE);
                effects::perform(&instances.metrics, Effect::Purge.id(), work).await?;
                purged = true;
            }
            TeardownStep::Release => return release(instances, instance).await,
        }
    }
    Err(Failure::new(
        Class::Unavailable,
        "the release came back while the Application was taken down",
    ))
}

async fn release(instances: &Instances, instance: &Instance) -> Result<(), Failure> {
    let api = &instances.applications;
    let Some(fresh) = api.get(&instance.namespace, &instance.name).await? else {
        return Ok(());
    };
    let release = api.hold(&fresh, false);
    effects::perform(&instances.metrics, Effect::Release.id(), release).await
}

/// The kinds that the package declares as orphans, by its published values schema.
async fn declared(instances: &Instances, object: &Application) -> Result<Vec<Declared>, Failure> {
    let id = object.version_id(&instances.default_repository);
    let published = instances.packages.version(&id.object_name()).await?;
    let schema = published
        .filter(|version| version.id().as_ref() == Some(&id))
        .and_then(|version| {
            let schemas = version.status?.package_schemas?;
            schemas.values_schema?.open_api_v3_schema
        });
    Ok(
        declared_by_schema(&schema.map_or(Value::Null, Value::Object)).unwrap_or_else(|error| {
            tracing::error!(%error, version = %id, "orphan resources are not deleted");
            Vec::new()
        }),
    )
}
