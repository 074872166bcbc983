//! The `Ready` condition and the phase on the wire.
//!
//! Decides when `lastTransitionTime` moves (C6), how long a message may be, and that conditions of others are kept. What
//! `Ready` says is the domain's.

use domain::tenancy::reason::{Ready, Reason};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The type of the one condition that both kinds promise (C6).
pub const READY: &str = "Ready";
/// The most conditions that an object may carry, those of others included.
pub const CONDITIONS_MAX: usize = 32;

/// The `Ready` condition among these.
#[must_use]
pub fn ready(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.type_ == READY)
}

/// The reason of the `Ready` condition, if it is one of ours.
#[must_use]
pub fn ready_reason(conditions: &[Condition]) -> Option<Reason> {
    ready(conditions).and_then(|condition| Reason::parse(&condition.reason))
}

/// What the `Ready` condition says. A condition whose reason is unknown, or does not go with its status, was not written
/// by us and counts as absent.
#[must_use]
pub fn read_ready(conditions: &[Condition]) -> Option<Ready> {
    let condition = ready(conditions)?;
    let said = Ready::new(Reason::parse(&condition.reason)?, condition.message.clone());
    (said.status().as_str() == condition.status).then_some(said)
}

/// `status.phase` to write. A missing phase means the first one; it is written down together with the first condition, so that
/// people see it, and never by a write of its own.
pub(crate) fn phase_to_write<P: Default + PartialEq>(
    present: Option<&str>,
    said: Option<&Ready>,
    phase: P,
    name: fn(P) -> &'static str,
) -> Option<String> {
    let shown = present.is_some() || said.is_some() || phase != P::default();
    shown.then(|| name(phase).to_owned())
}

/// Which spec a condition speaks of.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// `metadata.generation` of the object that the round read.
    pub generation: i64,
    /// The round ended with a conclusion, so that `status.observedGeneration` is that generation.
    pub concluded: bool,
}

/// The conditions to write: conditions of others as they were, ours as `said`. `lastTransitionTime` moves only with the
/// condition's status (C6). What says the same as before stays as it was until a round concludes, so that an old `Ready`
/// is never dated to a spec that nobody judged yet.
#[must_use]
pub fn merge(
    previous: &[Condition],
    said: Option<&Ready>,
    round: Round,
    now: &Time,
) -> Vec<Condition> {
    let mut merged: Vec<Condition> = previous.to_vec();
    let Some(said) = said else {
        merged.retain(|condition| condition.type_ != READY);
        return merged;
    };
    let mut next = Condition {
        last_transition_time: now.clone(),
        message: said.message.clone(),
        observed_generation: Some(round.generation),
        reason: said.reason.as_str().to_owned(),
        status: said.status().as_str().to_owned(),
        type_: READY.to_owned(),
    };
    let Some(before) = merged.iter_mut().find(|condition| condition.type_ == READY) else {
        merged.push(next);
        return merged;
    };
    if before.status == next.status {
        next.last_transition_time = before.last_transition_time.clone();
        let same = before.reason == next.reason && before.message == next.message;
        if same && !round.concluded {
            next.observed_generation = before.observed_generation;
        }
    }
    *before = next;
    merged
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use k8s_openapi::jiff::Timestamp;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn round(generation: i64, concluded: bool) -> Round {
        Round {
            generation,
            concluded,
        }
    }

    #[test]
    fn c6_last_transition_time_moves_only_with_the_status() {
        let first = merge(
            &[],
            Some(&Ready::new(Reason::Conflict, "a")),
            round(1, true),
            &at(10),
        );
        let second = merge(
            &first,
            Some(&Ready::new(Reason::InvalidSpec, "b")),
            round(2, true),
            &at(20),
        );
        assert_eq!(second[0].last_transition_time, at(10));
        assert_eq!(
            (second[0].reason.as_str(), second[0].message.as_str()),
            ("InvalidSpec", "b")
        );
        assert_eq!(second[0].observed_generation, Some(2));
        let third = merge(
            &second,
            Some(&Ready::new(Reason::Ready, "c")),
            round(2, true),
            &at(30),
        );
        assert_eq!(third[0].last_transition_time, at(30));
    }

    #[test]
    fn conditions_of_others_are_kept_in_place() {
        let other = Condition {
            type_: "Backup".to_owned(),
            status: "True".to_owned(),
            ..ours(Reason::Ready)
        };
        let merged = merge(
            &[other.clone(), ours(Reason::Ready)],
            None,
            round(1, true),
            &at(1),
        );
        assert_eq!(merged, std::slice::from_ref(&other));
        let merged = merge(
            &merged,
            Some(&Ready::new(Reason::Ready, "x")),
            round(1, true),
            &at(1),
        );
        assert_eq!(merged.len(), 2);
        assert_eq!(merged[0], other);
    }

    #[test]
    fn an_unconcluded_round_does_not_date_an_old_condition_to_the_new_spec() {
        let said = Ready::new(Reason::Ready, "x");
        let first = merge(&[], Some(&said), round(1, true), &at(1));
        assert_eq!(merge(&first, Some(&said), round(2, false), &at(2)), first);
        assert_eq!(
            merge(&first, Some(&said), round(2, true), &at(2))[0].observed_generation,
            Some(2)
        );
    }

    #[test]
    fn c7_a_forged_condition_counts_as_absent() {
        assert!(read_ready(&[ours(Reason::Ready)]).is_some());
        assert!(
            read_ready(&[Condition {
                status: "True".to_owned(),
                ..ours(Reason::Conflict)
            }])
            .is_none()
        );
        assert!(
            read_ready(&[Condition {
                reason: "Fine".to_owned(),
                ..ours(Reason::Ready)
            }])
            .is_none()
        );
    }

    fn ours(reason: Reason) -> Condition {
        merge(&[], Some(&Ready::new(reason, "")), round(1, true), &at(1)).remove(0)
    }
}
