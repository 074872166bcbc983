//! One condition of an object that has several writers.
//!
//! Decides when `lastTransitionTime` moves, and that conditions of others are kept. What a condition says is the domain's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// What a condition says now.
pub(super) struct Said<'s> {
    pub(super) type_: &'s str,
    pub(super) is_true: bool,
    pub(super) reason: &'s str,
    pub(super) message: &'s str,
}

/// The conditions to write; `lastTransitionTime` moves only with the condition's status.
pub(super) fn merge(
    previous: &[Condition],
    said: &Said<'_>,
    generation: Option<i64>,
    now: &Time,
) -> Vec<Condition> {
    let mut next = Condition {
        last_transition_time: now.clone(),
        message: said.message.to_owned(),
        observed_generation: generation,
        reason: said.reason.to_owned(),
        status: if said.is_true { "True" } else { "False" }.to_owned(),
        type_: said.type_.to_owned(),
    };
    let mut merged = previous.to_vec();
    match merged.iter_mut().find(|one| one.type_ == said.type_) {
        None => merged.push(next),
        Some(before) => {
            if before.status == next.status {
                next.last_transition_time = before.last_transition_time.clone();
            }
            *before = next;
        }
    }
    merged
}

/// The condition of this type with a status that is one of ours.
pub(super) fn find<'c>(conditions: &'c [Condition], type_: &str) -> Option<(&'c Condition, bool)> {
    let condition = conditions.iter().find(|one| one.type_ == type_)?;
    match condition.status.as_str() {
        "True" => Some((condition, true)),
        "False" => Some((condition, false)),
        _ => None,
    }
}
