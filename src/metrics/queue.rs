//! The `workqueue_*` series of a controller, by the names and meanings that controller-runtime's queue has.
//!
//! kube's scheduler shows nothing of itself, so this keeps its own books: what was woken and not begun waits, what was begun and
//! not ended is worked on. A wake by the timer is seen when its work begins. It schedules nothing.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Metrics;

/// An object's namespace and name.
pub type Key = (String, String);

/// What waits and what is worked on.
#[derive(Debug, Default)]
pub struct Queue(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    waiting: HashMap<Key, Instant>,
    working: HashMap<Key, Instant>,
}

/// What the gauges show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Objects that wait.
    pub depth: usize,
    /// Seconds of work so far, of all that is under way.
    pub unfinished: f64,
    /// Seconds of work so far, of the longest that is under way.
    pub longest: f64,
}

impl Queue {
    /// Something woke the object; true if it was not waiting already.
    pub fn added(&self, key: Key) -> bool {
        let mut books = self.books();
        let before = books.waiting.len();
        books.waiting.entry(key).or_insert_with(Instant::now);
        books.waiting.len() > before
    }

    /// Its work begins; how long it waited in seconds, `None` if the timer woke it.
    pub fn begun(&self, key: &Key) -> Option<f64> {
        let mut books = self.books();
        books.working.insert(key.clone(), Instant::now());
        let since = books.waiting.remove(key)?;
        Some(since.elapsed().as_secs_f64())
    }

    /// Its work ended; how long it took in seconds.
    pub fn ended(&self, key: &Key) -> f64 {
        let begun = self.books().working.remove(key);
        begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64())
    }

    /// As of now.
    #[must_use]
    pub fn state(&self) -> State {
        let books = self.books();
        let now = Instant::now();
        let ages = || {
            let begun = books.working.values();
            begun.map(|begun| now.saturating_duration_since(*begun).as_secs_f64())
        };
        State {
            depth: books.waiting.len(),
            unfinished: ages().sum(),
            longest: ages().fold(0.0, f64::max),
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct QueueLabels {
    name: &'static str,
    controller: &'static str,
}

pub(super) fn labels_of(controller: &'static str) -> QueueLabels {
    QueueLabels {
        name: controller,
        controller,
    }
}

/// The series of all queues.
pub(super) struct QueueSeries {
    pub(super) depth: Family<QueueLabels, Gauge>,
    pub(super) adds: Family<QueueLabels, Counter>,
    pub(super) retries: Family<QueueLabels, Counter>,
    pub(super) waited: Family<QueueLabels, Histogram>,
    pub(super) worked: Family<QueueLabels, Histogram>,
    pub(super) unfinished: Family<QueueLabels, Gauge<f64, AtomicU64>>,
    pub(super) longest: Family<QueueLabels, Gauge<f64, AtomicU64>>,
}

impl Default for QueueSeries {
    fn default() -> Self {
        Self {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(|| Histogram::new(super::RECONCILE_BUCKETS)),
            worked: Family::new_with_constructor(|| Histogram::new(super::RECONCILE_BUCKETS)),
            unfinished: Family::default(),
            longest: Family::default(),
        }
    }
}

impl QueueSeries {
    pub(super) fn register(&self, r: &mut Registry) {
        r.register(
            "workqueue_depth",
            "Objects that wait to be reconciled",
            self.depth.clone(),
        );
        r.register("workqueue_adds", "Wakes of objects", self.adds.clone());
        r.register(
            "workqueue_retries",
            "Reconciliations that failed and are tried again",
            self.retries.clone(),
        );
        r.register(
            "workqueue_queue_duration_seconds",
            "How long an object waited",
            self.waited.clone(),
        );
        r.register(
            "workqueue_work_duration_seconds",
            "How long an object was worked on",
            self.worked.clone(),
        );
        r.register(
            "workqueue_unfinished_work_seconds",
            "Work under way, summed up",
            self.unfinished.clone(),
        );
        r.register(
            "workqueue_longest_running_processor_seconds",
            "The longest work under way",
            self.longest.clone(),
        );
    }
}

impl Metrics {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        ("ns".to_owned(), name.to_owned())
    }

    #[test]
    fn an_object_waits_once_however_often_it_is_woken_and_may_wait_while_it_is_worked_on() {
        let queue = Queue::default();
        assert!(queue.added(key("a")) && !queue.added(key("a")) && queue.added(key("b")));
        assert_eq!(queue.state().depth, 2);
        assert!(queue.begun(&key("a")).is_some());
        assert!(queue.added(key("a")));
        let state = queue.state();
        assert_eq!(state.depth, 2);
        assert!(state.longest > 0.0 && state.unfinished >= state.longest);
        assert!(queue.ended(&key("a")) > 0.0);
        assert!(queue.state().longest < f64::EPSILON);
        assert_eq!(queue.begun(&key("c")), None, "the timer woke it");
    }
}
