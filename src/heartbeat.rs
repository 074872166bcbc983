//! The loops' heartbeat: a sign of life from the task that drives them, for `/livez`.
//!
//! It notices a task that is blocked or deadlocked. It says nothing about progress: a backend that is away is no reason to be
//! restarted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the heart beats.
const BEAT: Duration = Duration::from_secs(1);
/// Without a beat for this long, the loops are taken for dead.
const DEAD: Duration = Duration::from_secs(30);

/// When the loops were last alive.
#[derive(Clone)]
pub struct Heartbeat(Arc<Mutex<Instant>>);

impl Default for Heartbeat {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Heartbeat {
    /// Beats for as long as it is polled; to be polled by the task that it vouches for.
    pub async fn beat(&self) {
        loop {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            tokio::time::sleep(BEAT).await;
        }
    }

    /// How long ago the last beat was.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }

    /// True if the loops gave a sign of life lately.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.age() < DEAD
    }

    #[cfg(test)]
    fn stalled_for(age: Duration) -> Option<Self> {
        let then = Instant::now().checked_sub(age)?;
        Some(Self(Arc::new(Mutex::new(then))))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use super::*;

    #[tokio::test]
    async fn a_heart_that_stopped_is_noticed_and_one_that_beats_again_is_alive() {
        let heartbeat = Heartbeat::stalled_for(DEAD + BEAT).expect("the machine is up for longer");
        assert!(!heartbeat.is_alive());
        let beating = heartbeat.clone();
        let task = tokio::spawn(async move { beating.beat().await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(heartbeat.is_alive());
        task.abort();
    }
}
