//! Stories: `tenantry package push`.

use std::fs;

use e2e::bed::registry::{Access, PASSWORD, USER};

use super::source::{SCHEMA, Source};

#[tokio::test]
async fn the_same_content_is_unchanged_and_other_content_is_refused_without_force() {
    let source = Source::shared("pushed", Access::default()).await;
    let folder = source.sources("shop", "v1.0.0", SCHEMA);
    let first = source
        .push_folder(&folder, &["--channel", "stable"])
        .await
        .success()
        .unwrap();
    assert_eq!(
        first.stdout.matches(" pushed\n").count(),
        4,
        "{}",
        first.stdout
    );
    assert!(
        first
            .stdout
            .contains("/packages/shop/version:stable@sha256:"),
        "{}",
        first.stdout
    );
    let second = source.push_folder(&folder, &[]).await.success().unwrap();
    assert_eq!(
        second.stdout.matches(" unchanged\n").count(),
        3,
        "{}",
        second.stdout
    );
    fs::write(folder.join("openapi/settings.yaml"), "{type: object}").unwrap();
    let other = source.push_folder(&folder, &[]).await;
    assert_eq!(other.code, 1);
    assert!(
        other
            .stderr
            .contains("shop:v1.0.0 is there with other content"),
        "{}",
        other.stderr
    );
    assert_eq!(other.stdout, "", "nothing was pushed");
    let forced = source
        .push_folder(&folder, &["--force"])
        .await
        .success()
        .unwrap();
    assert!(forced.stdout.contains("pushed"), "{}", forced.stdout);
}

#[tokio::test]
async fn a_package_with_mistakes_or_without_a_version_is_not_pushed() {
    let source = Source::shared("mistakes", Access::default()).await;
    let folder = source.sources(
        "shop",
        "v1.0.0",
        "{properties: {a: {x-deckhouse-validations: 1}}}",
    );
    let refused = source.push_folder(&folder, &[]).await;
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("nothing was pushed"),
        "{}",
        refused.stderr
    );
    let folder = source.sources("shop", "latest", SCHEMA);
    let refused = source.push_folder(&folder, &[]).await;
    assert!(
        refused.code == 1 && refused.stderr.contains("\"latest\" is no version"),
        "{}",
        refused.stderr
    );
    let named = source
        .push_folder(&folder, &["--package-version", "v1.0.0"])
        .await;
    named.success().unwrap();
    let nowhere = source.push_folder(&folder.join("nowhere"), &[]).await;
    assert_eq!(nowhere.code, 2, "{}", nowhere.stderr);
}

#[tokio::test]
async fn a_registry_that_wants_a_login_or_is_away_is_told_without_the_login() {
    let access = Access {
        tls: true,
        password: true,
    };
    let source = Source::shared("logins", access).await;
    let folder = source.sources("shop", "v1.0.0", SCHEMA);
    let authority = source.bed.authority().unwrap().file().display().to_string();
    let without = source
        .push_folder(&folder, &["--ca-file", &authority])
        .await;
    assert_eq!(without.code, 1);
    let config = folder.parent().unwrap().join("config.json");
    let entry = format!(
        "{{\"auths\": {{\"{}\": {{\"username\": \"{USER}\", \"password\": \"{PASSWORD}\"}}}}}}",
        source.registry.address()
    );
    fs::write(&config, entry).unwrap();
    let config = config.display().to_string();
    let with = ["--ca-file", &authority, "--docker-config", &config];
    source.push_folder(&folder, &with).await.success().unwrap();
    source.registry.stop();
    let away = source.push_folder(&folder, &with).await;
    assert_eq!(away.code, 1);
    for said in [without, away] {
        assert!(!said.stderr.contains(PASSWORD), "{}", said.stderr);
        assert!(
            said.stderr.contains(source.registry.address()),
            "{}",
            said.stderr
        );
    }
    source.registry.start().await.unwrap();
}
