//! How long objects are in a phase, for the metric.
//!
//! It measures what this process saw from beginning to end; nothing is decided by it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::tenancy::names::Uid;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::metrics::Metrics;

/// Objects under way, and since when each is in its phase.
#[derive(Debug, Default)]
pub struct Phases(Mutex<HashMap<Uid, Instant>>);

/// A phase that was saved, and the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Saved {
    /// The object's kind.
    pub kind: &'static str,
    /// The phase before.
    pub from: &'static str,
    /// The phase now; equal if only its condition changed.
    pub to: &'static str,
    /// This is the object's first status: it was in the phase before since it was created.
    pub first: bool,
    /// An object stays in the phase now as long as it likes, so how long is of no interest.
    pub rests: bool,
}

impl Phases {
    /// A status was saved; the metric hears of a phase that ended, if its beginning was seen.
    pub fn saved(&self, metrics: &Metrics, object: &ObjectMeta, saved: Saved) {
        let Some(uid) = object.uid.as_ref().filter(|_| saved.from != saved.to) else {
            return;
        };
        let uid = Uid::new(uid);
        let entered = if saved.rests {
            self.entered().remove(&uid)
        } else {
            self.entered().insert(uid, Instant::now())
        };
        let took = match entered {
            Some(entered) => Some(entered.elapsed()),
            None if saved.first => age(object),
            None => None,
        };
        if let Some(took) = took {
            metrics.transition(saved.kind, (saved.from, saved.to), took);
        }
    }

    /// The object is gone.
    pub fn forget(&self, uid: &Uid) {
        self.entered().remove(uid);
    }

    fn entered(&self) -> MutexGuard<'_, HashMap<Uid, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By the API server's clock and ours, so a few moments may be negative.
fn age(object: &ObjectMeta) -> Option<Duration> {
    let created = object.creation_timestamp.as_ref()?;
    let age = Timestamp::now().duration_since(created.0);
    Some(Duration::try_from(age).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::metrics::Format;

    /// How many transitions were measured, by their phases.
    fn measured(steps: &[(&'static str, &'static str)], first: bool) -> Vec<String> {
        let (metrics, phases) = (Metrics::new(), Phases::default());
        let object = ObjectMeta {
            uid: Some("t-1".to_owned()),
            creation_timestamp: Some(Time(Timestamp::now())),
            ..ObjectMeta::default()
        };
        for (number, (from, to)) in steps.iter().enumerate() {
            let saved = Saved {
                kind: "PostgreSQLTenant",
                from,
                to,
                first: first && number == 0,
                rests: *to == "Ready",
            };
            phases.saved(&metrics, &object, saved);
        }
        let scrape = metrics.encode(Format::Prometheus).unwrap();
        let counts = scrape
            .lines()
            .filter_map(|line| line.strip_prefix("tenantry_phase_transition_seconds_count"));
        let mut counts: Vec<String> = counts.map(str::to_owned).collect();
        counts.sort();
        counts
    }

    #[test]
    fn a_new_object_is_measured_from_its_creation_until_it_rests_and_not_beyond() {
        let steps = [
            ("Pending", "Planned"),
            ("Planned", "Planned"),
            ("Planned", "Ready"),
            ("Ready", "Deleting"),
        ];
        let label = "kind=\"PostgreSQLTenant\"";
        assert_eq!(
            measured(&steps, true),
            [
                format!("{{{label},from=\"Pending\",to=\"Planned\"}} 1"),
                format!("{{{label},from=\"Planned\",to=\"Ready\"}} 1"),
            ]
        );
    }

    #[test]
    fn a_phase_whose_beginning_another_process_saw_is_not_measured() {
        assert_eq!(measured(&[("Planned", "Ready")], false), [""; 0]);
    }
}
