//! An ExternalSecret that is ours: every key delivered, edits undone, a newer version awaited (D7, D8, H29).

use std::time::Duration;

use domain::tenancy::facts::{ProjectionReady, SecretFact};
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;
use jiff::Timestamp;
use kube::api::{Api, DynamicObject};
use serde_json::json;
use tenantry::adapters::projection::{FORCE_SYNC, Intent};

use super::world::{HOSTILE, World};

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
            rest = &tail[2..];
        } else {
            assert!(
                first.is_ascii_alphanumeric() || b"-._~".contains(first),
                "{text}: {first} is not encoded"
            );
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.strip_prefix(before)
        .unwrap_or_else(|| panic!("{text} begins with {before}"))
        .strip_suffix(after)
        .unwrap()
}

#[tokio::test]
async fn d7_d8_a_password_is_delivered_with_every_key_and_nothing_is_written_twice() {
    let world = World::new("deliver").await;
    let intent = world.intent();
    world.password(HOSTILE).await;
    assert!(world.observe(&intent).await.is_none());
    assert_eq!(world.secret().await, SecretFact::Absent);
    world.projections.apply(&intent).await.unwrap();
    let projection = world.delivered(&intent).await;
    assert!(
        projection.as_wanted,
        "neither API server nor ESO changed anything of ours"
    );
    assert_eq!(projection.owner.as_ref(), Some(&intent.owner));
    assert_eq!(
        world.secret().await,
        SecretFact::OfProjection(projection.uid)
    );

    let keys = world.namespace.secret(&intent.secret_name).await.unwrap();
    assert_eq!(keys["password"], HOSTILE);
    for (key, value) in [
        ("type", "postgresql"),
        ("provider", "tenantry"),
        ("username", "app_role"),
        ("host", "postgresql.bed.test"),
        ("hostaddr", "127.0.0.1"),
        ("port", "5432"),
        ("database", "app"),
        ("sslmode", "verify-full"),
    ] {
        assert_eq!(keys[key], value, "{key}");
    }
    let end = "@postgresql.bed.test:5432/app?sslmode=verify-full";
    assert_eq!(
        percent_decoded(between(&keys["uri"], "postgresql://app_role:", end)),
        HOSTILE
    );
    let start = "jdbc:postgresql://postgresql.bed.test:5432/app?user=app_role&password=";
    assert_eq!(
        percent_decoded(between(&keys["jdbc-uri"], start, "&sslmode=verify-full")),
        HOSTILE
    );
    let pgpass = between(
        &keys["pgpass"],
        "postgresql.bed.test:5432:app:app_role:",
        "\n",
    );
    assert_eq!(pgpass, HOSTILE.replace('\\', "\\\\").replace(':', "\\:"));
    assert_eq!(keys.len(), 12);

    let secrets: Api<DynamicObject> = world.namespace.objects("v1", "Secret");
    let secret = secrets.get(&intent.secret_name).await.unwrap();
    assert_eq!(secret.data["type"], "servicebinding.io/postgresql");
    let labels = secret.metadata.labels.unwrap_or_default();
    assert!(
        labels
            .keys()
            .all(|key| key.starts_with("reconcile.external-secrets.io/")),
        "{labels:?}"
    );
}

#[tokio::test]
async fn d8_a_newer_version_is_unproved_until_eso_has_delivered_it() {
    let world = World::new("pin").await;
    let first = world.intent();
    world.password("one").await;
    world.password("two").await;
    world.projections.apply(&first).await.unwrap();
    world.delivered(&first).await;
    assert_eq!(
        world.namespace.secret("app-db").await.unwrap()["password"],
        "one"
    );

    let second = Intent {
        kv_version: 2,
        ..first.clone()
    };
    assert!(!world.observe(&second).await.unwrap().as_wanted);
    world.projections.apply(&second).await.unwrap();
    assert!(world.delivered(&second).await.as_wanted);
    assert_eq!(
        world.namespace.secret("app-db").await.unwrap()["password"],
        "two"
    );

    let missing = Intent {
        kv_version: 9,
        ..first
    };
    world.projections.apply(&missing).await.unwrap();
    let failing = world
        .until(&missing, |seen| {
            matches!(seen.ready, ProjectionReady::False { .. })
        })
        .await;
    let ProjectionReady::False {
        owned_by_another,
        reason,
        ..
    } = failing.ready
    else {
        panic!("false")
    };
    assert!(!owned_by_another && !failing.synced);
    assert_eq!(reason, "SecretSyncedError");
}

#[tokio::test]
async fn h29_edits_of_ours_are_undone_and_what_others_add_stays() {
    let world = World::new("drift").await;
    let intent = world.intent();
    world.password("pw").await;
    world.projections.apply(&intent).await.unwrap();
    world.delivered(&intent).await;
    let store = json!({"kind": "ClusterSecretStore", "name": "openbao"});
    let key = &intent.entry_path;
    for edit in [
        json!({"spec": {"target": {"name": "elsewhere"}}}),
        json!({"spec": {"target": {"template": {"data": {"uri": "{{ .password }}"}}}}}),
        json!({"spec": {"target": {"template": {"type": "Opaque"}}}}),
        json!({"spec": {"secretStoreRef": {"name": "other"}}}),
        json!({"spec": {"refreshInterval": "0s"}}),
        json!({"spec": {"dataFrom": [{"extract": {"key": key}}]}}),
        json!({"spec": {"data": [{"secretKey": "password", "remoteRef": {"key": key, "property": "password"}, "sourceRef": {"storeRef": store}}]}}),
        json!({"spec": {"data": []}}),
        json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "hand"}}}),
    ] {
        world.edit(edit.clone()).await;
        assert!(!world.observe(&intent).await.unwrap().as_wanted, "{edit}");
        world.projections.apply(&intent).await.unwrap();
        assert!(world.observe(&intent).await.unwrap().as_wanted, "{edit}");
        // ESO, too, is back at work; its own pause grows with each failure in a row.
        world.delivered(&intent).await;
    }
    world.edit(json!({"metadata": {"labels": {"team": "net"}}, "spec": {"target": {"template": {"data": {"extra": "x"}}}}})).await;
    assert!(world.observe(&intent).await.unwrap().as_wanted);
    world.delivered(&intent).await;
    let keys = world.namespace.secret("app-db").await.unwrap();
    assert_eq!(
        (keys["extra"].as_str(), keys["password"].as_str()),
        ("x", "pw")
    );
    // Another manager owns this annotation now; without it the object is nobody's, and so it is not touched again.
    world
        .edit(json!({"metadata": {"annotations": {"database.ddupan.top/tenant-uid": "other"}}}))
        .await;
    assert_eq!(
        world.projections.apply(&intent).await.unwrap_err().class,
        Class::Conflict
    );
}

#[tokio::test]
async fn d7_a_ca_comes_and_goes_with_the_deployments_setting() {
    let world = World::new("ca").await;
    let with_ca = Intent {
        ca_pem: Some("# {{ x }}\n-----BEGIN CERTIFICATE-----\n".to_owned()),
        ..world.intent()
    };
    world.password("pw").await;
    world.projections.apply(&with_ca).await.unwrap();
    world.delivered(&with_ca).await;
    assert_eq!(
        Some(&world.namespace.secret("app-db").await.unwrap()["ca.crt"]),
        with_ca.ca_pem.as_ref()
    );

    let without = world.intent();
    assert!(!world.observe(&without).await.unwrap().as_wanted);
    world.projections.apply(&without).await.unwrap();
    assert!(world.delivered(&without).await.as_wanted);
    assert!(
        !world
            .namespace
            .secret("app-db")
            .await
            .unwrap()
            .contains_key("ca.crt")
    );
    let managers: Vec<_> = world
        .objects()
        .get(&without.name)
        .await
        .unwrap()
        .metadata
        .managed_fields
        .unwrap();
    let ours: Vec<_> = managers
        .iter()
        .filter(|entry| entry.manager.as_deref() == Some("tenantry"))
        .collect();
    assert_eq!(ours.len(), 1, "one manager, by apply: {ours:?}");
}

#[tokio::test]
async fn d8_a_forced_sync_leaves_what_is_wanted_alone_and_has_an_age() {
    let world = World::new("force").await;
    let intent = world.intent();
    world.password("pw").await;
    world.projections.apply(&intent).await.unwrap();
    let before = world.delivered(&intent).await;
    assert_eq!(before.force_sync_age, None);
    let Intent {
        namespace, name, ..
    } = &intent;
    let other = Uid::new("0e3b6c0e-0000-4000-8000-00000000000f");
    let now = Timestamp::now();
    assert_eq!(
        world
            .projections
            .force_sync(namespace, name, &other, now)
            .await
            .unwrap_err()
            .class,
        Class::Stale
    );
    world
        .projections
        .force_sync(namespace, name, &before.uid, now)
        .await
        .unwrap();
    let after = world.delivered(&intent).await;
    assert!(
        after.as_wanted
            && after
                .force_sync_age
                .is_some_and(|age| age < Duration::from_secs(20)),
        "{after:?}"
    );
    world
        .projections
        .apply(&Intent {
            kv_version: 1,
            ..intent.clone()
        })
        .await
        .unwrap();
    let annotations = world
        .objects()
        .get(name)
        .await
        .unwrap()
        .metadata
        .annotations
        .unwrap();
    assert!(
        annotations.contains_key(FORCE_SYNC),
        "applying does not take the annotation away"
    );
}
