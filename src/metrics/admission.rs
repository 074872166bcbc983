//! What the webhooks answered, by the names that controller-runtime's webhook server has. It counts; it decides nothing.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use webhook::{Decision, Decisions, Outcome, Refusal, Route};

use super::Metrics;

const BUCKETS: [f64; 11] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.025, 0.1, 1.0, 5.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WebhookLabels {
    webhook: &'static str,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    webhook: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    kind: &'static str,
    operation: &'static str,
    decision: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CauseLabels {
    cause: &'static str,
}

/// The series of both webhooks.
pub(super) struct AdmissionSeries {
    requests: Family<WebhookLabels, Counter>,
    latency: Family<RouteLabels, Histogram>,
    in_flight: Gauge,
    decisions: Family<DecisionLabels, Counter>,
    unread: Family<CauseLabels, Counter>,
}

impl Default for AdmissionSeries {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            latency: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            in_flight: Gauge::default(),
            decisions: Family::default(),
            unread: Family::default(),
        }
    }
}

impl AdmissionSeries {
    pub(super) fn register(&self, r: &mut Registry) {
        r.register(
            "controller_runtime_webhook_requests",
            "Admission requests by HTTP status",
            self.requests.clone(),
        );
        r.register(
            "controller_runtime_webhook_latency_seconds",
            "Length of an admission request",
            self.latency.clone(),
        );
        r.register(
            "controller_runtime_webhook_requests_in_flight",
            "Admission requests under way",
            self.in_flight.clone(),
        );
        r.register(
            "tenantry_admission_decisions",
            "Admission decisions",
            self.decisions.clone(),
        );
        r.register(
            "tenantry_admission_rejected_before_decode",
            "Admission requests that were refused before anything of the review was read",
            self.unread.clone(),
        );
        // From 0 on, so that the first one is seen to be one more.
        for cause in Refusal::CAUSES {
            drop(self.unread.get_or_create(&CauseLabels { cause }));
        }
    }
}

impl Decisions for Metrics {
    fn begun(&self, _route: Route) {
        self.admission.in_flight.inc();
    }

    fn decided(&self, decision: &Decision) {
        let route = decision.route;
        self.admission.in_flight.dec();
        self.admission
            .requests
            .get_or_create(&WebhookLabels {
                webhook: route.path(),
                code: decision.code(),
            })
            .inc();
        self.admission
            .latency
            .get_or_create(&RouteLabels {
                webhook: route.path(),
            })
            .observe(decision.took.as_secs_f64());
        if let Outcome::Refused {
            before_decode: Some(cause),
            ..
        } = decision.outcome
        {
            let labels = CauseLabels { cause };
            self.admission.unread.get_or_create(&labels).inc();
        }
        let verdict = if decision.allowed() {
            "allowed"
        } else {
            "denied"
        };
        let labels = DecisionLabels {
            kind: route.kind(),
            operation: decision.operation.as_str(),
            decision: verdict,
        };
        self.admission.decisions.get_or_create(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use axum::http::StatusCode;
    use webhook::Operation;

    use super::*;
    use crate::metrics::Format;

    #[test]
    fn only_what_was_refused_before_it_was_read_counts_as_such() {
        let metrics = Metrics::new();
        for before_decode in [Some("too_large"), None] {
            metrics.begun(Route::Tenant);
            metrics.decided(&Decision {
                route: Route::Tenant,
                operation: Operation::Unknown,
                outcome: Outcome::Refused {
                    status: StatusCode::PAYLOAD_TOO_LARGE,
                    before_decode,
                },
                took: Duration::from_millis(1),
            });
        }
        let scrape = metrics.encode(Format::Prometheus).unwrap();
        let unread = scrape
            .lines()
            .filter(|line| line.starts_with("tenantry_admission_rejected_before_decode_total"))
            .filter(|line| !line.ends_with(" 0"));
        assert_eq!(
            unread.collect::<Vec<_>>(),
            ["tenantry_admission_rejected_before_decode_total{cause=\"too_large\"} 1"]
        );
    }
}
