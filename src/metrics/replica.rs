//! This process beside the others: its build, its serving certificate, and whether it leads. It decides nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabels {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
    revision: &'static str,
}

/// The series of this replica.
#[derive(Default)]
pub(super) struct ReplicaSeries {
    certificate_expiry: Gauge<f64, AtomicU64>,
    certificate_reads: Counter,
    certificate_errors: Counter,
    certificate_replacements: Counter,
    certificate_failures: Counter,
    leader: Family<LeaseLabels, Gauge>,
}

impl ReplicaSeries {
    pub(super) fn register(&self, r: &mut Registry) {
        r.register(
            "tenantry_serving_certificate_expiration_timestamp_seconds",
            "When the serving certificate expires, Unix time",
            self.certificate_expiry.clone(),
        );
        r.register(
            "certwatcher_read_certificate",
            "Looks at the serving certificate's files",
            self.certificate_reads.clone(),
        );
        r.register(
            "certwatcher_read_certificate_errors",
            "Looks at the serving certificate's files that failed",
            self.certificate_errors.clone(),
        );
        r.register(
            "tenantry_serving_certificate_reloads",
            "Times that another serving certificate came into force",
            self.certificate_replacements.clone(),
        );
        r.register(
            "tenantry_serving_certificate_reload_failures",
            "Looks at the serving certificate that found no usable one; the one in force stays",
            self.certificate_failures.clone(),
        );
        r.register(
            "leader_election_master_status",
            "1 while this process leads, by lease",
            self.leader.clone(),
        );
        let build: Family<BuildLabels, Gauge> = Family::default();
        build
            .get_or_create(&BuildLabels {
                version: env!("CARGO_PKG_VERSION"),
                revision: env!("TENANTRY_REVISION"),
            })
            .set(1);
        r.register(
            "tenantry_build_info",
            "Version of this build, and the revision that it was built from",
            build,
        );
    }
}

impl Metrics {
    /// Sets the state of the serving certificate: when it ends, and what the store counted.
    pub fn certificate(&self, expires: f64, counted: certs::LoadState) {
        self.replica.certificate_expiry.set(expires);
        for (counter, value) in [
            (&self.replica.certificate_reads, counted.reads),
            (&self.replica.certificate_errors, counted.errors),
            (&self.replica.certificate_replacements, counted.replacements),
            (&self.replica.certificate_failures, counted.errors),
        ] {
            counter.inner().store(value, Ordering::Relaxed);
        }
    }

    /// Sets whether this process leads by the Lease of that name.
    pub fn leader(&self, lease: &str, leads: bool) {
        let labels = LeaseLabels {
            name: lease.to_owned(),
        };
        self.replica
            .leader
            .get_or_create(&labels)
            .set(i64::from(leads));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::metrics::Format;

    #[test]
    fn the_build_names_its_version_and_its_revision() {
        let scrape = Metrics::new().encode(Format::Prometheus).unwrap();
        let build = format!(
            "tenantry_build_info{{version=\"{}\",revision=\"",
            env!("CARGO_PKG_VERSION")
        );
        let line = scrape.lines().find_map(|line| line.strip_prefix(&build));
        let revision = line.unwrap().strip_suffix("\"} 1").unwrap();
        assert!(!revision.is_empty());
    }
}
