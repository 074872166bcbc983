//! What Tenantry wrote to the API server, from the API server's own audit log: refused attempts included.
//!
//! The bed's audit policy notes every write of Tenantry's ServiceAccount and nobody else's.

use std::fs;

use anyhow::ensure;
use e2e::Bed;
use e2e::bed::wait::until;
use e2e::world::tenancy::SOON;
use serde_json::Value;

/// Writes to objects in a namespace, in order, such as `patch postgresqltenants/status`; a refused one has the HTTP code behind it.
pub fn writes(bed: &Bed, namespace: &str) -> Vec<String> {
    noted(bed, "namespace", namespace)
}

/// Writes to an Instance; its events are not among them.
pub fn instance_writes(bed: &Bed, instance: &str) -> Vec<String> {
    noted(bed, "name", instance)
}

fn noted(bed: &Bed, reference: &str, value: &str) -> Vec<String> {
    let log = fs::read_to_string(bed.folder().audit_log()).unwrap_or_default();
    // A line that is still being written counts at the next look.
    let events = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| event["objectRef"][reference] == value)
        .map(|event| described(&event))
        .collect()
}

/// The writes, once their last one is an event: Tenantry says `Ready` first and tells it afterwards.
pub async fn writes_up_to_the_event(bed: &Bed, namespace: &str, before: usize) -> Vec<String> {
    until(SOON, "the event is written", async || {
        let seen = writes(bed, namespace).split_off(before);
        ensure!(
            seen.last().is_some_and(|last| last.ends_with(" events")),
            "{seen:?}"
        );
        Ok(seen)
    })
    .await
    .unwrap()
}

fn described(event: &Value) -> String {
    let text = |pointer: &str| {
        event
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let mut written = format!("{} {}", text("/verb"), text("/objectRef/resource"));
    if !text("/objectRef/subresource").is_empty() {
        written = format!("{written}/{}", text("/objectRef/subresource"));
    }
    match event
        .pointer("/responseStatus/code")
        .and_then(Value::as_i64)
    {
        Some(200..300) => written,
        code => format!("{written} {code:?}"),
    }
}
