//! Which objects need no look yet: a reconcile that ended is not begun again by the echo of its own writes.
//!
//! It remembers resourceVersions and due times, no facts; a wake-up from outside always wins.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use domain::tenancy::names::Uid;

struct Rest {
    /// With spaces between: there is one of these for every object, and a version by itself takes an allocation.
    versions: Box<str>,
    /// The latest version of the object that it watches over, as this reconcile saw it.
    beside: Option<u64>,
    due: Instant,
}

/// Why an object is looked at though its own version is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// The object that it watches over has this version now.
    Beside(u64),
    /// Anything else.
    Outside,
}

#[derive(Default)]
struct State {
    resting: HashMap<Uid, Rest>,
    woken: HashMap<Uid, Wake>,
}

/// See the module text.
#[derive(Default)]
pub struct Settled {
    state: Mutex<State>,
}

impl Settled {
    /// Something that the object depends on changed: its next reconcile is a real one.
    pub fn wake(&self, uid: &Uid) {
        self.note(uid, Wake::Outside);
    }

    /// The object that it watches over has this resourceVersion: a real reconcile, unless the last one saw that version or a
    /// later one. Versions of one object grow; one that is no number always wakes.
    pub fn wake_at(&self, uid: &Uid, version: &str) {
        self.note(uid, version.parse().map_or(Wake::Outside, Wake::Beside));
    }

    fn note(&self, uid: &Uid, wake: Wake) {
        if let Ok(mut state) = self.state.lock() {
            let noted = state.woken.entry(uid.clone()).or_insert(wake);
            *noted = match (*noted, wake) {
                (Wake::Beside(before), Wake::Beside(now)) => Wake::Beside(before.max(now)),
                _ => Wake::Outside,
            };
        }
    }

    /// How long the object of this version may still rest; `None` if it needs a look. Takes a wake-up as served.
    pub fn remaining(&self, uid: &Uid, version: &str) -> Option<Duration> {
        let mut state = self.state.lock().ok()?;
        let wake = state.woken.remove(uid);
        let rest = state.resting.get(uid)?;
        match wake {
            Some(Wake::Outside) => return None,
            Some(Wake::Beside(now)) if rest.beside.is_none_or(|seen| seen < now) => return None,
            _ => {}
        }
        let pause = rest.due.saturating_duration_since(Instant::now());
        let own = rest.versions.split(' ').any(|known| known == version);
        (own && !pause.is_zero()).then_some(pause)
    }

    /// The object rests from now on; `versions` are those that this reconcile read and wrote, `beside` the one of the object
    /// that it watches over.
    pub fn rest(&self, uid: Uid, versions: &[String], beside: Option<String>, pause: Duration) {
        if let Ok(mut state) = self.state.lock() {
            state.resting.insert(
                uid,
                Rest {
                    versions: versions.join(" ").into_boxed_str(),
                    beside: beside.and_then(|version| version.parse().ok()),
                    due: Instant::now() + pause,
                },
            );
        }
    }

    /// The objects that rested long enough by `now`. Each is named once: its rest is over.
    pub fn due(&self, now: Instant) -> HashSet<Uid> {
        let Ok(mut state) = self.state.lock() else {
            return HashSet::new();
        };
        let over = state.resting.extract_if(|_, rest| rest.due <= now);
        over.map(|(uid, _)| uid).collect()
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
            &["1".to_owned(), "2".to_owned()],
            None,
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
        settled.rest(uid.clone(), &["2".to_owned()], None, Duration::ZERO);
        assert_eq!(settled.remaining(&uid, "2"), None);
    }

    #[test]
    fn d15_a_rest_that_is_over_is_named_once_and_none_before_its_time() {
        let settled = Settled::default();
        let (soon, late) = (Uid::new("a"), Uid::new("b"));
        let now = Instant::now();
        for (uid, pause) in [(&soon, 60), (&late, 600)] {
            let pause = Duration::from_secs(pause);
            settled.rest(uid.clone(), &["1".to_owned()], None, pause);
        }
        assert!(settled.due(now).is_empty());
        let later = now + Duration::from_secs(120);
        assert_eq!(settled.due(later), HashSet::from([soon.clone()]));
        assert!(settled.due(later).is_empty());
        assert_eq!(settled.remaining(&soon, "1"), None, "it is looked at");
        assert!(settled.remaining(&late, "1").is_some());
    }

    #[test]
    fn a_version_beside_it_that_was_seen_wakes_nobody_and_a_later_one_does() {
        let settled = Settled::default();
        let uid = Uid::new("a");
        let rest = |beside: Option<&str>| {
            let (versions, beside) = (["1".to_owned()], beside.map(str::to_owned));
            settled.rest(uid.clone(), &versions, beside, Duration::from_secs(60));
        };
        settled.wake_at(&uid, "7");
        assert_eq!(settled.remaining(&uid, "1"), None, "nothing rests yet");
        settled.wake_at(&uid, "8");
        settled.wake_at(&uid, "7");
        rest(Some("8"));
        assert!(settled.remaining(&uid, "1").is_some());
        settled.wake_at(&uid, "9");
        settled.wake_at(&uid, "8");
        assert_eq!(settled.remaining(&uid, "1"), None);
        for foreign in ["x", ""] {
            settled.wake_at(&uid, foreign);
            assert_eq!(settled.remaining(&uid, "1"), None);
        }
        settled.wake(&uid);
        settled.wake_at(&uid, "8");
        assert_eq!(settled.remaining(&uid, "1"), None, "the other reason stays");
        rest(None);
        settled.wake_at(&uid, "8");
        assert_eq!(settled.remaining(&uid, "1"), None, "it was not looked at");
    }
}
