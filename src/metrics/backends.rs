//! What is behind us: writes to the outside, connections and the OpenBao token. It counts; it decides nothing.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use domain::tenancy::failure::Class;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Metrics;
use crate::adapters::postgres::Connections;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    effect: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EffectLabels {
    effect: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConnectionLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    auth: &'static str,
}

/// The series of everything behind us.
pub(super) struct BackendSeries {
    connections: Family<ConnectionLabels, Gauge>,
    token: Family<TokenLabels, Gauge<f64, AtomicU64>>,
    effects: Family<OutcomeLabels, Counter>,
    effect_time: Family<EffectLabels, Histogram>,
}

impl Default for BackendSeries {
    fn default() -> Self {
        Self {
            connections: Family::default(),
            token: Family::default(),
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
        r.register(
            "tenantry_pg_connections",
            "Connections to PostgreSQL by state; at_cap: in use, and no further one may be opened to that server",
            self.connections.clone(),
        );
        r.register(
            "tenantry_bao_token_expiration_timestamp_seconds",
            "When the present OpenBao token ends, Unix time; absent if it never does or is not known",
            self.token.clone(),
        );
    }
}

impl Metrics {
    /// Sets the gauge of connections to PostgreSQL.
    pub fn connections(&self, now: Connections) {
        let states = [
            ("idle", now.idle),
            ("in_use", now.in_use),
            ("at_cap", now.at_cap),
        ];
        for (state, count) in states {
            self.backends
                .connections
                .get_or_create(&ConnectionLabels { state })
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// Sets when the OpenBao token of this kind of login ends, Unix time in seconds.
    pub fn token(&self, auth: &'static str, ends: Option<f64>) {
        let labels = TokenLabels { auth };
        match ends {
            Some(ends) => {
                self.backends.token.get_or_create(&labels).set(ends);
            }
            None => drop(self.backends.token.remove(&labels)),
        }
    }

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
