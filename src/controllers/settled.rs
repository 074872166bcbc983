//! Which objects need no look yet: a reconcile that ended is not begun again by the echo of its own writes.
//!
//! It remembers resourceVersions and due times, no facts; a wake-up from outside always wins.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use domain::tenancy::names::Uid;

struct Rest {
    versions: Vec<String>,
    due: Instant,
}

#[derive(Default)]
struct State {
    resting: HashMap<Uid, Rest>,
    woken: HashSet<Uid>,
}

/// See the module text.
#[derive(Default)]
pub struct Settled {
    state: Mutex<State>,
}

impl Settled {
    /// Something that the object depends on changed: its next reconcile is a real one.
    pub fn wake(&self, uid: &Uid) {
        if let Ok(mut state) = self.state.lock() {
            state.woken.insert(uid.clone());
        }
    }

    /// How long the object of this version may still rest; `None` if it needs a look. Takes a wake-up as served.
    pub fn remaining(&self, uid: &Uid, version: &str) -> Option<Duration> {
        let mut state = self.state.lock().ok()?;
        if state.woken.remove(uid) {
            return None;
        }
        let rest = state.resting.get(uid)?;
        let pause = rest.due.saturating_duration_since(Instant::now());
        let own = rest.versions.iter().any(|known| known == version);
        (own && !pause.is_zero()).then_some(pause)
    }

    /// The object rests from now on; `versions` are those that this reconcile read and wrote.
    pub fn rest(&self, uid: Uid, versions: Vec<String>, pause: Duration) {
        if let Ok(mut state) = self.state.lock() {
            state.resting.insert(
                uid,
                Rest {
                    versions,
                    due: Instant::now() + pause,
                },
            );
        }
    }

    /// Drops what is known of an object that is gone.
    pub fn forget(&self, uid: &Uid) {
        if let Ok(mut state) = self.state.lock() {
            state.resting.remove(uid);
            state.woken.remove(uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_rests_and_a_foreign_version_a_wake_up_or_the_due_time_do_not() {
        let settled = Settled::default();
        let uid = Uid::new("a");
        assert_eq!(settled.remaining(&uid, "1"), None);
        settled.rest(
            uid.clone(),
            vec!["1".to_owned(), "2".to_owned()],
            Duration::from_secs(60),
        );
        assert!(settled.remaining(&uid, "2").is_some());
        assert_eq!(settled.remaining(&uid, "3"), None);
        settled.wake(&uid);
        assert_eq!(settled.remaining(&uid, "2"), None);
        assert!(
            settled.remaining(&uid, "2").is_some(),
            "a wake-up is served once"
        );
        settled.rest(uid.clone(), vec!["2".to_owned()], Duration::ZERO);
        assert_eq!(settled.remaining(&uid, "2"), None);
    }
}
