//! What the webhooks answered, by the names that controller-runtime's webhook server has. It counts; it decides nothing.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::registry::Registry;
use webhook::{Decision, Decisions, Route};

use super::Metrics;

pub(super) const BUCKETS: [f64; 11] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.025, 0.1, 1.0, 5.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WebhookLabels {
    webhook: &'static str,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RouteLabels {
    webhook: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DecisionLabels {
    kind: &'static str,
    operation: &'static str,
    decision: &'static str,
}

impl Metrics {
    pub(super) fn register_admission(&self, r: &mut Registry) {
        r.register(
            "controller_runtime_webhook_requests",
            "Admission requests by HTTP status",
            self.webhook_requests.clone(),
        );
        r.register(
            "controller_runtime_webhook_latency_seconds",
            "Length of an admission request",
            self.webhook_latency.clone(),
        );
        r.register(
            "controller_runtime_webhook_requests_in_flight",
            "Admission requests under way",
            self.webhook_in_flight.clone(),
        );
        r.register(
            "tenantry_admission_decisions",
            "Admission decisions",
            self.decisions.clone(),
        );
    }
}

impl Decisions for Metrics {
    fn begun(&self, _route: Route) {
        self.webhook_in_flight.inc();
    }

    fn decided(&self, decision: &Decision) {
        let route = decision.route;
        self.webhook_in_flight.dec();
        self.webhook_requests
            .get_or_create(&WebhookLabels {
                webhook: route.path(),
                code: decision.code(),
            })
            .inc();
        self.webhook_latency
            .get_or_create(&RouteLabels {
                webhook: route.path(),
            })
            .observe(decision.took.as_secs_f64());
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
        self.decisions.get_or_create(&labels).inc();
    }
}
