//! A Tenant's rounds against a Kubernetes API that is a function.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::fixture::{Objects, Stage, TENANT, instance, object, tenant};
use super::*;

async fn look(stage: &Stage) {
    let object = object(tenant());
    let Ok(_action) = reconcile(Arc::new(object), Arc::clone(&stage.context)).await;
}

/// Reason and message of each status that was written.
fn said(stage: &Stage) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let writes = stage.writes();
    let statuses = writes.iter().filter(|(line, _)| line.ends_with("/status"));
    statuses
        .map(|(_, value)| &value["conditions"][0])
        .map(|ready| (text(&ready["reason"]), text(&ready["message"])))
        .collect()
}

/// Being deleted with the policy `Delete`, which takes a status of its own first.
fn going() -> Value {
    let mut object = tenant();
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    object["metadata"]["finalizers"] = json!([crate::adapters::kubernetes::FINALIZER]);
    object["spec"]["deletionPolicy"] = json!("Delete");
    object
}

#[tokio::test]
async fn a_tenant_of_an_instance_that_cannot_be_read_says_so_and_not_that_there_is_none() {
    for (cached, words) in [(true, "cannot be read"), (false, "does not exist")] {
        let objects = Objects::new(&[(TENANT, tenant())]);
        let mut stage = Stage::new(move |asked| objects.answer(asked));
        if cached {
            let mut unreadable = instance();
            unreadable["spec"] = json!({"endpoint": "pg.example.org:5432"});
            stage.cache(unreadable);
        }
        look(&stage).await;
        let (reason, message) = said(&stage).pop().unwrap();
        assert_eq!(reason, "InstanceNotReady");
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn a_tenants_failure_makes_its_instance_be_looked_at_at_once() {
    let objects = Objects::new(&[(TENANT, tenant())]);
    let mut stage = Stage::new(move |asked| objects.answer(asked));
    stage.cache(instance());
    look(&stage).await;
    assert_eq!(stage.to_check.try_recv().as_deref(), Ok("shared"));
    let (reason, message) = said(&stage).pop().unwrap();
    assert_eq!(reason, "InstanceNotReady");
    assert!(message.contains("shared is not ready"), "{message}");
}

#[tokio::test]
async fn a_tenant_of_an_instance_that_is_not_ready_dials_nothing() {
    let objects = Objects::new(&[(TENANT, tenant())]);
    let mut stage = Stage::new(move |asked| objects.answer(asked));
    let mut away = instance();
    away["status"]["conditions"][0]["status"] = json!("False");
    away["status"]["conditions"][0]["reason"] = json!("DependencyUnavailable");
    stage.cache(away);
    look(&stage).await;
    assert_eq!(said(&stage).pop().unwrap().0, "InstanceNotReady");
    assert!(!stage.context.postgres.knows(&Uid::new("i-1")));
}

#[tokio::test]
async fn an_observation_that_was_stale_is_made_anew_from_the_object_as_it_is_now() {
    let stage = Stage::losing_first_write(Objects::new(&[(TENANT, tenant())]));
    look(&stage).await;
    assert_eq!(stage.count(&format!("GET {TENANT}")), 2);
    let reasons: Vec<_> = said(&stage).into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["InstanceNotReady", "InstanceNotReady"]);
}

#[tokio::test]
async fn what_was_seen_before_the_object_changed_is_not_believed_after_it() {
    let mut stage = Stage::losing_first_write(Objects::new(&[(TENANT, tenant())]));
    stage.cache(instance());
    look(&stage).await;
    assert_eq!(stage.count(&format!("GET {TENANT}")), 2);
    assert_eq!(stage.count(&external_secret()), 2);
}

/// The question for the Tenant's ExternalSecret.
fn external_secret() -> String {
    let name = domain::tenancy::names::derived_secret_name("shared", "app");
    format!("GET /apis/external-secrets.io/v1/namespaces/team-a/externalsecrets/{name}")
}

#[tokio::test]
async fn no_round_begins_once_the_process_is_asked_to_end() {
    for (cancels, written) in [(false, 2), (true, 1)] {
        let objects = Objects::new(&[(TENANT, going())]);
        let stop = CancellationToken::new();
        let asked_to_end = stop.clone();
        let mut stage = Stage::new(move |asked| {
            if cancels && asked.line.starts_with("PATCH") {
                asked_to_end.cancel();
            }
            objects.answer(asked)
        });
        Arc::get_mut(&mut stage.context).unwrap().stop = stop;
        look(&stage).await;
        assert_eq!(stage.writes().len(), written, "{:?}", said(&stage));
    }
}
