//! Stories: an Application's life, from its first installation to nothing.

use e2e::bed::wait::until;
use serde_json::{Value, json};

use super::stand::{SOON, Stand, reason};

#[tokio::test]
async fn an_application_is_installed_edited_moved_to_another_version_and_removed_without_a_rest() {
    let stand = Stand::shared("lived").await;
    stand.apply("v1.0.0", "{}", "").await;
    let installed = stand.ready(&json!({"size": 3})).await;
    assert_eq!(installed["status"]["currentVersion"]["version"], "v1.0.0");
    for type_ in [
        "Installed",
        "ConfigurationApplied",
        "Scaled",
        "Managed",
        "Ready",
    ] {
        assert_eq!(reason(&installed, type_), Some(("True", type_, "")));
    }
    assert_eq!(reason(&installed, "UpdateInstalled"), None);
    assert_eq!(stand.seen().await.unwrap()["settings"], "{\"size\":3}");
    let object = stand.get("configmap", "d8a-shop-seen").await;
    assert_eq!(
        object["metadata"]["labels"]["packages.deckhouse.io/instance"],
        "shop"
    );

    stand.apply("v1.0.0", "{size: 5}", "").await;
    stand.ready(&json!({"size": 5})).await;
    assert_eq!(stand.seen().await.unwrap()["settings"], "{\"size\":5}");

    stand.publish("v1.1.0", &[]).await;
    stand.apply("v1.1.0", "{size: 5}", "").await;
    let moved = stand
        .awaited("v1.1.0 is installed", |object| {
            object["status"]["currentVersion"]["version"] == "v1.1.0"
        })
        .await;
    assert_eq!(
        reason(&moved, "UpdateInstalled"),
        Some(("True", "UpdateInstalled", ""))
    );
    assert_eq!(stand.seen().await.unwrap()["version"], "v1.1.0");

    let manifest = stand.manifest("v1.1.0", "{size: 500}", "");
    let refused = stand.bed.kubectl().apply(&manifest).await.unwrap();
    assert!(
        refused.code != 0 && refused.stderr.contains("size"),
        "{}",
        refused.stderr
    );
    assert_eq!(stand.seen().await.unwrap()["settings"], "{\"size\":5}");

    stand.remove().await;
    assert_eq!(stand.get("configmap", "d8a-shop-seen").await, Value::Null);
    assert_eq!(stand.revisions().await, [] as [String; 0]);
}

#[tokio::test]
async fn nothing_is_written_when_nothing_changed() {
    let stand = Stand::shared("unchanged").await;
    stand.apply("v1.0.0", "{size: 1}", "").await;
    let before = stand.ready(&json!({"size": 1})).await;
    // Another generation that gives the same settings.
    stand
        .apply("v1.0.0", "{size: 1}", ", releaseChannel: stable")
        .await;
    let after = stand
        .awaited("it was looked at", |object| {
            let condition = &object["status"]["conditions"][0];
            condition["observedGeneration"] == object["metadata"]["generation"]
                && object["metadata"]["generation"] != before["metadata"]["generation"]
        })
        .await;
    assert_eq!(after["status"]["summary"]["state"], "Ready");
    assert_eq!(stand.revisions().await.len(), 1, "helm did not run again");
}

#[tokio::test]
async fn maintenance_applies_nothing_until_it_ends() {
    let stand = Stand::shared("paused").await;
    stand.apply("v1.0.0", "{size: 1}", "").await;
    stand.ready(&json!({"size": 1})).await;
    stand
        .apply(
            "v1.0.0",
            "{size: 2}",
            ", maintenance: NoResourceReconciliation",
        )
        .await;
    let paused = stand
        .awaited("the edit was seen", |object| {
            reason(object, "ConfigurationApplied")
                .is_some_and(|found| found.1 == "ApplyingManifests")
        })
        .await;
    assert_eq!(reason(&paused, "Ready"), Some(("True", "Ready", "")));
    assert_eq!(stand.seen().await.unwrap()["settings"], "{\"size\":1}");
    stand.apply("v1.0.0", "{size: 2}", "").await;
    stand.ready(&json!({"size": 2})).await;
}

#[tokio::test]
async fn orphans_go_after_the_release_and_what_others_keep_stays() {
    let stand = Stand::shared("orphans").await;
    let values = "{type: object, x-extend: {schema: settings.yaml}, properties: {orphanResources: {type: array, default: [{kind: ConfigMap, version: v1}], \
                  items: {type: object, properties: {kind: {type: string}, version: {type: string}}}}}}";
    stand
        .publish("v1.1.0", &[("openapi/values.yaml", values)])
        .await;
    stand.apply("v1.1.0", "{}", "").await;
    stand.ready(&json!({"size": 3})).await;
    let labelled = |name: &str, instance: &str, annotations: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {}, labels: {{packages.deckhouse.io/instance: {instance}}}, \
             annotations: {{{annotations}}}}}\n",
            stand.namespace.name
        )
    };
    for (name, instance, annotations) in [
        ("left", "shop", ""),
        ("kept", "shop", "helm.sh/resource-policy: keep"),
        ("foreign", "other", ""),
    ] {
        let made = stand
            .bed
            .kubectl()
            .apply(&labelled(name, instance, annotations))
            .await;
        made.unwrap().success().unwrap();
    }
    stand.remove().await;
    until(SOON, "the orphan is gone", async || {
        anyhow::ensure!(
            stand.get("configmap", "left").await == Value::Null,
            "it is there"
        );
        Ok(())
    })
    .await
    .unwrap();
    for kept in ["kept", "foreign"] {
        assert_ne!(stand.get("configmap", kept).await, Value::Null, "{kept}");
    }
}
