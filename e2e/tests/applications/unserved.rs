//! Story: an installation for PostgreSQL alone has none of the packages' kinds; the process is ready without them, and takes them up
//! once they are there.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::tenantry::Tenantry;
use e2e::{Bed, Options};

use super::directory::{Directory, SOON, await_loaded};

const KINDS: [&str; 3] = [
    "applicationpackages",
    "applicationpackageversions",
    "packagerepositories",
];

#[tokio::test]
async fn alone_without_the_packages_kinds_the_process_is_ready_and_publishes_once_they_are_served()
{
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let directory = Directory::new();
    directory.copy_sample("shop", "v1.2.0");
    let mut tenantry = Tenantry::start(&bed, directory.options()).await.unwrap();
    await_loaded(&bed, "local-shop-v1.2.0", "MetadataLoaded")
        .await
        .unwrap();
    tenantry.stop();
    for kind in KINDS {
        let crd = format!("{kind}.deckhouse.io");
        bed.kubectl()
            .run(&["delete", "crd", &crd])
            .await
            .unwrap()
            .success()
            .unwrap();
    }
    tenantry.options = directory.options();
    tenantry.restart().await.unwrap();
    let log = || std::fs::read_to_string(tenantry.log_file()).unwrap();
    until(SOON, "the wait is told", async || {
        ensure!(
            log().contains("does not serve the packages' kinds"),
            "it is not"
        );
        Ok(())
    })
    .await
    .unwrap();
    let (status, body) = tenantry.get("/readyz").await.unwrap();
    assert!(status.is_success(), "{body}");
    for kind in KINDS {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../crds/{kind}.yaml"));
        let file = file.display().to_string();
        bed.kubectl()
            .run(&["apply", "--server-side", "-f", &file])
            .await
            .unwrap()
            .success()
            .unwrap();
    }
    // They are looked for every 30 s.
    tokio::time::sleep(Duration::from_secs(1)).await;
    await_loaded(&bed, "local-shop-v1.2.0", "MetadataLoaded")
        .await
        .unwrap();
}
