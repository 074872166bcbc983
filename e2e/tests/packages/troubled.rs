//! Stories: what is wrong with a registry, or with what lies in it, is told where people look, and stops nothing else.

use std::fs;

use e2e::bed::registry::{Access, PASSWORD};
use e2e::world::tenantry::Tenantry;

use super::source::{SCHEMA, Source, condition};

const SUCCEEDED: &str = "LastScanSucceeded";
const UNREADABLE: &str = "SourceUnreadable";

#[tokio::test]
async fn an_empty_registry_is_told_and_what_is_pushed_then_is_found_by_a_scan() {
    let source = Source::shared("empty", Access::default()).await;
    source.apply(&source.manifest("1h", "")).await;
    source
        .await_scan(UNREADABLE, "the list of packages cannot be read")
        .await;
    source.push("shop", "v1.0.0", SCHEMA).await;
    let operation = source.ask(1, "{}").await;
    assert_eq!(source.ended(&operation).await["phase"], "Completed");
    source
        .await_loaded("shop", "v1.0.0", "MetadataLoaded")
        .await;
    source.await_scan(SUCCEEDED, "").await;
}

#[tokio::test]
async fn a_registry_that_refuses_the_login_is_told_without_it_and_a_mended_spec_is_scanned_at_once()
{
    let access = Access {
        tls: true,
        password: true,
    };
    let source = Source::shared("login", access).await;
    let file = source.bed.authority().unwrap().file();
    let authority = fs::read_to_string(file).unwrap().replace('\n', "\\n");
    let ca = format!(", ca: \"{authority}\"");
    source.apply(&source.manifest("6h", "")).await;
    source.await_scan(UNREADABLE, "certificate").await;
    source.apply(&source.manifest("6h", &ca)).await;
    source.await_scan(UNREADABLE, "credential").await;
    let wrong = format!("{ca}, login: bed, password: wrong-{PASSWORD}");
    source.apply(&source.manifest("6h", &wrong)).await;
    source.await_scan(UNREADABLE, "credential").await;
    let right = format!("{ca}{}", Source::login());
    source.apply(&source.manifest("6h", &right)).await;
    // It is reached now: only that it is empty is wrong.
    source.await_scan(UNREADABLE, "not").await;

    let name = [
        "get",
        "packagerepository",
        &source.name,
        "-o",
        "jsonpath={.status}",
    ];
    let status = source.bed.kubectl().run(&name).await.unwrap();
    assert!(!status.stdout.contains(PASSWORD), "{}", status.stdout);
    let log = fs::read_to_string(Tenantry::shared(&source.bed).await.unwrap().log_file());
    assert!(!log.unwrap().contains(PASSWORD));
}

#[tokio::test]
async fn a_registry_that_is_away_fails_the_operation_keeps_what_is_published_and_is_tried_again() {
    let source = Source::shared("away", Access::default()).await;
    source.push("shop", "v1.0.0", SCHEMA).await;
    source.apply(&source.manifest("6h", "")).await;
    source
        .await_loaded("shop", "v1.0.0", "MetadataLoaded")
        .await;
    source.await_scan(SUCCEEDED, "").await;
    source.registry.stop();
    let operation = source.ask(1, "{}").await;
    let status = source.ended(&operation).await;
    assert_eq!(status["phase"], "Failed");
    let repository = source.await_scan(UNREADABLE, "the list of packages").await;
    assert_eq!(
        repository["packages"][0]["name"], "shop",
        "what could not be listed was not taken away"
    );
    let labels = source.labels("shop", "v1.0.0").await.unwrap();
    assert_eq!(labels["packages.deckhouse.io/exist-in-registry"], "true");
    source.registry.start().await.unwrap();
    // Fifteen seconds after the failure, not six hours.
    source.await_scan(SUCCEEDED, "").await;
}

#[tokio::test]
async fn broken_versions_and_names_are_told_each_where_it_is_and_the_rest_is_published() {
    let source = Source::shared("broken", Access::default()).await;
    source.push("shop", "v1.0.0", SCHEMA).await;
    source.push("shop", "v1.1.0", SCHEMA).await;
    source.push("shop", "v1.2.0", SCHEMA).await;
    let version = source
        .registry
        .storage()
        .join("repositories/packages/shop/version");
    let tags = version.join("_manifests/tags");
    fs::rename(tags.join("v1.1.0"), tags.join("v1.1")).unwrap();
    damage(&source, &tags.join("v1.2.0/current/link"));
    source.apply(&source.manifest("6h", "")).await;
    source
        .await_loaded("shop", "v1.0.0", "MetadataLoaded")
        .await;
    let broken = source.await_loaded("shop", "v1.2.0", "GetImageError").await;
    let message = condition(&broken).unwrap().2.to_owned();
    assert!(
        message.contains("v1.2.0") || message.contains("digest"),
        "{message}"
    );
    let labels = source.labels("shop", "v1.2.0").await.unwrap();
    assert_eq!(labels["packages.deckhouse.io/draft"], "true");
    source
        .await_scan("EntriesSkipped", "\"v1.1\" of package shop is skipped")
        .await;
}

/// Changes a byte of the manifest that a tag points to.
fn damage(source: &Source, link: &std::path::Path) {
    let digest = fs::read_to_string(link).unwrap();
    let digest = digest.trim().strip_prefix("sha256:").unwrap().to_owned();
    let blobs = source.registry.storage().join("blobs/sha256");
    let blob = blobs.join(&digest[..2]).join(&digest).join("data");
    let text = fs::read_to_string(&blob).unwrap();
    fs::write(&blob, text.replacen("\"size\":", "\"size\": ", 1)).unwrap();
}
