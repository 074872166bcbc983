//! Stories: what is refused, by whom, and that nothing was applied then.

use serde_json::{Value, json};
use tenantry::adapters::helm::Kind;

use super::stand::{ACCOUNT, Stand};

const FINE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d8a-shop-fine}\n";

async fn refused(stand: &Stand, kind: Kind, says: &[&str]) {
    let error = stand.apply(json!({"size": 1})).await.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    for part in says {
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(
        stand.get("configmap", "d8a-shop-fine").await,
        Value::Null,
        "{error}"
    );
}

#[tokio::test]
async fn s22_an_object_of_another_namespace_or_of_cluster_scope_is_refused_before_anything_is_applied()
 {
    let stand = Stand::new("scope", "admin").await;
    stand.write("templates/fine.yaml", FINE);
    for (manifest, says) in [
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n",
            "ConfigMap \"a\" is in namespace \"default\"",
        ),
        (
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n",
            "Namespace \"b\" is of cluster scope",
        ),
        (
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: c, annotations: {helm.sh/hook: pre-install}}\nrules: []\n",
            "ClusterRole \"c\" is of cluster scope",
        ),
        (
            "apiVersion: example.org/v1\nkind: Foo\nmetadata: {name: d}\n",
            "which the API server does not serve",
        ),
        ("just: text\n", "apiVersion"),
    ] {
        stand.write("templates/more.yaml", manifest);
        refused(&stand, Kind::Refused, &[says]).await;
    }
    stand.write("templates/more.yaml", "");
    stand.write(
        "charts/sub/Chart.yaml",
        "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
    );
    stand.write("charts/sub/crds/foo.yaml", "a: b\n");
    refused(&stand, Kind::Refused, &["charts/sub/crds/foo.yaml"]).await;
}

#[tokio::test]
async fn a_template_that_does_not_render_is_told_by_its_file_and_line() {
    let stand = Stand::new("broken", "edit").await;
    stand.write("templates/fine.yaml", FINE);
    stand.write("templates/broken.yaml", "a: b\n{{ fail \"no size\" }}\n");
    refused(
        &stand,
        Kind::Failed,
        &["templates/broken.yaml:2", "no size"],
    )
    .await;
}

#[tokio::test]
async fn s21_a_missing_account_or_right_is_named() {
    let stand = Stand::without_account("account").await;
    let error = stand
        .accounts
        .identity(&stand.namespace.name)
        .await
        .err()
        .unwrap();
    assert!(
        error.text.contains(ACCOUNT) && error.text.contains("applications.namespaces"),
        "{}",
        error.text
    );
    let stand = Stand::new("right", "edit").await;
    stand.write("templates/fine.yaml", FINE);
    let role =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules: []\n";
    stand.write("templates/role.yaml", role);
    let error = stand.apply(json!({})).await.unwrap_err();
    assert_eq!(error.kind, Kind::Forbidden, "{error}");
    assert!(error.to_string().contains("\"roles\""), "{error}");
}

#[tokio::test]
async fn a_release_over_one_mebibyte_is_told_as_that() {
    let stand = Stand::new("large", "edit").await;
    stand.write("templates/fine.yaml", FINE);
    // What cannot be compressed: two bytes of each four are random.
    let noise: String = (0..1_500_000).map(|_| char::from(rand_letter())).collect();
    stand.write("noise.json", &format!("\"{noise}\""));
    refused(&stand, Kind::TooLarge, &["1 MiB"]).await;
}

fn rand_letter() -> u8 {
    use std::hash::{BuildHasher as _, RandomState};
    let random = RandomState::new().hash_one(0_u8);
    b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
        [usize::try_from(random % 64).unwrap()]
}
