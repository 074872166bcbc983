//! Story: the process is killed before and after every effect of publication; what it left is finished by the next one.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::ensure;
use domain::packages::effect::PublicationEffect;
use e2e::bed::wait::until;
use e2e::world::failpoint::Armed;
use e2e::world::objects::all;
use e2e::world::tenantry::Tenantry;
use e2e::{Bed, Options};
use kube::ResourceExt;
use kube::api::ListParams;

use super::directory::{API_VERSION, Directory, SOON, await_loaded, versions};

/// What must be so before an effect takes place.
async fn prepare(bed: &Bed, directory: &Directory, effect: PublicationEffect, package: &str) {
    match effect {
        PublicationEffect::CreateRepository => {
            let delete = ["delete", "packagerepository", "local", "--ignore-not-found"];
            bed.kubectl().run(&delete).await.unwrap().success().unwrap();
        }
        PublicationEffect::OwnPackage => {
            let manifest = format!(
                "apiVersion: {API_VERSION}\nkind: ApplicationPackage\nmetadata: {{name: {package}}}\n"
            );
            bed.kubectl()
                .apply(&manifest)
                .await
                .unwrap()
                .success()
                .unwrap();
        }
        _ => {}
    }
    directory.write(
        &format!("{package}/v1.0.0/openapi/settings.yaml"),
        "type: object",
    );
}

#[tokio::test]
async fn alone_t2_a_crash_at_any_effect_of_publication_is_made_good_by_the_next_process() {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let directory = Directory::new();
    let mut tenantry = Tenantry::start(&bed, directory.options()).await.unwrap();
    let mut packages = BTreeSet::new();
    for effect in PublicationEffect::ALL {
        for point in ["before", "after"] {
            tenantry.kill9();
            let package = format!("{}-{point}", effect.id().replace('.', "-"));
            prepare(&bed, &directory, effect, &package).await;
            let failpoint = format!("{}.{point}", effect.id());
            let armed = Armed::start(&mut tenantry, directory.options(), &failpoint).unwrap();
            armed.reached(SOON).await.unwrap();
            packages.insert(package);
        }
    }
    tenantry.kill9();
    tenantry.options = directory.options();
    tenantry.restart().await.unwrap();

    for package in &packages {
        let name = format!("local-{package}-v1.0.0");
        await_loaded(&bed, &name, "MetadataLoaded").await.unwrap();
    }
    let names = |items: Vec<kube::api::DynamicObject>| -> BTreeSet<String> {
        items.iter().map(ResourceExt::name_any).collect()
    };
    let listed = versions(&bed)
        .await
        .list(&ListParams::default())
        .await
        .unwrap();
    let expected = packages
        .iter()
        .map(|package| format!("local-{package}-v1.0.0"))
        .collect();
    assert_eq!(names(listed.items), expected);
    let client = bed.kube().await.unwrap();
    let offered = all(&client, API_VERSION, "ApplicationPackage");
    until(
        Duration::from_secs(120),
        "every package is offered by the repository",
        async || {
            let listed = offered.list(&ListParams::default()).await?;
            for package in &listed.items {
                let by = &package.data["status"]["availableRepositories"];
                ensure!(
                    *by == serde_json::json!(["local"]),
                    "{}: {by}",
                    package.name_any()
                );
            }
            ensure!(
                names(listed.items.clone()) == packages,
                "{:?}",
                names(listed.items)
            );
            Ok(())
        },
    )
    .await
    .unwrap();
}
