//! Stories: what is pushed to a registry is published by the next scan.

use e2e::bed::registry::Access;
use e2e::bed::wait::until;
use e2e::world::condition::await_gone;
use kube::api::ListParams;

use super::source::{SCHEMA, SOON, Source, condition};

const SUCCEEDED: &str = "LastScanSucceeded";

#[tokio::test]
async fn versions_that_were_pushed_are_published_and_new_ones_when_the_interval_has_passed() {
    let source = Source::shared("interval", Access::default()).await;
    source.push("shop", "v1.0.0", SCHEMA).await;
    source.push("shop", "v1.1.0", SCHEMA).await;
    source.apply(&source.manifest("10s", "")).await;
    let published = source
        .await_loaded("shop", "v1.0.0", "MetadataLoaded")
        .await;
    let schema = &published["packageSchemas"]["settingsSchema"]["openAPIV3Schema"];
    assert_eq!(schema["properties"]["size"]["default"], 3);
    source
        .await_loaded("shop", "v1.1.0", "MetadataLoaded")
        .await;
    let status = source.await_scan(SUCCEEDED, "").await;
    assert_eq!(status["phase"], "Active");
    assert_eq!(status["packagesCount"], 1);
    assert_eq!(status["packages"][0]["name"], "shop");
    assert_eq!(status["packages"][0]["type"], "Application");
    assert_eq!(status["lastNewVersions"], 2);
    let labels = source.labels("shop", "v1.0.0").await.unwrap();
    assert_eq!(labels["packages.deckhouse.io/exist-in-registry"], "true");
    assert_eq!(
        labels["packages.deckhouse.io/repository"],
        source.name.as_str()
    );

    source.push("shop", "v1.2.0", SCHEMA).await;
    source.push("blog", "v0.1.0", SCHEMA).await;
    source
        .await_loaded("shop", "v1.2.0", "MetadataLoaded")
        .await;
    source
        .await_loaded("blog", "v0.1.0", "MetadataLoaded")
        .await;
    let kept = source.await_status(
        "PackageRepository",
        &source.name,
        "two packages",
        |status| status["packagesCount"] == 2 && status["lastNewVersions"] == 0,
    );
    let kept = kept.await;
    assert!(
        kept["lastScanTime"].as_str() > kept["lastChangeTime"].as_str(),
        "{kept}"
    );
}

#[tokio::test]
async fn an_operation_scans_at_once_and_says_what_it_looked_at() {
    let source = Source::shared("asked", Access::default()).await;
    source.push("shop", "v1.0.0", SCHEMA).await;
    source.apply(&source.manifest("6h", "")).await;
    source
        .await_loaded("shop", "v1.0.0", "MetadataLoaded")
        .await;
    source.await_scan(SUCCEEDED, "").await;
    source.push("shop", "v1.1.0", SCHEMA).await;

    let partial = source.ask(1, "{}").await;
    let status = source.ended(&partial).await;
    assert_eq!(status["phase"], "Completed", "{status}");
    assert_eq!(condition(&status).unwrap().0, "True");
    assert!(status["startTime"].is_string() && status["completionTime"].is_string());
    assert_eq!(
        status["packages"],
        serde_json::json!([{"name": "shop", "versions": 2, "read": 1}])
    );
    source
        .await_loaded("shop", "v1.1.0", "MetadataLoaded")
        .await;
    let full = source.ask(2, "{fullScan: true, timeout: 1m}").await;
    let status = source.ended(&full).await;
    assert_eq!(status["packages"][0]["read"], 2, "{status}");

    let wrong = source.ask(3, "{timeout: 1h30}").await;
    let status = source.ended(&wrong).await;
    assert_eq!(status["phase"], "Failed");
    let message = condition(&status).unwrap().2;
    assert!(message.contains("spec.update.timeout"), "{message}");
    source.await_scan(SUCCEEDED, "").await;
}

#[tokio::test]
async fn a_version_that_left_the_registry_stays_and_says_so_and_a_deleted_repository_takes_its_own_along()
 {
    let source = Source::shared("withdrawn", Access::default()).await;
    source.push("shop", "v1.0.0", SCHEMA).await;
    source.push("shop", "v1.1.0", SCHEMA).await;
    source.apply(&source.manifest("6h", "")).await;
    source
        .await_loaded("shop", "v1.1.0", "MetadataLoaded")
        .await;
    source.await_scan(SUCCEEDED, "").await;
    let tags = source
        .registry
        .storage()
        .join("repositories/packages/shop/version/_manifests/tags");
    std::fs::remove_dir_all(tags.join("v1.0.0")).unwrap();
    let operation = source.ask(1, "{}").await;
    assert_eq!(source.ended(&operation).await["phase"], "Completed");
    until(SOON, "the label says that it is gone", async || {
        let labels = source.labels("shop", "v1.0.0").await?;
        anyhow::ensure!(
            labels["packages.deckhouse.io/exist-in-registry"] == "false",
            "{labels}"
        );
        Ok(())
    })
    .await
    .unwrap();
    source
        .await_loaded("shop", "v1.0.0", "MetadataLoaded")
        .await;

    let delete = ["delete", "packagerepository", &source.name];
    source
        .bed
        .kubectl()
        .run(&delete)
        .await
        .unwrap()
        .success()
        .unwrap();
    for kind in ["ApplicationPackageVersion", "PackageRepositoryOperation"] {
        let objects = source.objects(kind).await;
        let listed = objects.list(&ListParams::default()).await.unwrap();
        let ours = listed
            .iter()
            .filter_map(|object| object.metadata.name.clone());
        // What a person asked for belongs to the person.
        let ours = ours.filter(|name| name.starts_with(&source.name) && !name.contains("-asked-"));
        for name in ours.collect::<Vec<_>>() {
            await_gone(&objects, &name, SOON).await.unwrap();
        }
    }
}
