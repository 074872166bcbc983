//! Helm's calls as effects: their deadlines, what their failures are for metrics, and which account makes them.

use std::time::Duration;

use domain::applications::effect::ApplicationEffect as Effect;
use domain::releases::Instance;
use domain::tenancy::failure::{Class, Failure};

use super::Instances;
use crate::adapters::helm::{Kind, ReleaseError};
use crate::effects;
use crate::metrics::Metrics;

/// No call to the API server may take longer.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);

/// An effect of helm, whose failure is where a run stops.
pub(super) async fn perform(
    metrics: &Metrics,
    effect: Effect,
    work: impl Future<Output = Result<(), ReleaseError>>,
) -> Result<(), ReleaseError> {
    let mut said = None;
    let performed = effects::perform_within(metrics, effect.id(), effects::HELM_DEADLINE, async {
        work.await.map_err(|error| {
            let class = match error.kind {
                Kind::Forbidden => Class::Authentication,
                Kind::Broken | Kind::TimedOut => Class::Unavailable,
                Kind::Bundle | Kind::Refused | Kind::TooLarge | Kind::Failed => Class::Rejected,
            };
            let failure = Failure::new(class, error.to_string());
            said = Some(error);
            failure
        })
    });
    let performed = performed.await;
    performed.map_err(|failure| said.unwrap_or_else(|| ReleaseError::late(&failure.text)))
}

/// Removes the release, as the account of its namespace.
pub(super) async fn uninstall(instances: &Instances, instance: &Instance) -> Result<(), Failure> {
    let identity = instances.accounts.identity(&instance.namespace).await?;
    let work = instances.helm.uninstall(instance, &identity);
    let removed = perform(&instances.metrics, Effect::Uninstall, work).await;
    removed.map_err(|error| Failure::new(Class::Unavailable, error.to_string()))
}
