//! Our objects by state. It counts; it decides nothing.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    phase: &'static str,
    ready: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TransitionLabels {
    kind: &'static str,
    from: &'static str,
    to: &'static str,
}

/// From an effect's time to the hours that a dependency may be away.
const TRANSITION_BUCKETS: [f64; 10] = [
    0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0,
];

/// The series of both kinds.
pub(super) struct ObjectSeries {
    tenants: Family<StateLabels, Gauge>,
    instances: Family<StateLabels, Gauge>,
    undecodable: Family<KindLabels, Gauge>,
    transitions: Family<TransitionLabels, Histogram>,
}

impl Default for ObjectSeries {
    fn default() -> Self {
        Self {
            tenants: Family::default(),
            instances: Family::default(),
            undecodable: Family::default(),
            transitions: Family::new_with_constructor(|| Histogram::new(TRANSITION_BUCKETS)),
        }
    }
}

impl ObjectSeries {
    pub(super) fn register(&self, r: &mut Registry) {
        r.register(
            "tenantry_tenants",
            "PostgreSQLTenants by phase and Ready",
            self.tenants.clone(),
        );
        r.register(
            "tenantry_instances",
            "PostgreSQLInstances by phase and Ready",
            self.instances.clone(),
        );
        r.register(
            "tenantry_undecodable_objects",
            "Objects that could not be read",
            self.undecodable.clone(),
        );
        r.register(
            "tenantry_phase_transition_seconds",
            "How long objects were in a phase before they came to the next one",
            self.transitions.clone(),
        );
    }
}

impl Metrics {
    /// Sets the gauges of objects by phase and `Ready`; counted anew for each scrape.
    pub fn objects(
        &self,
        tenants: &[(&'static str, &'static str, i64)],
        instances: &[(&'static str, &'static str, i64)],
    ) {
        let series = &self.objects;
        for (family, rows) in [(&series.tenants, tenants), (&series.instances, instances)] {
            family.clear();
            for (phase, ready, count) in rows {
                family
                    .get_or_create(&StateLabels { phase, ready })
                    .set(*count);
            }
        }
    }

    /// Sets how many objects of a kind could not be read.
    pub fn undecodable(&self, kind: &'static str, count: i64) {
        self.objects
            .undecodable
            .get_or_create(&KindLabels { kind })
            .set(count);
    }

    /// An object of a kind came from one phase, in which it was for so long, to another.
    pub fn transition(
        &self,
        kind: &'static str,
        (from, to): (&'static str, &'static str),
        took: Duration,
    ) {
        let labels = TransitionLabels { kind, from, to };
        self.objects
            .transitions
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }
}
