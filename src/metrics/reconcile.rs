//! Reconciliations, by the names that controller-runtime has. It counts; it decides nothing.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Metrics;
use super::queue::labels_of;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    controller: &'static str,
    result: &'static str,
}

/// How a reconcile ended, by controller-runtime's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Nothing more to do until the slow timer or a change.
    Success,
    /// A known failure; retried.
    Error,
    /// A failure that only another spec helps; controller-runtime counts it as an error too, and does not retry it.
    Terminal,
    /// Looked at again at a known time.
    RequeueAfter,
}

impl ReconcileResult {
    fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error | Self::Terminal => "error",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

/// The series of all controllers.
pub(super) struct ReconcileSeries {
    ended: Family<ResultLabels, Counter>,
    errors: Family<ControllerLabels, Counter>,
    terminal: Family<ControllerLabels, Counter>,
    panics: Family<ControllerLabels, Counter>,
    time: Family<ControllerLabels, Histogram>,
    active: Family<ControllerLabels, Gauge>,
    most: Family<ControllerLabels, Gauge>,
}

impl Default for ReconcileSeries {
    fn default() -> Self {
        Self {
            ended: Family::default(),
            errors: Family::default(),
            terminal: Family::default(),
            panics: Family::default(),
            time: Family::new_with_constructor(|| Histogram::new(super::RECONCILE_BUCKETS)),
            active: Family::default(),
            most: Family::default(),
        }
    }
}

impl ReconcileSeries {
    pub(super) fn register(&self, r: &mut Registry) {
        r.register(
            "controller_runtime_reconcile",
            "Reconciliations per controller",
            self.ended.clone(),
        );
        r.register(
            "controller_runtime_reconcile_errors",
            "Failed reconciliations per controller",
            self.errors.clone(),
        );
        r.register(
            "controller_runtime_terminal_reconcile_errors",
            "Failed reconciliations that only another spec helps, per controller",
            self.terminal.clone(),
        );
        r.register(
            "controller_runtime_reconcile_panics",
            "Reconciliations that panicked, per controller",
            self.panics.clone(),
        );
        r.register(
            "controller_runtime_reconcile_time_seconds",
            "Length of a reconciliation",
            self.time.clone(),
        );
        r.register(
            "controller_runtime_active_workers",
            "Reconciliations under way",
            self.active.clone(),
        );
        r.register(
            "controller_runtime_max_concurrent_reconciles",
            "Most reconciliations at once",
            self.most.clone(),
        );
    }
}

impl Metrics {
    /// How many reconciliations a controller may run at once. Its counters of errors begin at 0, so that the first one is seen to
    /// be one more.
    pub fn workers(&self, controller: &'static str, most: u16) {
        let (series, labels) = (&self.reconciles, ControllerLabels { controller });
        series.most.get_or_create(&labels).set(i64::from(most));
        for counter in [&series.errors, &series.terminal, &series.panics] {
            drop(counter.get_or_create(&labels));
        }
    }

    /// A reconciliation panicked; it ends as an error beside.
    pub fn reconcile_panicked(&self, controller: &'static str) {
        let labels = ControllerLabels { controller };
        self.reconciles.panics.get_or_create(&labels).inc();
    }

    /// A reconciliation began.
    pub fn reconcile_started(&self, controller: &'static str) {
        self.reconciles
            .active
            .get_or_create(&ControllerLabels { controller })
            .inc();
    }

    /// A reconciliation ended.
    pub fn reconcile_ended(
        &self,
        controller: &'static str,
        result: ReconcileResult,
        elapsed: Duration,
    ) {
        let (series, labels) = (&self.reconciles, ControllerLabels { controller });
        series.active.get_or_create(&labels).dec();
        series
            .time
            .get_or_create(&labels)
            .observe(elapsed.as_secs_f64());
        let ended = ResultLabels {
            controller,
            result: result.as_str(),
        };
        series.ended.get_or_create(&ended).inc();
        match result {
            ReconcileResult::Error => {
                series.errors.get_or_create(&labels).inc();
                let labels = labels_of(controller);
                self.queue.retries.get_or_create(&labels).inc();
            }
            ReconcileResult::Terminal => {
                series.errors.get_or_create(&labels).inc();
                series.terminal.get_or_create(&labels).inc();
            }
            ReconcileResult::Success | ReconcileResult::RequeueAfter => {}
        }
    }
}
