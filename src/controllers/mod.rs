//! The reconcile loops: load, observe, decide (in `domain`), act, record.
//!
//! They translate and carry; no `if` here is a business rule. A round does at most one external write.

pub mod backoff;
pub mod context;
pub mod credentials;
#[cfg(test)]
pub(crate) mod fixture;
pub mod instance;
pub mod settled;
pub mod tenant;

use std::panic::AssertUnwindSafe;

use domain::tenancy::reason::Retry;
use futures::FutureExt;

use crate::metrics::ReconcileResult;

/// Rounds that one reconcile may take before it lets others go first; a healthy one needs about twenty.
pub const MOST_ROUNDS: usize = 200;

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Look again then.
    Pause(Retry),
    /// The object is gone.
    Gone,
}

impl Ending {
    /// The process ends: what is left is for the next one, which begins from what was saved.
    pub const STOPPED: Self = Self::Pause(Retry::Slow);

    fn result(self) -> ReconcileResult {
        match self {
            Self::Gone | Self::Pause(Retry::Slow) => ReconcileResult::Success,
            Self::Pause(Retry::After(_)) => ReconcileResult::RequeueAfter,
            Self::Pause(Retry::Backoff) => ReconcileResult::Error,
        }
    }
}

/// Counts a reconcile from its start to its end, also when it is cancelled in between.
pub struct Counted<'m> {
    metrics: &'m crate::metrics::Metrics,
    controller: &'static str,
    started: std::time::Instant,
    result: ReconcileResult,
}

impl<'m> Counted<'m> {
    /// The reconcile begins.
    #[must_use]
    pub fn start(metrics: &'m crate::metrics::Metrics, controller: &'static str) -> Self {
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

/// Runs the rounds of one object. A panic in them is a defect, but one object's: it is logged, and the object pauses.
pub async fn caught(
    controller: &'static str,
    rounds: impl Future<Output = Ending> + Send,
) -> Ending {
    let ended = AssertUnwindSafe(Box::pin(rounds)).catch_unwind().await;
    ended.unwrap_or_else(|_| {
        tracing::error!(controller, "a round panicked; its object pauses");
        Ending::Pause(Retry::Backoff)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_round_is_an_ending_that_pauses_and_counts_as_an_error() {
        let ending = caught("test", async { panic!("a defect") }).await;
        assert_eq!(ending, Ending::Pause(Retry::Backoff));
        assert_eq!(ending.result(), ReconcileResult::Error);
        let well = caught("test", async { Ending::Gone }).await;
        assert_eq!(well, Ending::Gone, "any other ending is left as it is");
    }
}
