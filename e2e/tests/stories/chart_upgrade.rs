//! Story: from the previous chart version to this one and away again, with a process outside the cluster and a tenant in use.
//!
//! `golden/tenantry-0.1.0.tgz` is the previous version as `helm package` made it; a new version replaces it.

use std::path::Path;

use e2e::world::chart::{helm_in, install_chart};
use e2e::world::tenancy::World;
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};
use serde_json::{Value, json};

const RELEASE: &[&str] = &["--namespace", "tenantry-system"];

async fn released_version(bed: &Bed) -> String {
    let arguments = [&["list", "--output", "json"], RELEASE].concat();
    let listed = helm_in(bed, &arguments).await.unwrap().success().unwrap();
    let releases: Value = serde_json::from_str(&listed.stdout).unwrap();
    format!("{} {}", releases[0]["chart"], releases[0]["status"]).replace('"', "")
}

async fn labelled(bed: &Bed, kinds: &str) -> Vec<String> {
    let selector = "app.kubernetes.io/part-of=tenantry";
    let arguments = ["get", kinds, "-A", "-l", selector, "-o", "name"];
    let found = bed.kubectl().run(&arguments).await.unwrap().success();
    found.unwrap().stdout.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn alone_the_previous_chart_is_upgraded_with_tenants_and_uninstalled_without_them() {
    let previous =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories/golden/tenantry-0.1.0.tgz");
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let options = TenantryOptions::default().chart(previous);
    let world = World::private(bed, options, "upgrade").await.unwrap();
    assert_eq!(
        released_version(&world.bed).await,
        "tenantry-0.1.0 deployed"
    );
    world.ready_tenant("before", "").await.unwrap();

    let ca_file = world.bed.description().ca_file.clone();
    install_chart(&world.bed, &world.tenantry.url, &ca_file, &[])
        .await
        .unwrap();
    assert_eq!(
        released_version(&world.bed).await,
        "tenantry-0.2.0 deployed"
    );
    world.tenant_ready("before").await.unwrap();
    world.ready_tenant("after", "").await.unwrap();
    // Only the webhook knows the management database of an Instance; the CRD cannot.
    let taken = world.management_database();
    let refused = world
        .apply(&world.tenant_manifest("thief", &format!("database: {taken}")))
        .await
        .unwrap();
    assert!(
        refused.code != 0
            && refused
                .stderr
                .contains("is the management database of Instance"),
        "{}",
        refused.stderr
    );

    let arguments = [&["uninstall", "tenantry", "--wait"], RELEASE].concat();
    let gone = helm_in(&world.bed, &arguments).await.unwrap().success();
    let said = gone.unwrap();
    assert!(said.stdout.contains("uninstalled"), "{}", said.stdout);
    let kinds = "serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,services,deployments,\
                 validatingwebhookconfigurations";
    assert_eq!(labelled(&world.bed, kinds).await, Vec::<String>::new());
    let names = ["get", "crds", "-o", "name"];
    let crds = world.bed.kubectl().run(&names).await.unwrap().stdout;
    assert_eq!(crds.matches("database.ddupan.top").count(), 2, "{crds}");
    // The tenants outlive the release, and without its webhook they can still be edited.
    let patch = json!({"metadata": {"labels": {"edited": "later"}}});
    let edited = world.patch_tenant("before", &patch).await.unwrap();
    edited.success().unwrap();
}
