//! Stories: what templates see, what their objects carry, and how a release goes.

use std::fs;
use std::path::PathBuf;

use domain::releases::revisions::{Status, in_force};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::stand::Stand;

#[tokio::test]
async fn templates_and_partials_see_the_application_and_values_stay_clean() {
    let stand = Stand::new("seen", "edit").await;
    stand.write_printer();
    stand
        .apply(json!({"size": 3, "big": 10_000_000.0}))
        .await
        .unwrap();
    let seen = stand.seen().await;
    let read = |key: &str| serde_json::from_str::<Value>(seen[key].as_str().unwrap()).unwrap();
    assert_eq!(read("settings")["size"], 3);
    assert_eq!(
        read("values").as_object().unwrap().len(),
        2,
        "nothing of ours is in .Values"
    );
    assert_eq!(seen["part"], "3");
    assert_eq!(
        seen["image"],
        "registry.example.org/packages/online-shop@sha256:ab"
    );
    assert_eq!(seen["version"], "v1.0.0");
    assert_eq!(seen["platform"], "example.org");
    assert_eq!(seen["big"], "1e+07", "numbers print as in helm");
    stand.apply(json!({"size": 4})).await.unwrap();
    assert_eq!(stand.seen().await["part"], "4");
    assert_eq!(
        stand.statuses().await,
        [Status::Superseded, Status::Deployed]
    );
    assert_eq!(in_force(&stand.revisions().await), Some("d1"));
}

#[tokio::test]
async fn every_object_carries_the_labels_and_old_rules_of_yaml_hold() {
    let stand = Stand::new("labels", "edit").await;
    stand.write(
        "templates/objects.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: d8a-shop-a}\n  stringData: {a: \"yes\"}\n---\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d8a-shop-b, labels: {app: b}}\nspec:\n  paused: yes\n  selector: {matchLabels: \
         {app: b}}\n  template:\n    metadata: {labels: {app: b}}\n    spec:\n      containers: [{name: c, image: x, command: [sh, -c, 'a, b']}]\n      \
         volumes: [{name: v, configMap: {name: m, defaultMode: 0644}}]\n",
    );
    stand.apply(json!({})).await.unwrap();
    let health = format!("{}.shop", stand.namespace.name);
    for (kind, name) in [("secret", "d8a-shop-a"), ("deployment", "d8a-shop-b")] {
        let object = stand.get(kind, name).await;
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["heritage"], "deckhouse", "{object}");
        assert_eq!(labels["packages.deckhouse.io/package"], "online-shop");
        assert_eq!(labels["packages.deckhouse.io/instance"], "shop");
        assert_eq!(labels["health.deckhouse.io/package"], health);
    }
    let deployment = stand.get("deployment", "d8a-shop-b").await;
    assert_eq!(deployment["metadata"]["labels"]["app"], "b");
    assert_eq!(deployment["spec"]["paused"], true);
    let volumes = &deployment["spec"]["template"]["spec"]["volumes"];
    assert_eq!(volumes[0]["configMap"]["defaultMode"], 0o644);
}

#[tokio::test]
async fn a_release_is_removed_with_its_objects_and_once_more_is_fine() {
    let stand = Stand::new("removed", "edit").await;
    stand.write_printer();
    stand.apply(json!({"size": 1})).await.unwrap();
    let identity = stand.identity().await;
    for _ in 0..2 {
        stand
            .helm
            .uninstall(&stand.instance, &identity)
            .await
            .unwrap();
        assert_eq!(stand.get("configmap", "d8a-shop-seen").await, Value::Null);
        assert_eq!(stand.statuses().await, []);
    }
}

#[tokio::test]
async fn no_secret_is_in_arguments_or_environment_of_helm() {
    let stand = Stand::new("arguments", "edit").await;
    // A hook that no node ever runs keeps helm waiting.
    stand.write_printer();
    stand.write("templates/wait.yaml", super::recovered::WAITING);
    let identity = stand.identity().await;
    let token = identity.token.expose_secret().to_owned();
    let apply = stand.apply_as(
        json!({"size": 1, "password": "canary-of-settings"}),
        &identity,
    );
    let look = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let processes = helms();
            if !processes.is_empty() {
                return processes;
            }
        }
    };
    let processes = tokio::select! {
        ended = apply => panic!("it did not wait: {ended:?}"),
        processes = look => processes,
    };
    for shown in processes {
        for secret in [token.as_str(), "canary-of-settings"] {
            assert!(!shown.contains(secret));
        }
    }
}

/// Arguments and environment of each helm whose arguments name this process's folder.
fn helms() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let shown = processes.filter_map(|process| {
        let read = |name: &str| fs::read(process.path().join(name)).ok();
        let arguments = String::from_utf8_lossy(&read("cmdline")?).into_owned();
        let is_ours = arguments.contains("--post-renderer") && arguments.contains("arguments-");
        let program = fs::read_link(process.path().join("exe")).unwrap_or(PathBuf::new());
        let environment = String::from_utf8_lossy(&read("environ")?).into_owned();
        (is_ours && program.ends_with("helm")).then(|| format!("{arguments}{environment}"))
    });
    shown.collect()
}
