//! Our objects by state. It counts; it decides nothing.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    phase: &'static str,
    ready: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

/// The series of both kinds.
#[derive(Default)]
pub(super) struct ObjectSeries {
    tenants: Family<StateLabels, Gauge>,
    instances: Family<StateLabels, Gauge>,
    undecodable: Family<ControllerLabels, Gauge>,
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
    pub fn undecodable(&self, controller: &'static str, count: i64) {
        self.objects
            .undecodable
            .get_or_create(&ControllerLabels { controller })
            .set(count);
    }
}
