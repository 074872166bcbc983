//! What the client says when something is wrong: mount, rights, token, seal, namespace, certificate.

use std::time::Duration;

use domain::tenancy::facts::EntryFact;
use domain::tenancy::failure::Class;
use secrecy::SecretString;
use serde_json::{Value, json};
use tenantry::adapters::openbao::{OpenBao, OpenBaoSettings, generate_password};

use super::server::{PATH, Server, owner, read};

#[tokio::test]
async fn case_42_a_kv_v1_or_missing_mount_is_misconfigured_and_nothing_is_written() {
    let server = Server::start().await;
    server
        .call(
            "POST",
            "sys/mounts/old",
            json!({"type": "kv", "options": {"version": "1"}}),
        )
        .await;
    for (mount, words) in [
        ("old", "version 2"),
        ("cubbyhole", "version 2"),
        ("nowhere", "no mount"),
    ] {
        let bao = OpenBao::new(OpenBaoSettings {
            mount: mount.to_owned(),
            ..server.settings("root")
        })
        .unwrap();
        let failure = bao
            .create(PATH, &owner(), &SecretString::from("pw"))
            .await
            .unwrap_err();
        assert_eq!(failure.class, Class::Misconfigured, "{mount}");
        assert!(failure.text.contains(words), "{failure}");
    }
    let (status, _) = server
        .try_call("GET", &format!("old/data/{PATH}"), None)
        .await
        .unwrap();
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_missing_right_names_what_was_refused_and_the_rest_still_works() {
    let server = Server::start().await;
    let policy = "path \"secret/data/*\" { capabilities = [\"create\", \"read\"] }\n\
                  path \"secret/metadata/*\" { capabilities = [\"read\"] }";
    let token = server.token(policy).await;
    let bao = OpenBao::new(server.settings(&token)).unwrap();
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    let failure = bao.mark(PATH, &owner()).await.unwrap_err();
    assert_eq!(failure.class, Class::Authentication);
    assert!(
        failure
            .text
            .contains(&format!("marking secret/metadata/{PATH}")),
        "{failure}"
    );
    assert!(read(&bao, PATH).await.password.is_some());
    assert_eq!(
        bao.destroy(PATH).await.unwrap_err().class,
        Class::Authentication
    );
}

#[tokio::test]
async fn h34_a_token_revoked_in_the_middle_is_replaced_from_its_file() {
    let server = Server::start().await;
    let policy =
        "path \"secret/*\" { capabilities = [\"create\", \"read\", \"update\", \"delete\"] }";
    let (old, new) = (server.token(policy).await, server.token(policy).await);
    let bao = OpenBao::new(server.settings(&old)).unwrap();
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    server
        .call("POST", "auth/token/revoke", json!({"token": old}))
        .await;
    server.token_file(&new);
    assert!(read(&bao, PATH).await.password.is_some());
}

#[tokio::test]
async fn h34_a_sealed_server_is_unavailable_and_says_so() {
    let server = Server::start().await;
    let bao = server.client();
    assert_eq!(read(&bao, PATH).await.fact, EntryFact::Absent);
    server.call("POST", "sys/seal", Value::Null).await;
    for failure in [
        bao.read(PATH).await.err().unwrap(),
        bao.create(PATH, &owner(), &generate_password())
            .await
            .unwrap_err(),
        bao.destroy(PATH).await.unwrap_err(),
        server.client().read(PATH).await.err().unwrap(),
    ] {
        assert_eq!(failure.class, Class::Unavailable);
        assert!(failure.text.contains("sealed"), "{failure}");
    }
}

#[tokio::test]
async fn a_namespace_has_its_own_mounts_and_a_missing_one_is_misconfigured() {
    let server = Server::start().await;
    server
        .call("POST", "sys/namespaces/team", Value::Null)
        .await;
    server
        .call(
            "POST",
            "team/sys/mounts/secret",
            json!({"type": "kv", "options": {"version": "2"}}),
        )
        .await;
    let inside = OpenBaoSettings {
        namespace: Some("team".to_owned()),
        ..server.settings("root")
    };
    let bao = OpenBao::new(inside).unwrap();
    for _ in 0..100 {
        // A fresh KV v2 mount answers 400 until its upgrade from nothing is done.
        if bao.read(PATH).await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    assert!(read(&bao, PATH).await.password.is_some());
    assert_eq!(read(&server.client(), PATH).await.fact, EntryFact::Absent);
    let missing = OpenBaoSettings {
        namespace: Some("nowhere".to_owned()),
        ..server.settings("root")
    };
    let failure = OpenBao::new(missing)
        .unwrap()
        .read(PATH)
        .await
        .err()
        .unwrap();
    assert_eq!(failure.class, Class::Misconfigured, "{failure}");
}

#[tokio::test]
async fn tls_is_verified_with_the_ca_file_and_a_refused_certificate_is_named() {
    let server = Server::start_by("https").await;
    let ca_file = server.folder.join("vault-ca.pem");
    let trusting = OpenBaoSettings {
        ca_file: Some(ca_file),
        ..server.settings("root")
    };
    let bao = OpenBao::new(trusting).unwrap();
    assert_eq!(read(&bao, PATH).await.fact, EntryFact::Absent);
    // The system's roots do not know this CA.
    let failure = server.client().read(PATH).await.err().unwrap();
    assert_eq!(failure.class, Class::Unavailable);
    assert!(
        failure.text.contains("certificate was not accepted"),
        "{failure}"
    );
}
