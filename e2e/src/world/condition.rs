//! Status conditions: reading one, and waiting for one.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::api::{Api, DynamicObject};
use serde::Deserialize;

use crate::bed::wait::until;

/// A condition of an object's status.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Condition {
    /// `Ready`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason, in one word.
    #[serde(default)]
    pub reason: String,
    /// What a person reads.
    #[serde(default)]
    pub message: String,
    /// The generation that was judged.
    #[serde(rename = "observedGeneration")]
    pub observed_generation: Option<i64>,
}

/// The condition of that type, if the object has it.
#[must_use]
pub fn condition(object: &DynamicObject, kind: &str) -> Option<Condition> {
    let conditions = object.data.pointer("/status/conditions")?.clone();
    let conditions: Vec<Condition> = serde_json::from_value(conditions).ok()?;
    conditions
        .into_iter()
        .find(|condition| condition.kind == kind)
}

/// Waits until the condition has this status for the object's present generation, and gives the object.
pub async fn await_condition(
    objects: &Api<DynamicObject>,
    name: &str,
    kind: &str,
    status: &str,
    limit: Duration,
) -> Result<DynamicObject> {
    await_object(
        objects,
        name,
        &format!("{kind}={status}"),
        limit,
        |object| {
            let Some(condition) = condition(object, kind) else {
                return false;
            };
            let current = condition
                .observed_generation
                .is_none_or(|seen| Some(seen) == object.metadata.generation);
            current && condition.status == status
        },
    )
    .await
}

/// Waits until the condition has this reason, and gives the object.
pub async fn await_reason(
    objects: &Api<DynamicObject>,
    name: &str,
    kind: &str,
    reason: &str,
    limit: Duration,
) -> Result<DynamicObject> {
    await_object(
        objects,
        name,
        &format!("{kind} with reason {reason}"),
        limit,
        |object| condition(object, kind).is_some_and(|condition| condition.reason == reason),
    )
    .await
}

/// Waits until the object is as `wanted` says, described by `what`; an error shows its last status.
pub async fn await_object(
    objects: &Api<DynamicObject>,
    name: &str,
    what: &str,
    limit: Duration,
    wanted: impl Fn(&DynamicObject) -> bool,
) -> Result<DynamicObject> {
    until(limit, &format!("{name} is {what}"), async || {
        let object = objects.get(name).await?;
        ensure!(
            wanted(&object),
            "its status is {:#}",
            object.data.get("status").cloned().unwrap_or_default()
        );
        Ok(object)
    })
    .await
}

/// Waits until the object is gone.
pub async fn await_gone(objects: &Api<DynamicObject>, name: &str, limit: Duration) -> Result<()> {
    until(limit, &format!("{name} is gone"), async || {
        let object = objects.get_opt(name).await.context("reading it")?;
        let Some(object) = object else { return Ok(()) };
        anyhow::bail!(
            "it is still there, finalizers {:?}, status {:#}",
            object.metadata.finalizers.unwrap_or_default(),
            object.data.get("status").cloned().unwrap_or_default(),
        )
    })
    .await
}
