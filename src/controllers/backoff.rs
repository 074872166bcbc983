//! When an object is looked at again: per-object exponential back-off, the slow timer, jitter.
//!
//! Turns the domain's [`Retry`] into a duration (D15). It decides no reason.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use domain::tenancy::names::Uid;
use domain::tenancy::reason::Retry;
use rand::RngExt;

const FIRST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(30);

/// Failures in a row, by object UID.
pub struct Backoff {
    slow: Duration,
    first: Duration,
    most: Duration,
    failures: Mutex<HashMap<Uid, u32>>,
}

impl Backoff {
    /// With this slow timer.
    #[must_use]
    pub fn new(slow: Duration) -> Self {
        Self::between(slow, (FIRST, MOST))
    }

    /// With this slow timer, and from the first pause to the longest.
    #[must_use]
    pub fn between(slow: Duration, (first, most): (Duration, Duration)) -> Self {
        Self {
            slow,
            first,
            most,
            failures: Mutex::new(HashMap::new()),
        }
    }

    /// How long to wait. Only [`Retry::Backoff`] counts as a failure; everything else resets the count.
    pub fn after(&self, uid: &Uid, retry: Retry) -> Duration {
        match retry {
            Retry::Slow => {
                self.forget(uid);
                jittered(self.slow, 0.1)
            }
            Retry::After(pause) => {
                self.forget(uid);
                pause
            }
            Retry::Backoff => jittered(self.next(uid), 0.2),
        }
    }

    /// Drops what is known of an object that is gone.
    pub fn forget(&self, uid: &Uid) {
        if let Ok(mut failures) = self.failures.lock() {
            failures.remove(uid);
        }
    }

    fn next(&self, uid: &Uid) -> Duration {
        let Ok(mut failures) = self.failures.lock() else {
            return self.most;
        };
        let count = failures.entry(uid.clone()).or_insert(0);
        let pause = self.first.saturating_mul(1 << (*count).min(16));
        *count = count.saturating_add(1);
        pause.min(self.most)
    }
}

fn jittered(pause: Duration, share: f64) -> Duration {
    pause.mul_f64(1.0 + rand::rng().random_range(-share..share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d15_back_off_doubles_from_1_s_to_30_s_per_object_and_resets_on_success() {
        let backoff = Backoff::new(Duration::from_secs(600));
        let (a, b) = (Uid::new("a"), Uid::new("b"));
        let expected = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0];
        for seconds in expected {
            let pause = backoff.after(&a, Retry::Backoff).as_secs_f64();
            assert!(
                (seconds * 0.8..=seconds * 1.2).contains(&pause),
                "{pause} for {seconds}"
            );
        }
        assert!(
            backoff.after(&b, Retry::Backoff) < Duration::from_secs(2),
            "another object has its own count"
        );
        let slow = backoff.after(&a, Retry::Slow).as_secs_f64();
        assert!((540.0..=660.0).contains(&slow), "{slow}");
        assert!(
            backoff.after(&a, Retry::Backoff) < Duration::from_secs(2),
            "success resets the count"
        );
    }

    #[test]
    fn applications_wait_from_15_s_to_2_h() {
        let range = (Duration::from_secs(15), Duration::from_secs(7200));
        let backoff = Backoff::between(Duration::from_secs(600), range);
        let uid = Uid::new("a");
        for seconds in [
            15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3840.0, 7200.0, 7200.0,
        ] {
            let pause = backoff.after(&uid, Retry::Backoff).as_secs_f64();
            assert!(
                (seconds * 0.8..=seconds * 1.2).contains(&pause),
                "{pause} for {seconds}"
            );
        }
    }
}
