//! What is not ours or cannot be had: other owners, deletion, namespaces, rights, and no API at all (T3, D5, D6).

use std::net::TcpListener;
use std::time::{Duration, Instant};

use domain::tenancy::facts::{ProjectionReady, SecretFact};
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;
use e2e::world::objects::Namespace;
use e2e::{Bed, Options};
use jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tenantry::adapters::projection::{Intent, Projections};

use super::world::{DEADLINE, World};

#[tokio::test]
async fn t3_an_external_secret_of_another_uid_or_of_nobody_is_not_altered() {
    let world = World::new("foreign").await;
    let intent = world.intent();
    world.password("pw").await;
    world
        .projections
        .apply(&Intent {
            owner: Uid::new("someone-else"),
            ..intent.clone()
        })
        .await
        .unwrap();
    let before = world.objects().get(&intent.name).await.unwrap();
    let failure = world.projections.apply(&intent).await.unwrap_err();
    assert_eq!(failure.class, Class::Conflict);
    let after = world.objects().get(&intent.name).await.unwrap();
    assert_eq!(before.data["spec"], after.data["spec"]);
    assert_eq!(before.metadata.generation, after.metadata.generation);
    assert_eq!(before.metadata.annotations, after.metadata.annotations);
}

#[tokio::test]
async fn d5_deletion_is_bound_to_the_uid_and_idempotent_and_takes_the_secret_along() {
    let world = World::new("delete").await;
    let intent = world.intent();
    world.password("pw").await;
    world.projections.apply(&intent).await.unwrap();
    let projection = world.delivered(&intent).await;
    let Intent {
        namespace, name, ..
    } = &intent;
    let other = Uid::new("0e3b6c0e-0000-4000-8000-00000000000f");
    assert_eq!(
        world
            .projections
            .delete(namespace, name, &other)
            .await
            .unwrap_err()
            .class,
        Class::Stale
    );
    // A finalizer of someone else holds it; we do not wait, and nothing is written into it any more (case 18, 36).
    world
        .edit(json!({"metadata": {"finalizers": ["example.org/hold"]}}))
        .await;
    world
        .projections
        .delete(namespace, name, &projection.uid)
        .await
        .unwrap();
    assert!(world.observe(&intent).await.unwrap().deleting);
    assert_eq!(
        world.projections.apply(&intent).await.unwrap_err().class,
        Class::Stale
    );
    world.edit(json!({"metadata": {"finalizers": null}})).await;
    assert!(world.observe(&intent).await.is_none());
    world
        .projections
        .delete(namespace, name, &projection.uid)
        .await
        .unwrap();
    let start = Instant::now();
    while world.secret().await != SecretFact::Absent {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "garbage collection takes the Secret"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn d6_a_secret_of_another_external_secret_is_told_from_other_failures() {
    let world = World::new("owned").await;
    let intent = world.intent();
    world.password("pw").await;
    let first = Intent {
        name: "first".to_owned(),
        ..intent.clone()
    };
    world.projections.apply(&first).await.unwrap();
    world.delivered(&first).await;
    assert_eq!(world.secret().await, SecretFact::Foreign);
    world.projections.apply(&intent).await.unwrap();
    let seen = world
        .until(&intent, |seen| {
            matches!(seen.ready, ProjectionReady::False { .. })
        })
        .await;
    assert!(
        matches!(
            seen.ready,
            ProjectionReady::False {
                owned_by_another: true,
                ..
            }
        ),
        "{seen:?}"
    );
    world
        .namespace
        .create_secret("plain", &[("key", "value")])
        .await
        .unwrap();
    let plain = world
        .projections
        .secret(&intent.namespace, "plain", &intent.name)
        .await
        .unwrap();
    assert_eq!(plain, SecretFact::Foreign);
}

#[tokio::test]
async fn a_terminating_or_absent_namespace_ends_the_round_quietly() {
    let world = World::new("terminating").await;
    let intent = world.intent();
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hold", "finalizers": ["example.org/hold"]}});
    let config_maps = world.namespace.objects("v1", "ConfigMap");
    config_maps
        .create(
            &PostParams::default(),
            &serde_json::from_value(held).unwrap(),
        )
        .await
        .unwrap();
    let namespaces = e2e::world::objects::all(world.namespace.client(), "v1", "Namespace");
    namespaces
        .delete(&intent.namespace, &DeleteParams::default())
        .await
        .unwrap();
    let failure = world.projections.apply(&intent).await.unwrap_err();
    assert_eq!(failure.class, Class::NamespaceTerminating, "{failure}");
    config_maps
        .patch(
            "hold",
            &PatchParams::default(),
            &Patch::Merge(json!({"metadata": {"finalizers": null}})),
        )
        .await
        .unwrap();
    let absent = Intent {
        namespace: "no-such-namespace".to_owned(),
        ..intent
    };
    assert_eq!(
        world.projections.apply(&absent).await.unwrap_err().class,
        Class::NamespaceTerminating
    );
}

#[tokio::test]
async fn a_missing_right_names_verb_and_resource() {
    let world = World::new("rights").await;
    let intent = world.intent();
    let kubeconfig = Kubeconfig::read_from(&world.bed.description().kubeconfig).unwrap();
    let mut config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .unwrap();
    config.auth_info.impersonate = Some("nobody".to_owned());
    let nobody = Projections::new(kube::Client::try_from(config).unwrap(), DEADLINE);
    let Intent {
        namespace, name, ..
    } = &intent;
    for (failure, words) in [
        (
            nobody.apply(&intent).await.unwrap_err(),
            "give get on externalsecrets.external-secrets.io",
        ),
        (
            nobody.secret(namespace, "x", name).await.unwrap_err(),
            "give get on secrets",
        ),
        (
            nobody
                .delete(namespace, name, &intent.owner)
                .await
                .unwrap_err(),
            "give delete on externalsecrets.external-secrets.io",
        ),
    ] {
        assert_eq!(failure.class, Class::Rejected);
        assert!(failure.text.contains(words), "{failure}");
    }
}

#[tokio::test]
async fn an_api_server_that_hangs_is_unavailable_after_the_deadline() {
    let world = World::new("hang").await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = kube::Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
    let hanging = Projections::new(client, Duration::from_millis(300));
    let start = Instant::now();
    assert_eq!(
        hanging.apply(&world.intent()).await.unwrap_err().class,
        Class::Unavailable
    );
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn alone_case_37_without_the_api_the_failure_says_what_to_install() {
    let bed = Bed::private(Options::default().without_eso_crds().openbao_in_memory())
        .await
        .unwrap();
    let namespace = Namespace::create(&bed, "no-eso").await.unwrap();
    let projections = Projections::new(namespace.client().clone(), DEADLINE);
    let seen = projections
        .observe(&namespace.name, "x", None, Timestamp::now())
        .await
        .unwrap_err();
    assert_eq!(seen.class, Class::ProjectionUnsupported);
    assert!(
        seen.text.contains("install External Secrets Operator"),
        "{seen}"
    );
    projections
        .delete(&namespace.name, "x", &Uid::new("x"))
        .await
        .unwrap();
    assert_eq!(
        projections.secret(&namespace.name, "x", "x").await.unwrap(),
        SecretFact::Absent
    );
}
