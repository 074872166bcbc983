//! Stories: what keeps an Application from being applied is told where people look, what was in force stays, and it goes on by itself.

use serde_json::json;

use super::stand::{ACCOUNT, PRINTER, Stand, reason};

#[tokio::test]
async fn s21_a_missing_account_is_named_and_one_that_comes_later_is_enough() {
    let stand = Stand::shared_without_account("account").await;
    stand.apply("v1.0.0", "{}", "").await;
    let waiting = stand
        .awaited("it says why", |object| {
            reason(object, "Installed").is_some_and(|found| found.1 == "ManifestsApplyFailed")
        })
        .await;
    let (status, _, message) = reason(&waiting, "Installed").unwrap();
    assert_eq!(status, "False");
    assert!(
        message.contains(ACCOUNT) && message.contains("applications.namespaces"),
        "{message}"
    );
    assert_eq!(waiting["status"]["summary"]["state"], "Failed");
    stand.make_account().await;
    stand.ready(&json!({"size": 3})).await;
}

#[tokio::test]
async fn s22_an_object_of_another_namespace_is_refused_and_what_was_applied_before_stays() {
    let stand = Stand::shared("scope").await;
    stand.apply("v1.0.0", "{size: 1}", "").await;
    stand.ready(&json!({"size": 1})).await;
    let foreign = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\n";
    stand
        .publish("v1.1.0", &[("templates/foreign.yaml", foreign)])
        .await;
    stand.apply("v1.1.0", "{size: 2}", "").await;
    let refused = stand
        .awaited("it says what is refused", |object| {
            reason(object, "UpdateInstalled").is_some_and(|found| found.1 == "ManifestsApplyFailed")
        })
        .await;
    let message = reason(&refused, "UpdateInstalled").unwrap().2;
    assert!(
        message.contains("ConfigMap \"a\" is in namespace \"kube-system\""),
        "{message}"
    );
    assert_eq!(refused["status"]["currentVersion"]["version"], "v1.0.0");
    assert_eq!(
        refused["status"]["lastAppliedConfiguration"],
        json!({"size": 1})
    );
    assert_eq!(stand.seen().await.unwrap()["settings"], "{\"size\":1}");
    // Back to what was in force: nothing is broken any more.
    stand.apply("v1.0.0", "{size: 1}", "").await;
    stand.ready(&json!({"size": 1})).await;
}

#[tokio::test]
async fn a_template_that_does_not_render_fails_the_first_installation_and_a_mended_version_is_installed()
 {
    let stand = Stand::shared("render").await;
    stand
        .publish(
            "v1.1.0",
            &[("templates/broken.yaml", "{{ fail \"no class\" }}")],
        )
        .await;
    stand.apply("v1.1.0", "{}", "").await;
    let failed = stand
        .awaited("it says what failed", |object| {
            reason(object, "Installed").is_some_and(|found| found.1 == "ManifestsApplyFailed")
        })
        .await;
    let message = reason(&failed, "Installed").unwrap().2;
    assert!(
        message.contains("templates/broken.yaml:1") && message.contains("no class"),
        "{message}"
    );
    assert_eq!(failed["status"]["conditions"].as_array().unwrap().len(), 1);
    stand.apply("v1.0.0", "{}", "").await;
    stand.ready(&json!({"size": 3})).await;
}

#[tokio::test]
async fn a_package_with_hooks_is_not_installed_without_them() {
    let stand = Stand::shared("hooks").await;
    stand
        .publish(
            "v1.1.0",
            &[
                ("hooks/batchhooks", "#!/bin/sh\n"),
                ("templates/seen.yaml", PRINTER),
            ],
        )
        .await;
    stand.executable("v1.1.0", "hooks/batchhooks");
    stand.apply("v1.1.0", "{}", "").await;
    stand
        .awaited("it says that hooks are not run", |object| {
            reason(object, "Installed").is_some_and(|found| found.1 == "HookInitializationFailed")
        })
        .await;
    assert!(stand.seen().await.is_err(), "nothing was applied");
}

#[tokio::test]
async fn an_application_goes_with_its_namespace() {
    let stand = Stand::shared("namespace").await;
    stand.apply("v1.0.0", "{}", "").await;
    stand.ready(&json!({"size": 3})).await;
    let delete = [
        "delete",
        "namespace",
        &stand.namespace.name,
        "--timeout=100s",
    ];
    stand.kubectl(&delete).await.success().unwrap();
}
