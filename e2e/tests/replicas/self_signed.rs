//! Story: two processes that make their certificate themselves, from the first start to renewals and broken Secrets.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use e2e::bed::SYSTEM_NAMESPACE;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::{Tenantry, TenantryOptions};
use e2e::{Bed, Options};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::load;

const SECRET: &str = "tenantry-webhook-tls";

#[tokio::test]
async fn alone_replicas_share_one_self_signed_certificate_and_renew_it_without_a_failed_request() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let options = TenantryOptions::default()
        .self_signed()
        .switch("--leader-elect")
        .flag("--self-signed-interval", "1s");
    let mut world = World::private(bed, options, "selfsigned").await.unwrap();
    let second = world.tenantry.another(&world.bed, "second").await.unwrap();

    two_that_start_at_once_agree_on_one_authority(&world, &second).await;
    let second = Arc::new(second);
    a_broken_secret_is_mended_and_said_without_a_failed_request(&world, &second).await;
    a_secret_of_somebody_else_is_left_alone(&world).await;
    renewals_of_pair_and_authority_lose_no_request(&mut world, second).await;
}

async fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.bed.kube().await.unwrap(), SYSTEM_NAMESPACE)
}

async fn stored(world: &World, key: &str) -> Vec<u8> {
    let secret = secrets(world).await.get(SECRET).await.unwrap();
    secret.data.unwrap_or_default().remove(key).unwrap().0
}

async fn change(world: &World, key: &str, value: &[u8]) {
    let changes = json!({"data": {key: ByteString(value.to_vec())}});
    secrets(world)
        .await
        .patch(SECRET, &PatchParams::default(), &Patch::Merge(changes))
        .await
        .unwrap();
}

fn authorities(bundle: &str) -> usize {
    bundle.matches("BEGIN CERTIFICATE").count()
}

async fn two_that_start_at_once_agree_on_one_authority(world: &World, second: &Tenantry) {
    for _ in 0..3 {
        world.tenantry.stop();
        second.stop();
        let gone = DeleteParams::default();
        secrets(world).await.delete(SECRET, &gone).await.unwrap();
        world.tenantry.spawn().unwrap();
        second.spawn().unwrap();
        let before = world.tenantry.ready(SOON);
        let (one, two) = tokio::join!(before, second.ready(SOON));
        one.unwrap();
        two.unwrap();
        let bundle = world.tenantry.ca_bundle().await.unwrap();
        assert_eq!(bundle.as_bytes(), stored(world, "ca.crt").await);
        let newest = bundle.split_inclusive("-----END CERTIFICATE-----\n").next();
        for process in [&world.tenantry, second] {
            let client = e2e::world::tenantry::trusting(newest.unwrap().as_bytes()).unwrap();
            let answer = client.get(format!("{}/readyz", process.url)).send().await;
            assert_eq!(answer.unwrap().status(), 200);
        }
    }
    world.ready_tenant("shared", "").await.unwrap();
}

async fn a_broken_secret_is_mended_and_said_without_a_failed_request(
    world: &World,
    second: &Arc<Tenantry>,
) {
    let loads = [load::direct(second), load::admissions(world)];
    let certificate = stored(world, "tls.crt").await;
    let other_key = rcgen_key();
    let cases: [(&str, &[u8]); 5] = [
        ("tls.key", b""),
        ("tls.crt", &certificate[..certificate.len() / 2]),
        ("tls.key", other_key.as_bytes()),
        ("ca.crt", b""),
        ("ca.key", other_key.as_bytes()),
    ];
    for (key, value) in cases {
        let before = secrets(world).await.get(SECRET).await.unwrap();
        change(world, key, value).await;
        until(SOON, &format!("{key} is mended"), async || {
            let now = secrets(world).await.get(SECRET).await?;
            let data = now.data.unwrap_or_default();
            ensure!(data[key].0 != value, "not yet");
            // Only the pair is made anew; the authority is put back from memory.
            let kept = &before.data.as_ref().unwrap()["ca.crt"];
            ensure!(data["ca.crt"] == *kept, "the authority changed");
            Ok(())
        })
        .await
        .unwrap();
        // Both replicas have seen it.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    for load in loads {
        load::none_failed(load, 20).await;
    }
    let events = world.bed.kubectl();
    let said = events
        .run(&["get", "events", "-n", SYSTEM_NAMESPACE, "-o", "json"])
        .await
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    assert!(said.contains("ServingCertificateFault"), "{said}");
    assert!(said.contains("tls.key is missing or empty"), "{said}");
}

fn rcgen_key() -> String {
    rcgen::KeyPair::generate().unwrap().serialize_pem()
}

async fn a_secret_of_somebody_else_is_left_alone(world: &World) {
    let foreign = Secret {
        metadata: kube::api::ObjectMeta {
            name: Some("foreign".to_owned()),
            ..kube::api::ObjectMeta::default()
        },
        data: Some([("tls.key".to_owned(), ByteString(b"theirs".to_vec()))].into()),
        ..Secret::default()
    };
    let api = secrets(world).await;
    api.create(&kube::api::PostParams::default(), &foreign)
        .await
        .unwrap();
    let mut wrong = world.tenantry.another(&world.bed, "wrong").await.unwrap();
    wrong.options = wrong
        .options
        .clone()
        .flag("--self-signed-secret", "foreign");
    wrong.spawn().unwrap();
    wrong.ended(SOON).await.unwrap();
    let log = std::fs::read_to_string(wrong.log_file()).unwrap();
    assert!(
        log.contains("--self-signed-secret") && log.contains("foreign holds something"),
        "{log}"
    );
    let after = api.get("foreign").await.unwrap().data.unwrap();
    assert_eq!(after["tls.key"].0, b"theirs");
}

async fn renewals_of_pair_and_authority_lose_no_request(world: &mut World, second: Arc<Tenantry>) {
    second.stop();
    drop(second);
    let options = world.tenantry.options.clone();
    world.tenantry.options = options
        .flag("--self-signed-authority-lifetime", "24s")
        .flag("--self-signed-certificate-lifetime", "12s");
    let second = world.tenantry.another(&world.bed, "quick").await.unwrap();
    world.tenantry.stop();
    let gone = DeleteParams::default();
    secrets(world).await.delete(SECRET, &gone).await.unwrap();
    world.tenantry.restart().await.unwrap();
    second.restart().await.unwrap();
    let second = Arc::new(second);
    let loads = [load::direct(&second), load::admissions(world)];
    let (mut pairs, mut bundles) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..40 {
        pairs.insert(stored(world, "tls.crt").await);
        bundles.insert(world.tenantry.ca_bundle().await.unwrap());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    for load in loads {
        load::none_failed(load, 200).await;
    }
    assert!(pairs.len() >= 4, "{} pairs", pairs.len());
    assert!(bundles.len() >= 3, "{} bundles", bundles.len());
    assert!(bundles.iter().any(|bundle| authorities(bundle) >= 2));
    let shown = world.tenantry.get("/metrics").await.unwrap().1;
    assert!(
        shown.contains("tenantry_serving_certificate_expiration_timestamp_seconds"),
        "{shown}"
    );
}
