//! The reconcile loops: load, observe, decide (in `domain`), act, record.
//!
//! They translate and carry; no `if` here is a business rule. A round does at most one external write.

pub mod application;
pub mod backoff;
pub mod context;
pub mod credentials;
#[cfg(test)]
pub(crate) mod fixture;
pub mod instance;
mod judged;
mod offering;
pub mod phases;
pub mod publication;
pub mod repository;
pub mod settled;
pub mod tenant;

use std::panic::AssertUnwindSafe;

use domain::tenancy::reason::{Ready, Retry};
use futures::FutureExt;

use crate::metrics::{Metrics, ReconcileResult};

/// Rounds that one reconcile may take before it lets others go first; a healthy one needs about twenty.
pub const MOST_ROUNDS: usize = 200;

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Look again then.
    Pause(Retry),
    /// Only another spec helps; look again at the slow timer all the same.
    Terminal,
    /// The object is gone.
    Gone,
}

impl Ending {
    /// The process ends: what is left is for the next one, which begins from what was saved.
    pub const STOPPED: Self = Self::Pause(Retry::Slow);

    /// A rest with this condition.
    #[must_use]
    pub fn rest(retry: Retry, ready: Option<&Ready>) -> Self {
        if ready.is_some_and(|ready| ready.reason.is_terminal()) {
            Self::Terminal
        } else {
            Self::Pause(retry)
        }
    }

    /// When to look again; `None` if the object is gone.
    #[must_use]
    pub fn retry(self) -> Option<Retry> {
        match self {
            Self::Pause(retry) => Some(retry),
            Self::Terminal => Some(Retry::Slow),
            Self::Gone => None,
        }
    }

    fn result(self) -> ReconcileResult {
        match self {
            Self::Terminal => ReconcileResult::Terminal,
            Self::Gone | Self::Pause(Retry::Slow) => ReconcileResult::Success,
            Self::Pause(Retry::After(_)) => ReconcileResult::RequeueAfter,
            Self::Pause(Retry::Backoff) => ReconcileResult::Error,
        }
    }
}

/// Counts a reconcile from its start to its end, also when it is cancelled in between.
pub struct Counted<'m> {
    metrics: &'m Metrics,
    controller: &'static str,
    started: std::time::Instant,
    result: ReconcileResult,
}

impl<'m> Counted<'m> {
    /// The reconcile begins.
    #[must_use]
    pub fn start(metrics: &'m Metrics, controller: &'static str) -> Self {
        metrics.reconcile_started(controller);
        Self {
            metrics,
            controller,
            started: std::time::Instant::now(),
            result: ReconcileResult::Error,
        }
    }

    /// The reconcile ended so.
    pub fn ended(mut self, ending: Ending) {
        self.result = ending.result();
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.metrics
            .reconcile_ended(self.controller, self.result, self.started.elapsed());
    }
}

/// Runs the rounds of one object. A panic in them is a defect, but one object's: it is logged and counted, and the object pauses.
pub async fn caught(
    metrics: &Metrics,
    controller: &'static str,
    rounds: impl Future<Output = Ending> + Send,
) -> Ending {
    let ended = AssertUnwindSafe(Box::pin(rounds)).catch_unwind().await;
    ended.unwrap_or_else(|_| {
        tracing::error!(controller, "a round panicked; its object pauses");
        metrics.reconcile_panicked(controller);
        Ending::Pause(Retry::Backoff)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]

    use domain::tenancy::reason::Reason;

    use super::*;
    use crate::metrics::Format;

    /// The value of a series of the controller `test` in a scrape; 0 if it is not there.
    fn shown(metrics: &Metrics, series: &str) -> u64 {
        let scrape = metrics.encode(Format::Prometheus).unwrap();
        let prefix = format!("{series} ");
        let line = scrape.lines().find_map(|line| line.strip_prefix(&prefix));
        line.map_or(0, |value| value.parse().unwrap())
    }

    fn counted(ending: Ending) -> Metrics {
        let metrics = Metrics::new();
        Counted::start(&metrics, "test").ended(ending);
        metrics
    }

    #[tokio::test]
    async fn a_panic_in_a_round_is_an_ending_that_pauses_and_counts_as_an_error() {
        let metrics = Metrics::new();
        let ending = caught(&metrics, "test", async { panic!("a defect") }).await;
        assert_eq!(ending, Ending::Pause(Retry::Backoff));
        assert_eq!(ending.result(), ReconcileResult::Error);
        let well = caught(&metrics, "test", async { Ending::Gone }).await;
        assert_eq!(well, Ending::Gone, "any other ending is left as it is");
        let panics = "controller_runtime_reconcile_panics_total{controller=\"test\"}";
        assert_eq!(shown(&metrics, panics), 1);
    }

    #[test]
    fn an_ending_that_only_another_spec_helps_is_a_terminal_error_and_no_retry() {
        let invalid = Ready::new(Reason::InvalidSpec, "");
        let ending = Ending::rest(Retry::Slow, Some(&invalid));
        assert_eq!(ending.retry(), Some(Retry::Slow));
        let metrics = counted(ending);
        for series in [
            "controller_runtime_reconcile_errors_total{controller=\"test\"}",
            "controller_runtime_terminal_reconcile_errors_total{controller=\"test\"}",
            "controller_runtime_reconcile_total{controller=\"test\",result=\"error\"}",
        ] {
            assert_eq!(shown(&metrics, series), 1, "{series}");
        }
        let retries = "workqueue_retries_total{name=\"test\",controller=\"test\"}";
        assert_eq!(shown(&metrics, retries), 0);
        let away = Ready::new(Reason::DependencyUnavailable, "");
        let metrics = counted(Ending::rest(Retry::Backoff, Some(&away)));
        assert_eq!(shown(&metrics, retries), 1);
        let terminal = "controller_runtime_terminal_reconcile_errors_total{controller=\"test\"}";
        assert_eq!(shown(&metrics, terminal), 0);
    }
}
