//! What the watches pass on, tell and wake, from events as the API server sends them.
#![allow(clippy::unwrap_used)]

use futures::channel::mpsc as events;
use kube::runtime::reflector::store;
use serde_json::{Value, json};

use super::*;

type Tenants = Guarded<PostgreSQLTenant>;

fn tenant(name: &str, uid: &str, instance: &str) -> Tenants {
    object(json!({
        "apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLTenant",
        "metadata": {"name": name, "namespace": "team-a", "uid": uid}, "spec": {"instanceRef": instance},
    }))
}

fn instance(spec: &Value) -> Guarded<PostgreSQLInstance> {
    object(json!({
        "apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLInstance",
        "metadata": {"name": "shared", "uid": "i-1", "generation": 1}, "spec": spec,
    }))
}

fn readable() -> Guarded<PostgreSQLInstance> {
    instance(&json!({
        "endpoint": {"host": "pg.example.org", "hostaddr": "10.0.0.1"}, "adminCredentialRef": {"name": "admin"},
    }))
}

fn unreadable() -> Guarded<PostgreSQLInstance> {
    let guarded = instance(&json!({"endpoint": 5}));
    assert!(guarded.0.is_err());
    guarded
}

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

/// A watch under test: events in, what is passed on and told out.
struct Watch {
    events: events::UnboundedSender<watcher::Result<Event<Tenants>>>,
    passed: futures::stream::BoxStream<'static, Result<Tenants, watcher::Error>>,
    gone: mpsc::UnboundedReceiver<Tenants>,
    view: Arc<View>,
}

impl Watch {
    fn new() -> Self {
        let (events, received) = events::unbounded();
        let (reader, writer) = store();
        let view = Arc::new(View::new(reader.clone(), store().0));
        let (tell, gone) = mpsc::unbounded_channel();
        let backlog = Backlog::new();
        let listed = (view.tenants_listed(), Arc::clone(&backlog));
        let passed = follow(received, (writer, reader.clone()), listed, tell);
        let passed = futures::stream::select(passed, backlog.objects(reader).map(Ok)).boxed();
        Self {
            events,
            passed,
            gone,
            view,
        }
    }

    /// The names that are passed on after this event, before another one comes.
    fn on(&mut self, event: Event<Tenants>) -> Vec<String> {
        self.events.unbounded_send(Ok(event)).unwrap();
        let mut names = Vec::new();
        // An event may wake the backlog, which had its turn already.
        for _turn in 0..2 {
            while let Some(Some(passed)) = futures::FutureExt::now_or_never(self.passed.next()) {
                names.push(passed.unwrap().name_any());
            }
        }
        names.sort();
        names
    }

    fn told(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.gone.try_recv().ok())
            .map(|gone| gone.uid().unwrap())
            .collect()
    }

    fn cached(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.view
            .each_tenant(|tenant| names.push(tenant.name_any()));
        names.sort();
        names
    }
}

#[test]
fn a_relist_passes_objects_on_only_when_it_is_whole_and_tells_of_what_vanished_meanwhile() {
    let mut watch = Watch::new();
    let none: Vec<String> = Vec::new();
    assert_eq!(watch.on(Event::Init), none);
    for name in ["a", "b", "c"] {
        let listed = Event::InitApply(tenant(name, &format!("{name}-1"), "shared"));
        assert_eq!(watch.on(listed), none, "the list is not whole yet");
    }
    assert_eq!(watch.on(Event::InitDone), ["a", "b", "c"]);
    assert_eq!(watch.on(Event::Apply(tenant("d", "d-1", "shared"))), ["d"]);
    assert_eq!(watch.told(), none);

    // The watch was away: `a` stayed, `b` went, `c` was made anew under its name, `d` went.
    assert_eq!(watch.on(Event::Init), none);
    for (name, uid) in [("a", "a-1"), ("c", "c-2")] {
        assert_eq!(
            watch.on(Event::InitApply(tenant(name, uid, "shared"))),
            none
        );
        assert_eq!(watch.cached(), ["a", "b", "c", "d"], "the old list holds");
        assert_eq!(
            watch.told(),
            none,
            "a list that is not whole proves no absence"
        );
    }
    assert_eq!(watch.on(Event::InitDone), ["a", "c"]);
    assert_eq!(watch.cached(), ["a", "c"]);
    let mut told = watch.told();
    told.sort();
    assert_eq!(told, ["b-1", "c-1", "d-1"]);
    assert_eq!(watch.on(Event::Delete(tenant("a", "a-1", "shared"))), none);
    assert_eq!(watch.told(), ["a-1"]);
}

#[test]
fn an_object_that_cannot_be_read_is_passed_on_and_its_end_is_told() {
    let mut watch = Watch::new();
    let broken: Tenants = object(json!({
        "apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLTenant",
        "metadata": {"name": "x", "namespace": "team-a", "uid": "x-1"}, "spec": {"instanceRef": 7},
    }));
    assert!(broken.0.is_err());
    watch.on(Event::Init);
    watch.on(Event::InitApply(broken.clone()));
    assert_eq!(watch.on(Event::InitDone), ["x"]);
    watch.on(Event::Delete(broken.clone()));
    assert_eq!(watch.told(), ["x-1"]);
    watch.on(Event::Apply(broken));
    watch.on(Event::Init);
    watch.on(Event::InitDone);
    assert_eq!(watch.told(), ["x-1"]);
}

/// Which Tenants an Instance wakes, each woken one named once.
fn woken(wake: &InstanceWake, instance: &Guarded<PostgreSQLInstance>, gone: bool) -> Vec<String> {
    let woken = wake.tenants(instance, gone);
    woken.into_iter().map(|tenant| tenant.name).collect()
}

#[test]
fn an_instance_that_becomes_unreadable_readable_or_gone_wakes_its_tenants_and_an_echo_does_not() {
    let mut watch = Watch::new();
    watch.on(Event::Init);
    watch.on(Event::InitApply(tenant("a", "a-1", "shared")));
    watch.on(Event::InitApply(tenant("b", "b-1", "other")));
    watch.on(Event::InitDone);
    let settled = Arc::new(Settled::default());
    let wake = InstanceWake::new(Arc::clone(&watch.view), Arc::clone(&settled));
    for (instance, gone, expected) in [
        (readable(), false, true),
        (readable(), false, false),
        (unreadable(), false, true),
        (unreadable(), false, false),
        (readable(), false, true),
        (unreadable(), false, true),
        (unreadable(), true, true),
        (unreadable(), true, false),
    ] {
        let uid = Uid::new("a-1");
        let minute = std::time::Duration::from_secs(60);
        settled.rest(uid.clone(), &["1".to_owned()], None, minute);
        let names = woken(&wake, &instance, gone);
        assert_eq!(names, if expected { vec!["a"] } else { vec![] });
        let rests = settled.remaining(&uid, "1").is_some();
        assert_eq!(
            rests, !expected,
            "woken means that its next look is a real one"
        );
    }
}

#[test]
fn an_instance_that_cannot_be_read_is_not_an_absent_one() {
    let (reader, mut writer) = store();
    let view = View::new(store().0, reader);
    assert_eq!(view.instance("shared"), Ok(None));
    writer.apply_watcher_event(&Event::Apply(unreadable()));
    assert_eq!(view.instance("shared"), Err(crate::view::Unreadable));
    writer.apply_watcher_event(&Event::Apply(readable()));
    assert!(view.instance("shared").is_ok_and(|found| found.is_some()));
}

#[test]
fn a_cached_tenant_keeps_what_gauges_and_webhook_read_and_nothing_more() {
    let mut tenant: Tenants = object(json!({
        "apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLTenant",
        "metadata": {
            "name": "a", "namespace": "team-a", "uid": "a-1", "labels": {"l": "1"}, "annotations": {"a": "1"},
            "managedFields": [{"manager": "kubectl"}], "finalizers": ["f"],
        },
        "spec": {"instanceRef": "shared", "extensions": ["pg_trgm"]},
        "status": {
            "phase": "Ready", "database": "a", "credential": {"openBaoURL": "https://bao.example.org"},
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "Ready", "message": "It is ready.",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    }));
    let before = tenant.0.as_ref().unwrap().clone();
    slim(&mut tenant);
    let after = tenant.0.as_ref().unwrap();
    let meta = &after.metadata;
    assert_eq!(
        (&meta.labels, &meta.annotations, &meta.managed_fields),
        (&None, &None, &None)
    );
    assert_eq!(after.spec, before.spec);
    assert_eq!(after.recorded().database, before.recorded().database);
    assert_eq!(after.identity(), before.identity());
    let (said, kept) = (before.domain_status(), after.domain_status());
    assert_eq!((kept.phase, kept.openbao_url), (said.phase, None));
    let (said, kept) = (said.ready.unwrap(), kept.ready.unwrap());
    assert_eq!((kept.reason, kept.message.as_str()), (said.reason, ""));
}

#[test]
fn d15_a_tenant_that_rested_long_enough_is_woken() {
    let mut watch = Watch::new();
    for name in ["a", "b"] {
        watch.on(Event::Apply(tenant(name, &format!("{name}-1"), "shared")));
    }
    let settled = Settled::default();
    for (uid, pause) in [
        ("a-1", Duration::ZERO),
        ("b-1", Duration::from_secs(600)),
        ("gone", Duration::ZERO),
    ] {
        settled.rest(Uid::new(uid), &[], None, pause);
    }
    let due = due_now(&watch.view, &settled);
    assert_eq!(
        due.iter()
            .map(|woken| woken.name.as_str())
            .collect::<Vec<_>>(),
        ["a"]
    );
    assert!(due_now(&watch.view, &settled).is_empty());
}
