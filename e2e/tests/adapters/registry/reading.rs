//! What is in a registry is read as it was sent.

use e2e::bed::registry::{Access as How, PASSWORD, USER};
use futures::StreamExt as _;
use serde_json::json;
use tenantry::adapters::registry::Kind;

use super::world::{INDEX, World, image, open};

const PROTECTED: How = How {
    tls: true,
    password: true,
};

#[tokio::test]
async fn an_image_comes_back_as_it_was_sent_over_tls_and_behind_a_password() {
    let world = World::start("sent", PROTECTED).await;
    let registry = world.open();
    let sent = image("the layer");
    for (path, tag) in [("shop", "v1.0.0"), ("shop/version", "v1.0.0"), ("", "shop")] {
        registry.push(path, tag, &sent).await.unwrap();
    }
    let read = registry.pull("shop/version", "v1.0.0").await.unwrap();
    assert_eq!(read.digest, sent.digest);
    assert_eq!(read.layers.len(), 1);
    assert_eq!(&read.layers[0].bytes[..], b"the layer");
    let folder = tempfile::tempdir().unwrap();
    let kept = registry
        .download("shop", &sent.digest, folder.path())
        .await
        .unwrap();
    assert_eq!(kept.digest, sent.digest);
    assert_eq!(std::fs::read(&kept.layers[0]).unwrap(), b"the layer");
    assert_eq!(registry.tags("").await.unwrap(), ["shop"]);
    let digest = registry.digest("shop", "v1.0.0").await.unwrap();
    assert_eq!(digest, sent.digest);
    let error = registry.digest("shop", "v2.0.0").await.unwrap_err();
    assert_eq!(error.kind, Kind::Absent);
}

#[tokio::test]
async fn a_docker_configuration_is_as_good_as_login_and_password() {
    let world = World::start("docker", PROTECTED).await;
    let mut spec = world.spec();
    (spec.login, spec.password) = (None, None);
    let host = world.server.address();
    let auths = json!({"auths": {host: {"username": USER, "password": PASSWORD}}});
    spec.docker_cfg = Some(auths.to_string());
    let registry = open(&spec);
    registry.push("", "shop", &image("x")).await.unwrap();
    assert_eq!(registry.tags("").await.unwrap(), ["shop"]);
}

#[tokio::test]
async fn every_tag_is_listed_beyond_one_page() {
    let world = World::start("pages", How::default()).await;
    let registry = world.open();
    let sent = image("x");
    registry.push("shop", "v0.0.0", &sent).await.unwrap();
    let manifest = world.manifest("shop", "v0.0.0").await;
    let tags: Vec<String> = (1..1_100).map(|patch| format!("v0.0.{patch}")).collect();
    futures::stream::iter(&tags)
        .for_each_concurrent(8, async |tag| {
            world
                .put("shop", tag, super::world::MANIFEST, &manifest)
                .await;
        })
        .await;
    assert_eq!(registry.tags("shop").await.unwrap().len(), 1_100);
}

#[tokio::test]
async fn of_an_index_the_image_for_our_platform_or_the_only_one_is_read() {
    let world = World::start("index", How::default()).await;
    let registry = world.open();
    let (ours, other) = (image("ours"), image("other"));
    registry.push("shop", "ours", &ours).await.unwrap();
    registry.push("shop", "other", &other).await.unwrap();
    let entry = |digest: &str, platform: Option<(&str, &str)>| {
        let mut entry = json!({"mediaType": super::world::MANIFEST, "digest": digest, "size": 1});
        if let Some((os, architecture)) = platform {
            entry["platform"] = json!({"os": os, "architecture": architecture});
        }
        entry
    };
    let index = |entries: &[serde_json::Value]| json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    let arm = entry(&other.digest, Some(("linux", "arm64")));
    let attestation = entry(&other.digest, Some(("unknown", "unknown")));
    let both = index(&[arm.clone(), entry(&ours.digest, Some(("linux", "amd64")))]);
    let only = index(&[entry(&ours.digest, None), attestation]);
    let neither = index(&[arm.clone(), arm]);
    for (tag, index) in [("both", both), ("only", only), ("neither", neither)] {
        world.put("shop", tag, INDEX, &index).await;
    }
    for tag in ["both", "only"] {
        let read = registry.pull("shop", tag).await.unwrap();
        assert_eq!(read.digest, ours.digest, "{tag}");
        assert_eq!(&read.layers[0].bytes[..], b"ours");
    }
    let error = registry.pull("shop", "neither").await.unwrap_err();
    assert_eq!(error.kind, Kind::Damaged);
    assert!(error.to_string().contains("linux/amd64"), "{error}");
}
