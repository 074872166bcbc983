//! Story: the whole way, from an empty registry to an Application and back.

use e2e::bed::registry::Access;
use e2e::bed::wait::until;
use serde_json::{Value, json};

use super::stand::{PRINTER, SETTINGS, SOON, Stand};

#[tokio::test]
async fn an_application_of_a_registry_is_installed_and_moved_to_the_next_version_that_is_pushed() {
    let stand = Stand::shared("registry").await;
    let name = stand.namespace.name.clone();
    let registry = stand.bed.registry(&name, Access::default()).await.unwrap();
    let repo = format!("{}/packages", registry.address());
    let repository = format!(
        "apiVersion: deckhouse.io/v1alpha1\nkind: PackageRepository\nmetadata: {{name: {name}}}\nspec: {{scanInterval: 10s, registry: {{repo: '{repo}', \
         scheme: HTTP}}}}\n"
    );
    stand
        .push(
            &repo,
            "v1.0.0",
            &[
                ("templates/seen.yaml", PRINTER),
                ("openapi/settings.yaml", SETTINGS),
            ],
        )
        .await;
    stand
        .bed
        .kubectl()
        .apply(&repository)
        .await
        .unwrap()
        .success()
        .unwrap();
    let manifest = |version: &str| {
        stand.manifest(version, "{size: 4}", "").replace(
            "packageRepositoryName: local",
            &format!("packageRepositoryName: {name}"),
        )
    };
    for version in ["v1.0.0", "v1.1.0"] {
        if version == "v1.1.0" {
            let images = ("images_digests.json", "{\"app\": \"sha256:ab\"}");
            let printer = PRINTER.replace(
                "data:\n",
                "data:\n  image: {{ .Application.Package.Images.app }}\n",
            );
            stand
                .push(
                    &repo,
                    version,
                    &[
                        ("templates/seen.yaml", &printer),
                        ("openapi/settings.yaml", SETTINGS),
                        images,
                    ],
                )
                .await;
        }
        let manifest = manifest(version);
        until(SOON, "the Application is accepted", async || {
            stand
                .bed
                .kubectl()
                .apply(&manifest)
                .await?
                .success()
                .map(drop)
        })
        .await
        .unwrap();
        stand
            .awaited(&format!("{version} is installed"), |object| {
                object["status"]["currentVersion"]["version"] == version
                    && object["status"]["summary"]["state"] == "Ready"
            })
            .await;
    }
    let seen = stand.seen().await.unwrap();
    assert_eq!(seen["image"], format!("{repo}/{name}@sha256:ab"));
    assert_eq!(
        stand.application().await["status"]["lastAppliedConfiguration"],
        json!({"size": 4})
    );
    stand.remove().await;
    assert_eq!(stand.get("configmap", "d8a-shop-seen").await, Value::Null);
}
