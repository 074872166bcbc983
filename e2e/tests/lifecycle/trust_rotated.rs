//! Story: the authorities for PostgreSQL are exchanged in their file while Tenantry runs: they come into force, a damaged file
//! takes none away, and the Tenants' Secrets follow (D7, D11).

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use e2e::bed::pki::Authority;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};

/// Two looks at the file.
const LOOKS: Duration = Duration::from_secs(22);

#[tokio::test]
async fn alone_d11_exchanged_authorities_come_into_force_without_a_restart() {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let trusted = fs::read_to_string(&bed.description().ca_file).unwrap();
    let other = Authority::create(bed.folder(), "successor").unwrap();
    let successor = fs::read_to_string(other.file()).unwrap();
    let file = bed.folder().join("trust.pem");
    fs::write(&file, &trusted).unwrap();
    let options = TenantryOptions::default().flag("--postgres-ca-file", file.display().to_string());
    let world = World::private(bed, options, "trust").await.unwrap();
    world.ready_tenant("app", "").await.unwrap();
    let process = world.tenantry.process().unwrap().pid;
    published(&world, &trusted).await;

    // An administrator adds the successor before the servers change over.
    replace(&file, &format!("{trusted}{successor}"));
    published(&world, &format!("{trusted}{successor}")).await;
    world.tenant_ready("app").await.unwrap();

    replace(&file, "not a certificate");
    said(&world, "those in force stay").await;
    world.instance_is("True").await.unwrap();
    world.ready_tenant("second", "").await.unwrap();

    // A server that still has a certificate of the old authority is not verified any more.
    replace(&file, &successor);
    let message = world
        .instance_reason(&world.instance, "AuthenticationFailed")
        .await
        .unwrap()
        .message;
    assert!(
        message.contains("was not issued by a trusted authority"),
        "{message}"
    );
    replace(&file, &trusted);
    world.instance_is("True").await.unwrap();
    world.tenant_ready("app").await.unwrap();
    published(&world, &trusted).await;
    assert_eq!(
        world.tenantry.process().unwrap().pid,
        process,
        "Tenantry was never restarted"
    );
}

/// As a Secret volume does it: the new file takes the place of the old one at once.
fn replace(file: &Path, content: &str) {
    let new = file.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(new, file).unwrap();
}

/// Waits until the Tenant's Secret has these authorities.
async fn published(world: &World, expected: &str) {
    until(SOON, "ca.crt is as expected", async || {
        let secret = world.namespace.secret(&world.secret_name("app")).await?;
        let lines = |pem: &str| pem.split_whitespace().collect::<String>();
        let found = secret.get("ca.crt").map(String::as_str).unwrap_or_default();
        ensure!(lines(found) == lines(expected), "ca.crt is\n{found}");
        Ok(())
    })
    .await
    .unwrap();
}

async fn said(world: &World, words: &str) {
    until(LOOKS, &format!("the log says {words}"), async || {
        let log = fs::read_to_string(world.tenantry.log_file())?;
        ensure!(log.contains(words), "not yet");
        Ok(())
    })
    .await
    .unwrap();
}
