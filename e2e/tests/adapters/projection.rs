//! The ExternalSecret of a tenant on the bed: a real API server, External Secrets Operator and OpenBao.
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use domain::tenancy::endpoint::{AddressPolicy, Endpoint, EndpointDraft};
use domain::tenancy::facts::{Projection, ProjectionFact, ProjectionReady, SecretFact};
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;
use domain::violation::FieldPath;
use e2e::world::objects::Namespace;
use e2e::{Bed, Options};
use jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tenantry::adapters::projection::{FORCE_SYNC, Intent, Projections, Store, StoreKind};

const DEADLINE: Duration = Duration::from_secs(10);
/// What a person may write by hand: everything that a format could trip over.
const HOSTILE: &str = r#"p@ss w:o\rd/?#%+&='"é"#;

struct World {
    bed: Bed,
    namespace: Namespace,
    projections: Projections,
}

impl World {
    async fn new(story: &str) -> Self {
        let bed = Bed::shared().unwrap();
        let namespace = Namespace::create(&bed, story).await.unwrap();
        let projections = Projections::new(namespace.client().clone(), DEADLINE);
        Self {
            bed,
            namespace,
            projections,
        }
    }

    fn intent(&self) -> Intent {
        Intent {
            namespace: self.namespace.name.clone(),
            name: "shared-app-postgresql".to_owned(),
            owner: Uid::new("0e3b6c0e-0000-4000-8000-000000000001"),
            secret_name: "app-db".to_owned(),
            store: Store {
                kind: StoreKind::ClusterSecretStore,
                name: "openbao".to_owned(),
            },
            entry_path: format!("tenantry/postgresql/{}/app", self.namespace.name),
            kv_version: 1,
            endpoint: endpoint(),
            database: "app".to_owned(),
            role: "app_role".to_owned(),
            ca_pem: None,
        }
    }

    /// Writes a new version of the entry.
    async fn password(&self, password: &str) {
        let data = BTreeMap::from([("password", password)]);
        let root = self.bed.openbao().root().unwrap();
        vaultrs::kv2::set(&root, "secret", &self.intent().entry_path, &data)
            .await
            .unwrap();
    }

    async fn observe(&self, wanted: &Intent) -> Option<Projection> {
        let seen = self
            .projections
            .observe(
                &wanted.namespace,
                &wanted.name,
                Some(wanted),
                Timestamp::now(),
            )
            .await;
        match seen.unwrap().fact {
            ProjectionFact::Absent => None,
            ProjectionFact::Present(projection) => Some(projection),
        }
    }

    /// Waits until ESO has said something of the present generation.
    async fn until(&self, wanted: &Intent, holds: impl Fn(&Projection) -> bool) -> Projection {
        let start = Instant::now();
        loop {
            let projection = self.observe(wanted).await.unwrap();
            if holds(&projection) {
                return projection;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{projection:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn delivered(&self, wanted: &Intent) -> Projection {
        self.until(wanted, |projection| {
            projection.synced && projection.ready == ProjectionReady::True
        })
        .await
    }

    fn objects(&self) -> Api<DynamicObject> {
        self.namespace
            .objects("external-secrets.io/v1", "ExternalSecret")
    }

    async fn edit(&self, patch: Value) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        self.objects()
            .patch(&self.intent().name, &params, &Patch::Merge(&patch))
            .await
            .unwrap();
    }

    async fn secret(&self) -> SecretFact {
        let intent = self.intent();
        self.projections
            .secret(&intent.namespace, &intent.secret_name, &intent.name)
            .await
            .unwrap()
    }
}

fn endpoint() -> Endpoint {
    let draft = EndpointDraft {
        host: "postgresql.bed.test",
        hostaddr: "127.0.0.1",
        port: 5432,
        database: "tenantry",
        ssl_mode: "verify-full",
    };
    draft
        .parse(
            &FieldPath::new("spec.endpoint"),
            &AddressPolicy::default(),
            &mut Vec::new(),
        )
        .unwrap()
}

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
