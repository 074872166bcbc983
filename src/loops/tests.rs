//! What happens to what is gone, and what a round that begins makes room for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::Duration;

use domain::tenancy::names::Uid;
use domain::tenancy::reason::Retry;
use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::json;

use super::*;
use crate::controllers::fixture::{Stage, object, tenant};

const EVENTS: &str = "POST /apis/events.k8s.io/v1/namespaces/default/events";

#[tokio::test]
async fn a_tenant_that_is_gone_is_forgotten_and_its_instance_is_told() {
    let mut unreadable = tenant();
    unreadable["spec"] = json!({"instanceRef": 7});
    for (gone, told) in [(tenant(), Some("shared")), (unreadable, None)] {
        let mut stage = Stage::new(|asked| (201, asked.body.clone()));
        let (ctx, uid) = (Arc::clone(&stage.context), Uid::new("t-1"));
        ctx.settled.rest(
            uid.clone(),
            &["20".to_owned()],
            None,
            Duration::from_secs(60),
        );
        ctx.backoff.after(&uid, Retry::Backoff);
        assert!(ctx.backoff.after(&uid, Retry::Backoff) > Duration::from_millis(1500));
        let about = ObjectReference::default();
        for _ in 0..2 {
            ctx.events
                .notice(&uid, &about, "OpenBao does not answer")
                .await;
        }
        assert_eq!(stage.count(EVENTS), 1, "said once");

        let (tell, gone_ones) = mpsc::unbounded_channel();
        tell.send(object(gone)).unwrap();
        drop(tell);
        let ended = tokio::time::timeout(
            Duration::from_secs(5),
            departures(Arc::clone(&ctx), gone_ones, Leading::always()),
        );
        // The channel's end ends nothing but the wait for more.
        ended.await.unwrap();
        assert_eq!(ctx.settled.remaining(&uid, "20"), None);
        assert!(ctx.backoff.after(&uid, Retry::Backoff) < Duration::from_millis(1300));
        ctx.events
            .notice(&uid, &about, "OpenBao does not answer")
            .await;
        assert_eq!(stage.count(EVENTS), 2, "news again");
        assert_eq!(stage.to_check.try_recv().ok().as_deref(), told);
    }
}

#[tokio::test]
async fn what_leaves_while_another_replica_leads_is_not_ours_to_mark() {
    let mut stage = Stage::new(|asked| (201, asked.body.clone()));
    let (until, leading) = Leading::undecided();
    let (tell, gone) = mpsc::unbounded_channel();
    let named = |instance: &str| {
        let mut tenant = tenant();
        tenant["spec"]["instanceRef"] = json!(instance);
        object(tenant)
    };
    tell.send(named("before")).unwrap();
    let departing = tokio::spawn(departures(Arc::clone(&stage.context), gone, leading));
    // The one that follows takes it at its first turn.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    until.send_replace(Some(std::time::Instant::now() + Duration::from_secs(60)));
    tell.send(named("after")).unwrap();
    drop(tell);
    tokio::time::timeout(Duration::from_secs(5), departing)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stage.to_check.try_recv().as_deref(), Ok("after"));
    assert!(stage.to_check.try_recv().is_err());
}

#[tokio::test]
async fn a_round_that_begins_makes_room_for_the_next_object_of_a_list() {
    let stage = Stage::new(|asked| (201, asked.body.clone()));
    let backlog = Backlog::new();
    let (reader, mut writer) = reflector::store();
    for position in 0..=backlog::WAITING_MAX {
        let mut tenant = tenant();
        tenant["metadata"]["name"] = json!(format!("t{position}"));
        writer.apply_watcher_event(&watcher::Event::Apply(object::<PostgreSQLTenant>(tenant)));
    }
    let mut listed = Arc::clone(&backlog).objects(reader).boxed();
    backlog.ask();
    while let Some(Some(_)) = listed.next().now_or_never() {}
    let round = |_, _| futures::future::ready(());
    let reconcile = gated(
        (Leading::always(), Arc::clone(&backlog)),
        tenant::CONTROLLER,
        round,
    );
    let some: Guarded<PostgreSQLTenant> = object(tenant());
    reconcile(Arc::new(some), Arc::clone(&stage.context)).await;
    assert!(listed.next().now_or_never().is_some());
}
