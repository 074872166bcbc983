//! The proof that a Tenant has converged: one password, one role, one database, and an application that logs in.

use anyhow::{Context as _, Result, ensure};
use e2e::bed::wait::until;
use e2e::world::condition::condition;
use e2e::world::tenancy::{SOON, World};

use super::plan::Plan;
use super::traces::{entry_metadata, identifier, server};

/// Waits until the Tenant is proved to have exactly this many versions of its password; a failure is text that names the plan.
pub async fn converged(world: &World, plan: Plan, tenant: &str, versions: u64) -> Option<String> {
    let proof = until(SOON, &format!("{tenant} converges"), async || {
        proved(world, tenant, versions).await
    })
    .await;
    proof.err().map(|error| format!("{plan}: {error:#}"))
}

async fn proved(world: &World, tenant: &str, versions: u64) -> Result<()> {
    let object = world.tenants().get(tenant).await?;
    let ready = condition(&object, "Ready").context("no Ready condition")?;
    ensure!(
        ready.status == "True"
            && ready.observed_generation == object.metadata.generation
            && object.data["status"]["phase"] == "Ready",
        "its status is {:#}",
        object.data["status"]
    );
    let server = server(world, tenant).await?;
    ensure!(
        server["role"].is_u64()
            && server["database"].is_u64()
            && server["state"] == "managed"
            && server["role"] == server["claimed_role"]
            && server["database"] == server["claimed_database"]
            && server["role"] == server["owner"]
            && server["can_login"] == true
            && server["closed"] == true
            && server["applied"] == versions,
        "registry and server disagree: {server:#}"
    );
    let metadata = entry_metadata(world, tenant)
        .await?
        .context("no entry in OpenBao")?;
    ensure!(
        metadata.current_version == versions && metadata.versions.len() as u64 == versions,
        "version {} of {} versions, expected {versions}",
        metadata.current_version,
        metadata.versions.len()
    );
    let (_, entry) = world.entry(tenant).await?;
    let application = world.application(tenant).await?;
    ensure!(
        entry.get("password") == Some(&application.password),
        "the Secret's password is not the one in OpenBao"
    );
    let output = application
        .query("SELECT current_user || ' in ' || current_database()")
        .await?
        .success()?;
    let identifier = identifier(world, tenant);
    ensure!(
        output.stdout.trim_end() == format!("{identifier} in {identifier}"),
        "logged in as {}",
        output.stdout
    );
    Ok(())
}
