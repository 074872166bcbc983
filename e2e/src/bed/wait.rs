//! Waiting for a condition, always with a deadline, always with the last reason in the error.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::process::Ended;

/// How long between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Calls `look` until it gives a value; after `limit` the error says `what` was awaited and what the last look saw. A process that [`Ended`] ends the wait.
pub async fn until<T>(
    limit: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        let error = match tokio::time::timeout(limit, look()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error,
            Err(_) => anyhow!("no answer"),
        };
        if error.is::<Ended>() {
            return Err(error.context(format!("in vain: {what}")));
        }
        if start.elapsed() >= limit {
            return Err(error.context(format!("not within {} s: {what}", limit.as_secs())));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
