//! Story: the process is killed before and after every effect of a scan; what it left is finished by the next one.

use anyhow::ensure;
use domain::packages::effect::ScanEffect;
use domain::packages::scan::KEPT_OPERATIONS;
use e2e::bed::registry::Access;
use e2e::bed::wait::until;
use e2e::world::failpoint::Armed;
use e2e::world::tenantry::{Tenantry, TenantryOptions};
use e2e::{Bed, Options};
use kube::api::ListParams;

use super::source::{SCHEMA, SOON, Source};

#[tokio::test]
async fn alone_t2_a_crash_at_any_effect_of_a_scan_is_made_good_by_the_next_process() {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let options = || TenantryOptions::default().switch("--applications");
    let mut tenantry = Tenantry::start(&bed, options()).await.unwrap();
    let source = Source::on(bed, "crashed", Access::default()).await;
    source.push("shop", "v0.0.0", SCHEMA).await;
    source.apply(&source.manifest("10s", "")).await;
    source
        .await_loaded("shop", "v0.0.0", "MetadataLoaded")
        .await;
    // More than are kept, so that there is one to delete.
    for number in 0..=KEPT_OPERATIONS {
        let operation = source.ask(number, "{}").await;
        source.ended(&operation).await;
    }
    let mut pushed = Vec::new();
    for effect in ScanEffect::ALL {
        for point in ["before", "after"] {
            tenantry.kill9();
            let version = format!("v1.0.{}", pushed.len());
            source.push("shop", &version, SCHEMA).await;
            let failpoint = format!("{}.{point}", effect.id());
            let armed = Armed::start(&mut tenantry, options(), &failpoint).unwrap();
            armed.reached(SOON).await.unwrap();
            pushed.push(version);
        }
    }
    tenantry.kill9();
    tenantry.options = options();
    tenantry.restart().await.unwrap();
    for version in &pushed {
        source.await_loaded("shop", version, "MetadataLoaded").await;
    }
    until(
        SOON,
        "every operation ended, and the oldest are gone",
        async || {
            let operations = source.objects("PackageRepositoryOperation").await;
            let listed = operations.list(&ListParams::default()).await?.items;
            ensure!(
                listed.len() <= KEPT_OPERATIONS + 1,
                "there are {}",
                listed.len()
            );
            let waiting = listed
                .iter()
                .filter(|operation| operation.data["status"]["phase"] != "Completed");
            ensure!(waiting.count() <= 1, "some have not ended");
            Ok(())
        },
    )
    .await
    .unwrap();
}
