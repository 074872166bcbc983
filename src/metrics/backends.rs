//! What is written to the outside. It counts; it decides nothing.

use std::time::Duration;

use domain::tenancy::failure::Class;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    effect: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EffectLabels {
    effect: &'static str,
}

/// The series of everything behind us.
pub(super) struct BackendSeries {
    effects: Family<OutcomeLabels, Counter>,
    effect_time: Family<EffectLabels, Histogram>,
}

impl Default for BackendSeries {
    fn default() -> Self {
        Self {
            effects: Family::default(),
            effect_time: Family::new_with_constructor(|| Histogram::new(super::RECONCILE_BUCKETS)),
        }
    }
}

impl BackendSeries {
    pub(super) fn register(&self, r: &mut Registry) {
        r.register(
            "tenantry_external_effects",
            "Writes to the outside by effect and outcome",
            self.effects.clone(),
        );
        r.register(
            "tenantry_external_effect_duration_seconds",
            "Length of a write to the outside",
            self.effect_time.clone(),
        );
    }
}

impl Metrics {
    /// An external write ended; `failed` is its class if it did.
    pub fn effect(&self, effect: &'static str, failed: Option<Class>, elapsed: Duration) {
        let outcome = outcome(failed);
        self.backends
            .effects
            .get_or_create(&OutcomeLabels { effect, outcome })
            .inc();
        self.backends
            .effect_time
            .get_or_create(&EffectLabels { effect })
            .observe(elapsed.as_secs_f64());
    }
}

fn outcome(failed: Option<Class>) -> &'static str {
    match failed {
        None => "success",
        Some(Class::Unavailable) => "unavailable",
        Some(Class::Authentication) => "authentication",
        Some(Class::Privileges) => "privileges",
        Some(Class::Misconfigured) => "misconfigured",
        Some(Class::Conflict) => "conflict",
        Some(Class::NotInstallable) => "not_installable",
        Some(Class::Blocked) => "blocked",
        Some(Class::ProjectionUnsupported) => "projection_unsupported",
        Some(Class::NamespaceTerminating) => "namespace_terminating",
        Some(Class::Stale) => "stale",
        Some(Class::Rejected) => "rejected",
    }
}
