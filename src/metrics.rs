//! Metrics: names as controller-runtime has them where it has them, labels from closed lists only.
//!
//! It counts; it decides nothing. No label value comes from a user's object (H37).

mod admission;
mod process;
pub mod queue;
pub mod requests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::tenancy::failure::Class;
use prometheus_client::encoding::{self, EncodeLabelSet};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use self::admission::{DecisionLabels, RouteLabels, WebhookLabels};
use self::queue::{Queue, QueueSeries, labels_of};
use self::requests::{KindLabels, RequestLabels};

const RECONCILE_BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EffectLabels {
    effect: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EffectDurationLabels {
    effect: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    phase: &'static str,
    ready: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabels {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
}

/// How a reconcile ended, by controller-runtime's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Nothing more to do until the slow timer or a change.
    Success,
    /// A known failure; retried.
    Error,
    /// Looked at again at a known time.
    RequeueAfter,
}

impl ReconcileResult {
    fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

/// Exposition formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0, for whoever asks for it.
    OpenMetrics,
    /// Prometheus text 0.0.4.
    Prometheus,
}

impl Format {
    /// By the request's `Accept` header.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// The `Content-Type` of the answer.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// All series of the process.
pub struct Metrics {
    registry: Registry,
    scraping: Mutex<()>,
    reconciles: Family<ReconcileLabels, Counter>,
    reconcile_errors: Family<ControllerLabels, Counter>,
    reconcile_time: Family<ControllerLabels, Histogram>,
    active_workers: Family<ControllerLabels, Gauge>,
    max_workers: Family<ControllerLabels, Gauge>,
    webhook_requests: Family<WebhookLabels, Counter>,
    webhook_latency: Family<RouteLabels, Histogram>,
    webhook_in_flight: Gauge,
    decisions: Family<DecisionLabels, Counter>,
    effects: Family<EffectLabels, Counter>,
    effect_time: Family<EffectDurationLabels, Histogram>,
    tenants: Family<ObjectLabels, Gauge>,
    instances: Family<ObjectLabels, Gauge>,
    undecodable: Family<ControllerLabels, Gauge>,
    certificate_expiry: Gauge<f64, AtomicU64>,
    certificate_reads: Counter,
    certificate_errors: Counter,
    certificate_replacements: Counter,
    certificate_failures: Counter,
    leader: Family<LeaseLabels, Gauge>,
    requests: Family<RequestLabels, Counter>,
    watch_events: Family<KindLabels, Gauge<f64, AtomicU64>>,
    queues: [(&'static str, Arc<Queue>); 2],
    queue: QueueSeries,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers every series.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            scraping: Mutex::new(()),
            reconciles: Family::default(),
            reconcile_errors: Family::default(),
            reconcile_time: Family::new_with_constructor(|| Histogram::new(RECONCILE_BUCKETS)),
            active_workers: Family::default(),
            max_workers: Family::default(),
            webhook_requests: Family::default(),
            webhook_latency: Family::new_with_constructor(|| Histogram::new(admission::BUCKETS)),
            webhook_in_flight: Gauge::default(),
            decisions: Family::default(),
            effects: Family::default(),
            effect_time: Family::new_with_constructor(|| Histogram::new(RECONCILE_BUCKETS)),
            tenants: Family::default(),
            instances: Family::default(),
            undecodable: Family::default(),
            certificate_expiry: Gauge::default(),
            certificate_reads: Counter::default(),
            certificate_errors: Counter::default(),
            certificate_replacements: Counter::default(),
            certificate_failures: Counter::default(),
            leader: Family::default(),
            requests: Family::default(),
            watch_events: Family::default(),
            queues: [
                (crate::controllers::tenant::CONTROLLER, Arc::default()),
                (crate::controllers::instance::CONTROLLER, Arc::default()),
            ],
            queue: QueueSeries::default(),
        };
        let mut registry = std::mem::take(&mut metrics.registry);
        metrics.register(&mut registry);
        metrics.registry = registry;
        metrics
    }

    fn register(&self, r: &mut Registry) {
        r.register(
            "controller_runtime_reconcile",
            "Reconciliations per controller",
            self.reconciles.clone(),
        );
        r.register(
            "controller_runtime_reconcile_errors",
            "Failed reconciliations per controller",
            self.reconcile_errors.clone(),
        );
        r.register(
            "controller_runtime_reconcile_time_seconds",
            "Length of a reconciliation",
            self.reconcile_time.clone(),
        );
        r.register(
            "controller_runtime_active_workers",
            "Reconciliations under way",
            self.active_workers.clone(),
        );
        r.register(
            "controller_runtime_max_concurrent_reconciles",
            "Most reconciliations at once",
            self.max_workers.clone(),
        );
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
        self.register_process(r);
    }

    /// The process itself: certificate, lease, client, queues.
    fn register_process(&self, r: &mut Registry) {
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
        self.register_admission(r);
        self.register_requests(r);
        self.queue.register(r);
        r.register_collector(Box::new(process::Process));
        let build: Family<BuildLabels, Gauge> = Family::default();
        build
            .get_or_create(&BuildLabels {
                version: env!("CARGO_PKG_VERSION"),
            })
            .set(1);
        r.register("tenantry_build_info", "Version of this build", build);
    }

    /// Held while gauges that are counted anew are set and encoded.
    pub fn scrape(&self) -> MutexGuard<'_, ()> {
        self.scraping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All series, in the format asked for.
    ///
    /// # Errors
    /// Only if formatting fails, which a `String` never does.
    pub fn encode(&self, format: Format) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        match format {
            Format::OpenMetrics => encoding::text::encode(&mut text, &self.registry)?,
            Format::Prometheus => encoding::prometheus_text::encode(&mut text, &self.registry)?,
        }
        Ok(text)
    }

    /// How many reconciliations a controller may run at once.
    pub fn workers(&self, controller: &'static str, most: u16) {
        self.max_workers
            .get_or_create(&ControllerLabels { controller })
            .set(i64::from(most));
    }

    /// A reconciliation began.
    pub fn reconcile_started(&self, controller: &'static str) {
        self.active_workers
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
        let labels = ControllerLabels { controller };
        self.active_workers.get_or_create(&labels).dec();
        self.reconcile_time
            .get_or_create(&labels)
            .observe(elapsed.as_secs_f64());
        self.reconciles
            .get_or_create(&ReconcileLabels {
                controller,
                result: result.as_str(),
            })
            .inc();
        if result == ReconcileResult::Error {
            self.reconcile_errors.get_or_create(&labels).inc();
            let labels = labels_of(controller);
            self.queue.retries.get_or_create(&labels).inc();
        }
    }

    /// An external write ended; `failed` is its class if it did.
    pub fn effect(&self, effect: &'static str, failed: Option<Class>, elapsed: Duration) {
        self.effects
            .get_or_create(&EffectLabels {
                effect,
                outcome: outcome(failed),
            })
            .inc();
        self.effect_time
            .get_or_create(&EffectDurationLabels { effect })
            .observe(elapsed.as_secs_f64());
    }

    /// Sets the gauges of objects by phase and `Ready`; counted anew for each scrape.
    pub fn objects(
        &self,
        tenants: &[(&'static str, &'static str, i64)],
        instances: &[(&'static str, &'static str, i64)],
    ) {
        for (family, rows) in [(&self.tenants, tenants), (&self.instances, instances)] {
            family.clear();
            for (phase, ready, count) in rows {
                family
                    .get_or_create(&ObjectLabels { phase, ready })
                    .set(*count);
            }
        }
    }

    /// Sets how many objects of a kind could not be read.
    pub fn undecodable(&self, controller: &'static str, count: i64) {
        self.undecodable
            .get_or_create(&ControllerLabels { controller })
            .set(count);
    }

    /// Sets the state of the serving certificate: when it ends, and what the store counted.
    pub fn certificate(&self, expires: f64, counted: certs::LoadState) {
        self.certificate_expiry.set(expires);
        for (counter, value) in [
            (&self.certificate_reads, counted.reads),
            (&self.certificate_errors, counted.errors),
            (&self.certificate_replacements, counted.replacements),
            (&self.certificate_failures, counted.errors),
        ] {
            counter.inner().store(value, Ordering::Relaxed);
        }
    }

    /// Sets whether this process leads by the Lease of that name.
    pub fn leader(&self, lease: &str, leads: bool) {
        let labels = LeaseLabels {
            name: lease.to_owned(),
        };
        self.leader.get_or_create(&labels).set(i64::from(leads));
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
