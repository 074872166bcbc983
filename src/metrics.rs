//! Metrics: names as controller-runtime has them where it has them, labels from closed lists only.
//!
//! It counts; it decides nothing. No label value comes from a user's object (H37).

mod process;
pub mod queue;
pub mod requests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::tenancy::failure::Class;
use prometheus_client::encoding::{self, EncodeLabelSet};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use webhook::{Decision, Decisions, Route};

use self::queue::{Key, Queue, QueueSeries, labels_of};

const RECONCILE_BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];
const WEBHOOK_BUCKETS: [f64; 11] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.025, 0.1, 1.0, 5.0,
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
struct RequestLabels {
    code: String,
    method: &'static str,
    host: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
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
            webhook_latency: Family::new_with_constructor(|| Histogram::new(WEBHOOK_BUCKETS)),
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
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let r = &mut self.registry;
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
        self.register_process();
    }

    /// The process itself: certificate, lease, client, queues.
    fn register_process(&mut self) {
        let r = &mut self.registry;
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
        r.register(
            "rest_client_requests",
            "Requests to the Kubernetes API by status code, method and host",
            self.requests.clone(),
        );
        r.register(
            "tenantry_watch_last_event_timestamp_seconds",
            "When the watch of a kind last began or brought something, Unix time",
            self.watch_events.clone(),
        );
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

    /// The Kubernetes API answered, or did not (`code` is `None`).
    fn requested(&self, method: &'static str, host: &str, code: Option<u16>) {
        // As client-go says it.
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let labels = RequestLabels {
            code,
            method,
            host: host.to_owned(),
        };
        self.requests.get_or_create(&labels).inc();
    }

    /// The watch of a kind began or brought something.
    fn watch_event(&self, kind: &'static str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.watch_events
            .get_or_create(&KindLabels { kind })
            .set(now.map_or(0.0, |now| now.as_secs_f64()));
    }

    /// Something woke an object of this controller.
    pub fn woken(&self, controller: &'static str, key: Key) {
        if self
            .queue_of(controller)
            .is_some_and(|queue| queue.added(key))
        {
            self.queue.adds.get_or_create(&labels_of(controller)).inc();
        }
    }

    /// Work on the object begins; it ends when the answer is dropped.
    #[must_use]
    pub fn working(self: &Arc<Self>, controller: &'static str, key: Key) -> Working {
        let labels = labels_of(controller);
        let waited = self
            .queue_of(controller)
            .and_then(|queue| queue.begun(&key));
        match waited {
            Some(seconds) => self.queue.waited.get_or_create(&labels).observe(seconds),
            // The timer's wakes are seen only now.
            None => {
                self.queue.adds.get_or_create(&labels).inc();
            }
        }
        Working {
            metrics: Arc::clone(self),
            controller,
            key,
        }
    }

    /// Sets the gauges of the queues; counted anew for each scrape.
    pub fn queues(&self) {
        for (controller, queue) in &self.queues {
            let (labels, state) = (labels_of(controller), queue.state());
            let depth = i64::try_from(state.depth).unwrap_or(i64::MAX);
            self.queue.depth.get_or_create(&labels).set(depth);
            let (unfinished, longest) = (state.unfinished, state.longest);
            self.queue.unfinished.get_or_create(&labels).set(unfinished);
            self.queue.longest.get_or_create(&labels).set(longest);
        }
    }

    fn queue_of(&self, controller: &str) -> Option<&Queue> {
        let mut queues = self.queues.iter();
        queues
            .find(|(name, _)| *name == controller)
            .map(|(_, queue)| &**queue)
    }
}

/// An object that is being worked on.
pub struct Working {
    metrics: Arc<Metrics>,
    controller: &'static str,
    key: Key,
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(queue) = self.metrics.queue_of(self.controller) {
            let labels = labels_of(self.controller);
            let took = queue.ended(&self.key);
            self.metrics
                .queue
                .worked
                .get_or_create(&labels)
                .observe(took);
        }
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
