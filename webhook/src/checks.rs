//! The packages' own settings checks (section 8, step 5): the port, and how many of them run at once.
//!
//! Decides turns and deadline: one check at a time for an Application, a few for a replica, none of them counted as admission. What a
//! check is and how it runs is the port's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::packages::names::VersionId;
use domain::settings::admission::{Bundle, HookAnswer};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{OwnedMutexGuard, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::limits::Limits;

/// Whose settings a check is asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The Application's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The version that is installed, and stays.
    pub version: VersionId,
    /// The effective settings.
    pub settings: Value,
}

/// The settings checks of the bundles that are loaded on this replica.
pub trait SettingsChecks: Send + Sync {
    /// Whether the bundle of a version is loaded here and has a check; answered from memory. Nothing is loaded for a request.
    fn bundle(&self, version: &VersionId) -> Bundle;

    /// Asks the check. Dropping the future ends it: whatever runs for it is killed. `Err` says why there is no answer, fit to be shown.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<HookAnswer, String>>;
}

/// No bundle is loaded: checks run when settings are applied.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChecks;

impl SettingsChecks for NoChecks {
    fn bundle(&self, _: &VersionId) -> Bundle {
        Bundle::NotLoaded
    }

    fn ask(&self, _: Question) -> BoxFuture<'static, Result<HookAnswer, String>> {
        Box::pin(std::future::ready(Err(
            "its bundle is not loaded here".to_owned()
        )))
    }
}

type Key = (String, String);
type Turns = Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>;

/// Turns of checks.
#[derive(Debug)]
pub(crate) struct Checks {
    running: Semaphore,
    by_application: Turns,
    limits: Limits,
}

impl Checks {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            running: Semaphore::new(limits.checks.min(Semaphore::MAX_PERMITS)),
            by_application: Mutex::default(),
            limits: *limits,
        }
    }

    /// The check's answer, or why there is none, before `deadline`.
    pub(crate) async fn ask(
        &self,
        port: &dyn SettingsChecks,
        question: Question,
        deadline: Instant,
    ) -> Result<HookAnswer, String> {
        let most = self.limits.check;
        let until = deadline.min(Instant::now() + most);
        let key = (question.namespace.clone(), question.name.clone());
        let Ok(_turn) = timeout_at(until, self.turn(key)).await else {
            return Err("an earlier check of this Application is still running: try again".into());
        };
        let Ok(_running) = timeout_at(until, self.running.acquire()).await else {
            return Err("too many checks are running: try again".into());
        };
        timeout_at(until, port.ask(question))
            .await
            .unwrap_or_else(|_| Err(format!("it gave no answer within {most:?}")))
    }

    /// The Application's turn; held by who asks, and forgotten once nobody waits for it.
    async fn turn(&self, key: Key) -> Turn<'_> {
        let lock = {
            let mut by_application = self.lock();
            Arc::clone(by_application.entry(key.clone()).or_default())
        };
        // Made before waiting, so that a caller that goes away tidies up too.
        let mut turn = Turn {
            turns: &self.by_application,
            key,
            guard: None,
        };
        turn.guard = Some(lock.lock_owned().await);
        turn
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<tokio::sync::Mutex<()>>>> {
        self.by_application
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

struct Turn<'t> {
    turns: &'t Turns,
    key: Key,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.guard = None;
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // The map's own is the last: nobody holds or awaits it.
        if turns
            .get(&self.key)
            .is_some_and(|lock| Arc::strong_count(lock) == 1)
        {
            turns.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::FutureExt as _;
    use futures::future::join_all;

    use super::*;

    /// Takes its time, and knows how many ran at once.
    #[derive(Default)]
    struct Slow {
        now: Arc<AtomicUsize>,
        most: Arc<AtomicUsize>,
    }

    struct Running(Arc<AtomicUsize>);

    impl Drop for Running {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    impl SettingsChecks for Slow {
        fn bundle(&self, _: &VersionId) -> Bundle {
            Bundle::WithCheck
        }

        fn ask(&self, question: Question) -> BoxFuture<'static, Result<HookAnswer, String>> {
            let (now, most) = (Arc::clone(&self.now), Arc::clone(&self.most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let _running = Running(now);
                let time = question.settings.as_u64().unwrap_or_default();
                tokio::time::sleep(Duration::from_millis(time)).await;
                Ok(HookAnswer {
                    valid: true,
                    message: String::new(),
                    warnings: Vec::new(),
                })
            }
            .boxed()
        }
    }

    fn question(name: &str, milliseconds: u64) -> Question {
        Question {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            version: VersionId {
                repository: "local".to_owned(),
                package: "shop".to_owned(),
                version: "v1.0.0".to_owned(),
            },
            settings: milliseconds.into(),
        }
    }

    fn late() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[tokio::test]
    async fn one_check_runs_for_an_application_and_four_for_a_replica() {
        let (checks, slow) = (Checks::new(&Limits::default()), Slow::default());
        let same = join_all((0..3).map(|_| checks.ask(&slow, question("a", 20), late()))).await;
        assert!(same.iter().all(Result::is_ok));
        assert_eq!(slow.most.swap(0, Ordering::SeqCst), 1);
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let many = names.map(|name| checks.ask(&slow, question(name, 100), late()));
        assert!(join_all(many).await.iter().all(Result::is_ok));
        assert_eq!(slow.most.load(Ordering::SeqCst), 4);
        assert!(checks.lock().is_empty());
    }

    #[tokio::test]
    async fn a_check_that_gives_no_answer_in_time_is_ended_and_says_so() {
        let limits = Limits {
            check: Duration::from_millis(100),
            ..Limits::default()
        };
        let (checks, slow) = (Checks::new(&limits), Slow::default());
        let said = checks.ask(&slow, question("a", 60_000), late()).await;
        assert_eq!(said.unwrap_err(), "it gave no answer within 100ms");
        assert_eq!(slow.now.load(Ordering::SeqCst), 0);
        let soon = Instant::now() + Duration::from_millis(30);
        let first = checks.ask(&slow, question("a", 60_000), late());
        let second = async {
            tokio::task::yield_now().await;
            checks.ask(&slow, question("a", 0), soon).await
        };
        let (_, second) = futures::future::join(first, second).await;
        assert!(second.unwrap_err().contains("still running"));
        assert!(checks.lock().is_empty());
    }

    #[tokio::test]
    async fn without_bundles_nothing_is_loaded() {
        let bundle = NoChecks.bundle(&question("a", 0).version);
        assert_eq!(bundle, Bundle::NotLoaded);
        assert!(NoChecks.ask(question("a", 0)).await.is_err());
    }
}
