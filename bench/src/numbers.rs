//! Medians and percentiles of measured times.

use std::fmt;
use std::time::Duration;

/// Sorted times.
pub struct Spread(Vec<Duration>);

impl Spread {
    /// Of these times.
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that `per_mille` of all times do not exceed.
    fn percentile(&self, per_mille: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        let position = (self.0.len() * per_mille).div_ceil(1000).saturating_sub(1);
        self.0.get(position.min(last)).copied().unwrap_or_default()
    }

    /// The median.
    pub fn median(&self) -> Duration {
        self.percentile(500)
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let longest = self.0.last().copied().unwrap_or_default();
        write!(
            f,
            "p50 {:6.1} ms, p90 {:6.1} ms, p99 {:6.1} ms, longest {:6.1} ms",
            ms(self.median()),
            ms(self.percentile(900)),
            ms(self.percentile(990)),
            ms(longest)
        )
    }
}

/// How many times `own` is `peer`.
pub fn ratio(own: Duration, peer: Duration) -> f64 {
    own.as_secs_f64() / peer.as_secs_f64()
}
