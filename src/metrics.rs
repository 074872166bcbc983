//! Metrics: names as controller-runtime has them where it has them, labels from closed lists only.
//!
//! It counts; it decides nothing. No label value comes from a user's object (H37).

mod admission;
mod backends;
mod objects;
mod process;
pub mod queue;
mod reconcile;
mod replica;
pub mod requests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding;
use prometheus_client::registry::Registry;

use self::admission::AdmissionSeries;
use self::backends::BackendSeries;
use self::objects::ObjectSeries;
use self::queue::{Queue, QueueSeries};
pub use self::reconcile::ReconcileResult;
use self::reconcile::ReconcileSeries;
use self::replica::ReplicaSeries;
use self::requests::RequestSeries;

const RECONCILE_BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

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
    reconciles: ReconcileSeries,
    admission: AdmissionSeries,
    objects: ObjectSeries,
    backends: BackendSeries,
    replica: ReplicaSeries,
    requests: RequestSeries,
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
            reconciles: ReconcileSeries::default(),
            admission: AdmissionSeries::default(),
            objects: ObjectSeries::default(),
            backends: BackendSeries::default(),
            replica: ReplicaSeries::default(),
            requests: RequestSeries::default(),
            queues: [
                (crate::controllers::tenant::CONTROLLER, Arc::default()),
                (crate::controllers::instance::CONTROLLER, Arc::default()),
            ],
            queue: QueueSeries::default(),
        };
        let r = &mut metrics.registry;
        metrics.reconciles.register(r);
        metrics.admission.register(r);
        metrics.objects.register(r);
        metrics.backends.register(r);
        metrics.replica.register(r);
        metrics.requests.register(r);
        metrics.queue.register(r);
        r.register_collector(Box::new(process::Process));
        metrics
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
}
