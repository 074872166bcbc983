//! Story: values that the chart refuses, and what it says. Nothing is installed.

use e2e::world::chart::{chart_folder, helm};

async fn refusal(values: &[&str]) -> String {
    let chart = chart_folder().display().to_string();
    let mut arguments = vec!["template", "tenantry", &chart];
    arguments.extend(values.iter().flat_map(|value| ["--set-json", value]));
    let output = helm(&arguments).await.unwrap();
    assert_ne!(output.code, 0, "{values:?} were taken");
    output.stderr
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_refused_with_its_path() {
    for (value, path) in [
        (
            r#"replicas="two""#,
            "at '/replicas': got string, want integer",
        ),
        ("replicas=-1", "at '/replicas'"),
        (
            r#"crds={"enabled":"yes"}"#,
            "at '/crds/enabled': got string, want boolean",
        ),
        (r#"webhook={"url":"http://192.0.2.7"}"#, "at '/webhook/url'"),
        (
            r#"webhook={"timeoutSeconds":31}"#,
            "at '/webhook/timeoutSeconds'",
        ),
        (
            r#"certificates={"mode":"letsEncrypt"}"#,
            "at '/certificates/mode'",
        ),
        (
            r#"certificates={"certManager":{"issuerRef":{"name":"half"}}}"#,
            "at '/certificates/certManager/issuerRef'",
        ),
        (
            r#"openbao={"address":"openbao:8200"}"#,
            "at '/openbao/address'",
        ),
        (
            r#"postgresql={"ca":{"configMapName":"a","secretName":"b"}}"#,
            "at '/postgresql/ca'",
        ),
        (
            r#"postgresql={"denyHostaddr":["10.0.0.0"]}"#,
            "at '/postgresql/denyHostaddr/0'",
        ),
        (
            r#"controller={"resyncInterval":10}"#,
            "at '/controller/resyncInterval': got number, want string",
        ),
        (
            r#"serviceAccount={"annotations":{"a":1}}"#,
            "at '/serviceAccount/annotations/a'",
        ),
        (
            r#"networkPolicy={"egressPorts":["https"]}"#,
            "at '/networkPolicy/egressPorts/0'",
        ),
        (
            r#"applications={"enabled":"yes"}"#,
            "at '/applications/enabled': got string, want boolean",
        ),
        (
            r#"applications={"defaultRepository":""}"#,
            "at '/applications/defaultRepository'",
        ),
        (
            r#"image={"pullPolicy":"Sometimes"}"#,
            "at '/image/pullPolicy'",
        ),
    ] {
        let said = refusal(&[value]).await;
        assert!(said.contains(path), "{value}: {said}");
    }
}

#[tokio::test]
async fn an_unknown_value_is_refused_with_its_path() {
    for (value, path, key) in [
        ("replicaCount=3", "at ''", "'replicaCount'"),
        (r#"image={"registry":"here"}"#, "at '/image'", "'registry'"),
        (
            r#"openbao={"auth":{"rolle":"x"}}"#,
            "at '/openbao/auth'",
            "'rolle'",
        ),
    ] {
        let said = refusal(&[value]).await;
        assert!(said.contains(path) && said.contains(key), "{value}: {said}");
    }
}

#[tokio::test]
async fn a_value_that_another_one_needs_is_asked_for_by_name() {
    let mode = r#"certificates={"mode":"existingSecret"}"#;
    let said = refusal(&[mode, r#"webhook={"caBundle":"YWE="}"#]).await;
    assert!(
        said.contains("certificates.existingSecret.name is empty"),
        "{said}"
    );
    let named = r#"certificates={"mode":"existingSecret","existingSecret":{"name":"mine"}}"#;
    let said = refusal(&[named]).await;
    assert!(said.contains("webhook.caBundle is empty"), "{said}");
    let said = refusal(&[r#"openbao={"auth":{"method":"token"}}"#]).await;
    assert!(
        said.contains("openbao.auth.tokenSecretName is empty"),
        "{said}"
    );
}
