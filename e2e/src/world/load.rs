//! Requests in a loop, and what became of each.
//!
//! Decides how they are counted and when they stop; what is asked, and what counts as a failure, is the story's. It asserts nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinHandle;

/// Between a request and the next one of the same caller.
const PAUSE: Duration = Duration::from_millis(10);

/// Load that runs until it is asked for its result.
pub struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    callers: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    /// So many callers make a request again and again; each request is told its number, counted from 0.
    pub fn of<F>(callers: usize, request: impl Fn(u64) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<()>> + Send,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let (begun, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let request = Arc::new(request);
        let callers = (0..callers).map(|_| {
            let (stop, request) = (Arc::clone(&stop), Arc::clone(&request));
            let (begun, done) = (Arc::clone(&begun), Arc::clone(&done));
            tokio::spawn(async move {
                let mut failures = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let number = begun.fetch_add(1, Ordering::Relaxed);
                    if let Err(error) = request(number).await {
                        failures.push(format!("request {number}: {error:#}"));
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(PAUSE).await;
                }
                failures
            })
        });
        Self {
            callers: callers.collect(),
            stop,
            done,
        }
    }

    /// Waits until so many more requests were made.
    pub async fn further(&self, count: u64) {
        let enough = self.done.load(Ordering::Relaxed) + count;
        while self.done.load(Ordering::Relaxed) < enough {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends it: how many requests were made, and what each that failed said.
    ///
    /// # Errors
    /// A request that panicked.
    pub async fn end(self) -> Result<(u64, Vec<String>)> {
        self.stop.store(true, Ordering::Relaxed);
        let mut failures = Vec::new();
        for caller in self.callers {
            failures.extend(caller.await?);
        }
        Ok((self.done.load(Ordering::Relaxed), failures))
    }
}
