//! An Instance's rounds against a Kubernetes API that is a function.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use domain::tenancy::failure::Failure;
use serde_json::{Value, json};

use super::super::fixture::{
    INSTANCE, Objects, SECRET, Stage, TENANT, instance, object, status, tenant,
};
use super::*;

async fn look(stage: &Stage) {
    let object = object(instance());
    let Ok(_action) = reconcile(Arc::new(object), Arc::clone(&stage.context)).await;
}

fn stage(objects: &Arc<Objects>) -> Stage {
    let objects = Arc::clone(objects);
    Stage::new(move |asked| objects.answer(asked))
}

/// Being deleted, with a spec that no rule of today lets through.
fn illegal_and_going() -> Value {
    let mut object = instance();
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    object["spec"]["endpoint"]["hostaddr"] = json!("no address");
    object
}

fn without_status() -> Value {
    let mut object = instance();
    object.as_object_mut().unwrap().remove("status");
    object
}

/// The message in the status that was written last.
fn said(stage: &Stage) -> String {
    let (line, value) = stage.writes().pop().unwrap();
    assert_eq!(line, format!("PATCH {INSTANCE}/status"));
    value["conditions"][0]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Tenants hold it: said, and the finalizer stays; without them it goes.
async fn is_held_and_let_go(holder: Value) {
    let objects = Objects::new(&[(INSTANCE, illegal_and_going()), (TENANT, holder)]);
    let stage = stage(&objects);
    look(&stage).await;
    assert_eq!(stage.writes().len(), 1, "the finalizer stays");
    assert!(said(&stage).contains("team-a/app"), "{}", said(&stage));
    objects.set(TENANT, None);
    stage.context.settled.wake(&Uid::new("i-1"));
    look(&stage).await;
    let (line, finalizers) = stage.writes().pop().unwrap();
    assert_eq!((line, finalizers), (format!("PATCH {INSTANCE}"), json!([])));
}

#[tokio::test]
async fn i8_an_instance_that_goes_with_an_illegal_spec_is_still_held_by_its_tenants() {
    is_held_and_let_go(tenant()).await;
}

#[tokio::test]
async fn i8_a_tenant_that_cannot_be_decoded_counts_as_a_reference() {
    let mut broken = tenant();
    broken["spec"] = json!({"instanceRef": {"name": "shared"}});
    is_held_and_let_go(broken).await;
}

#[tokio::test]
async fn i8_references_that_cannot_be_counted_hold_too() {
    let objects = Objects::new(&[(INSTANCE, illegal_and_going())]);
    let stage = Stage::new(move |asked| {
        if asked.line.ends_with("postgresqltenants") {
            return status(500, "InternalError");
        }
        objects.answer(asked)
    });
    look(&stage).await;
    assert_eq!(stage.writes(), []);
}

#[test]
fn i12_a_look_that_lost_its_pool_is_no_observation_but_a_reason_to_load_again() {
    let definition = InstanceDefinition::parse(
        &object::<PostgreSQLInstance>(instance()).spec.draft(),
        &domain::tenancy::endpoint::AddressPolicy::default(),
    );
    let seen: PostgreSQLInstance = object(instance());
    let aggregate = Instance::reconstitute(
        seen.identity().unwrap(),
        1,
        definition.unwrap(),
        seen.snapshot(),
        false,
    );
    let failed = |class| unreached(&aggregate, Failure::new(class, "x"));
    assert!(matches!(current(failed(Class::Stale)), Err(Stop::Reload)));
    assert!(current(failed(Class::Unavailable)).is_ok());
}

#[tokio::test]
async fn a_status_that_lost_a_race_is_decided_anew_from_the_object_as_it_is_now() {
    let stage = Stage::losing_first_write(Objects::new(&[(INSTANCE, without_status())]));
    look(&stage).await;
    assert_eq!(stage.count(&format!("GET {INSTANCE}")), 2);
    let phases = stage.writes();
    let phases: Vec<_> = phases.iter().map(|(_, value)| &value["phase"]).collect();
    assert_eq!(phases, ["Validating", "Validating", "Validating"]);
    assert!(
        said(&stage).contains("could not connect"),
        "{}",
        said(&stage)
    );
}

#[tokio::test]
async fn no_round_begins_once_the_process_is_asked_to_end() {
    let objects = Objects::new(&[(INSTANCE, without_status())]);
    let stop = tokio_util::sync::CancellationToken::new();
    let asked_to_end = stop.clone();
    let mut stage = Stage::new(move |asked| {
        if asked.line.starts_with("PATCH") {
            asked_to_end.cancel();
        }
        objects.answer(asked)
    });
    Arc::get_mut(&mut stage.context).unwrap().stop = stop;
    look(&stage).await;
    assert_eq!(stage.writes().len(), 1, "the round under way is finished");
    assert_eq!(
        stage.count(&format!("GET {SECRET}")),
        0,
        "the next one is not begun"
    );
}

#[tokio::test]
async fn an_instance_that_is_gone_is_forgotten_with_its_login_and_its_pool() {
    let objects = Objects::new(&[(INSTANCE, instance())]);
    let stage = stage(&objects);
    let (ctx, uid) = (&stage.context, Uid::new("i-1"));
    for by_watch in [true, false] {
        objects.set(INSTANCE, Some(instance()));
        look(&stage).await;
        assert!(ctx.postgres.knows(&uid) && ctx.credentials.knows(&uid));
        assert!(ctx.settled.remaining(&uid, "10").is_some());
        ctx.backoff.after(&uid, Retry::Backoff);
        assert!(ctx.backoff.after(&uid, Retry::Backoff) > Duration::from_millis(1500));
        objects.set(INSTANCE, None);
        if by_watch {
            forget(ctx, &object(instance()));
        } else {
            ctx.settled.wake(&uid);
            look(&stage).await;
        }
        assert!(!ctx.postgres.knows(&uid) && !ctx.credentials.knows(&uid));
        assert_eq!(ctx.settled.remaining(&uid, "10"), None);
        assert!(ctx.backoff.after(&uid, Retry::Backoff) < Duration::from_millis(1300));
        ctx.backoff.forget(&uid);
    }
}
