//! What a registry cannot give, or gives wrongly, is told in words that help, and never with a credential (C5, H38).

use std::fs;

use e2e::bed::registry::{Access as How, PASSWORD};
use tenantry::adapters::registry::{Access, Kind, Registry, RegistryError};

use super::world::{MANIFEST, World, image, open};

const TLS: How = How {
    tls: true,
    password: false,
};

async fn refused(registry: &Registry) -> RegistryError {
    registry.tags("shop").await.unwrap_err()
}

fn assert_said(error: &RegistryError, kind: Kind, part: &str) {
    let text = error.to_string();
    assert_eq!(error.kind, kind, "{text}");
    assert!(text.contains(part), "{text}");
}

#[tokio::test]
async fn a_registry_that_is_away_is_said_to_be_and_is_found_when_it_is_back() {
    let world = World::start("away", How::default()).await;
    let registry = world.open();
    registry.push("shop", "v1.0.0", &image("x")).await.unwrap();
    world.server.stop();
    assert_said(&refused(&registry).await, Kind::Away, "cannot be reached");
    world.server.start().await.unwrap();
    assert_eq!(registry.tags("shop").await.unwrap(), ["v1.0.0"]);
}

#[tokio::test]
async fn missing_and_wrong_credentials_are_told_by_their_field_and_never_shown() {
    let how = How {
        tls: false,
        password: true,
    };
    let world = World::start("denied", how).await;
    let mut spec = world.spec();
    spec.password = Some(format!("{PASSWORD}-wrong"));
    let wrong = open(&spec);
    (spec.login, spec.password) = (None, None);
    for registry in [wrong, open(&spec)] {
        for error in [
            refused(&registry).await,
            registry.pull("shop", "v1.0.0").await.unwrap_err(),
            registry
                .push("shop", "v1.0.0", &image("x"))
                .await
                .unwrap_err(),
        ] {
            assert_said(&error, Kind::Denied, "spec.registry.dockerCfg");
            assert!(!format!("{error} {error:?} {registry:?}").contains(PASSWORD));
        }
    }
}

#[tokio::test]
async fn a_certificate_of_an_authority_that_is_not_named_is_refused() {
    let world = World::start("untrusted", TLS).await;
    let mut spec = world.spec();
    spec.ca = None;
    assert_said(
        &refused(&open(&spec)).await,
        Kind::Untrusted,
        "give it in spec.registry.ca",
    );
    spec.ca = Some("no certificate".to_owned());
    let error = Access::of_spec(&spec).unwrap_err();
    assert_said(&error, Kind::Settings, "spec.registry.ca cannot be used");
}

#[tokio::test]
async fn the_wrong_protocol_is_told_both_ways() {
    let world = World::start("plain", How::default()).await;
    let mut spec = world.spec();
    spec.scheme = None;
    let error = refused(&open(&spec)).await;
    assert_said(&error, Kind::Untrusted, "spec.registry.scheme: HTTP");
    let world = World::start("encrypted", TLS).await;
    let mut spec = world.spec();
    spec.scheme = Some("HTTP".to_owned());
    let error = refused(&open(&spec)).await;
    assert_said(&error, Kind::Refused, "if it speaks HTTPS");
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let world = World::start("absent", How::default()).await;
    let registry = world.open();
    let error = registry.pull("shop/version", "v9.9.9").await.unwrap_err();
    assert_said(&error, Kind::Absent, "/packages/shop/version:v9.9.9");
    assert_said(&refused(&registry).await, Kind::Absent, "/packages/shop");
}

#[tokio::test]
async fn a_layer_with_another_digest_and_one_cut_short_are_refused_in_memory_and_on_disk() {
    let world = World::start("damaged", How::default()).await;
    let registry = world.open();
    let text = "a layer that will be damaged";
    registry.push("shop", "v1.0.0", &image(text)).await.unwrap();
    let manifest = world.manifest("shop", "v1.0.0").await;
    let blob = world.blob(manifest["layers"][0]["digest"].as_str().unwrap());
    for (damaged, part) in [
        (text.replace("will be", "was now"), "another digest"),
        (text[..10].to_owned(), "cut short"),
        (String::new(), "cut short"),
        (format!("{text} and more"), "longer than its manifest says"),
    ] {
        fs::write(&blob, &damaged).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let in_memory = registry.pull("shop", "v1.0.0").await.unwrap_err();
        assert_said(&in_memory, Kind::Damaged, part);
        let download = registry.download("shop", "v1.0.0", folder.path()).await;
        assert_said(&download.unwrap_err(), Kind::Damaged, part);
    }
    fs::write(&blob, text).unwrap();
    assert!(registry.pull("shop", "v1.0.0").await.is_ok());
}

#[tokio::test]
async fn a_manifest_with_another_digest_or_of_no_image_is_refused() {
    let world = World::start("manifest", How::default()).await;
    let registry = world.open();
    let sent = image("x");
    registry.push("shop", "v1.0.0", &sent).await.unwrap();
    let place = world.blob(&sent.digest);
    let manifest = fs::read_to_string(&place).unwrap();
    fs::write(
        &place,
        manifest.replace("amd64", "amd65").replace(':', ": "),
    )
    .unwrap();
    let error = registry.pull("shop", &sent.digest).await.unwrap_err();
    assert_eq!(error.kind, Kind::Damaged, "{error}");
    fs::write(&place, "hunter2").unwrap();
    let error = registry.pull("shop", "v1.0.0").await.unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[tokio::test]
async fn layers_that_are_said_to_be_too_large_are_not_asked_for() {
    let world = World::start("large", How::default()).await;
    let registry = world.open();
    registry.push("shop", "v1.0.0", &image("x")).await.unwrap();
    let mut manifest = world.manifest("shop", "v1.0.0").await;
    manifest["layers"][0]["size"] = (17u64 << 20).into();
    world.put("shop", "v1.0.1", MANIFEST, &manifest).await;
    let error = registry.pull("shop", "v1.0.1").await.unwrap_err();
    assert_said(&error, Kind::TooLarge, "more than 16 MiB");
    let layer = manifest["layers"][0].clone();
    manifest["layers"] = vec![layer; 129].into();
    world.put("shop", "v1.0.2", MANIFEST, &manifest).await;
    let error = registry.pull("shop", "v1.0.2").await.unwrap_err();
    assert_said(&error, Kind::TooLarge, "more than 128 layers");
}
