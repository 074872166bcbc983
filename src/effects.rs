//! The one seam through which every external write goes: deadline, metrics and failpoints hang on an effect's id.
//!
//! It decides nothing about what is written.

use std::future::Future;
use std::time::{Duration, Instant};

use domain::tenancy::failure::{Class, Failure};

use crate::metrics::Metrics;

/// No single effect may take longer; adapters have shorter deadlines of their own, this one is the last resort.
const DEADLINE: Duration = Duration::from_secs(90);
/// The same for helm, which runs the hooks of charts.
pub const HELM_DEADLINE: Duration = Duration::from_secs(360);

/// Performs one effect under its id.
///
/// # Errors
/// The adapter's failure, or [`Class::Unavailable`] when the deadline passed.
pub fn perform<'m, T, F>(
    metrics: &'m Metrics,
    id: &'static str,
    effect: F,
) -> impl Future<Output = Result<T, Failure>> + use<'m, T, F>
where
    F: Future<Output = Result<T, Failure>>,
{
    perform_within(metrics, id, DEADLINE, effect)
}

/// The same with another last resort.
///
/// # Errors
/// As [`perform`].
pub async fn perform_within<T>(
    metrics: &Metrics,
    id: &'static str,
    deadline: Duration,
    effect: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    failpoint(id, "before").await;
    let started = Instant::now();
    let result = tokio::time::timeout(deadline, effect)
        .await
        .unwrap_or_else(|_| {
            Err(Failure::new(
                Class::Unavailable,
                format!("{id} did not end within its deadline"),
            ))
        });
    metrics.effect(
        id,
        result.as_ref().err().map(|failure| failure.class),
        started.elapsed(),
    );
    // A refused effect has no crash after it: there is nothing that could have been done and not heard of.
    if result.is_ok() {
        failpoint(id, "after").await;
    }
    result
}

/// With the `failpoints` feature and `FAILPOINTS=<id>.<point>=return` (`1*return`: once), says so on stderr and never goes on:
/// the crash tests wait for the line and kill the process.
#[cfg(feature = "failpoints")]
async fn failpoint(id: &'static str, point: &'static str) {
    fn is_set(name: &str) -> bool {
        fail::fail_point!(name, |_| true);
        false
    }
    if is_set(&format!("{id}.{point}")) {
        eprintln!("failpoint {id}.{point} reached");
        std::future::pending::<()>().await;
    }
}

/// Reads `FAILPOINTS`; nothing is armed any more once the value is dropped.
#[cfg(feature = "failpoints")]
#[must_use]
pub fn arm() -> fail::FailScenario<'static> {
    fail::FailScenario::setup()
}

#[cfg(not(feature = "failpoints"))]
#[allow(clippy::unused_async)] // the same signature as with failpoints
async fn failpoint(_id: &'static str, _point: &'static str) {}
