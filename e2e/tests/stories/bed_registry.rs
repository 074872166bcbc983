//! Story: the bed's registry is a real one, over TLS and behind a password when asked for.

use e2e::Bed;
use e2e::bed::install_crypto_provider;
use e2e::bed::pki::Authority;
use e2e::bed::registry::{Access, PASSWORD, Registry, USER};
use reqwest::{Certificate, Client, StatusCode};

async fn status(client: &Client, url: &str, password: Option<&str>) -> StatusCode {
    let mut request = client.get(url);
    if let Some(password) = password {
        request = request.basic_auth(USER, Some(password));
    }
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn the_registry_lets_in_by_its_password_over_a_certificate_of_the_bed() {
    install_crypto_provider();
    let bed = Bed::shared().unwrap();
    let access = Access {
        tls: true,
        password: true,
    };
    let name = format!("story-{}", std::process::id());
    let registry: Registry = bed.registry(&name, access).await.unwrap();
    let authority = Authority::open(bed.folder(), Authority::BED).unwrap();
    let authority = Certificate::from_pem(&std::fs::read(authority.file()).unwrap()).unwrap();
    let client = Client::builder()
        .tls_certs_only([authority])
        .build()
        .unwrap();
    let url = format!("https://{}/v2/", registry.address());
    assert_eq!(status(&client, &url, None).await, StatusCode::UNAUTHORIZED);
    assert_eq!(
        status(&client, &url, Some("wrong")).await,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(status(&client, &url, Some(PASSWORD)).await, StatusCode::OK);
    registry.stop();
    assert!(std::net::TcpStream::connect(registry.address()).is_err());
}

#[tokio::test]
async fn the_registry_is_open_and_plain_unless_asked_and_keeps_what_it_holds() {
    install_crypto_provider();
    let bed = Bed::shared().unwrap();
    let name = format!("plain-{}", std::process::id());
    let registry = bed.registry(&name, Access::default()).await.unwrap();
    let client = Client::new();
    let base = format!("http://{}", registry.address());
    // SHA-256 of the three bytes "abc", a published test value.
    let digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let begun = client
        .post(format!("{base}/v2/shop/blobs/uploads/"))
        .send()
        .await
        .unwrap();
    assert_eq!(begun.status(), StatusCode::ACCEPTED);
    let place = begun.headers()["location"].to_str().unwrap().to_owned();
    let separator = if place.contains('?') { '&' } else { '?' };
    let put = client
        .put(format!("{place}{separator}digest={digest}"))
        .body("abc")
        .send()
        .await
        .unwrap();
    assert_eq!(put.status(), StatusCode::CREATED);
    registry.stop();
    registry.start().await.unwrap();
    let blob = client
        .get(format!("{base}/v2/shop/blobs/{digest}"))
        .send()
        .await
        .unwrap();
    assert_eq!(blob.text().await.unwrap(), "abc");
    assert!(registry.storage().is_dir());
}
