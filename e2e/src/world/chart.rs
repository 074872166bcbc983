//! Installing Tenantry's chart with the bed's helm.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::command::output;
use crate::Bed;
use crate::bed::SYSTEM_NAMESPACE;

/// Installs or upgrades the release `tenantry`: CRDs, RBAC, and the webhook at `url` (such as
/// `https://127.0.0.1:PORT`) whose certificate the authority in `ca_file` signed. `values` are further `--set` pairs.
pub async fn install_chart(
    bed: &Bed,
    url: &str,
    ca_file: &Path,
    values: &[(&str, &str)],
) -> Result<()> {
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/tenantry");
    ensure!(
        chart.join("Chart.yaml").is_file(),
        "there is no chart in {}",
        chart.display()
    );
    let ca = STANDARD.encode(std::fs::read(ca_file)?);
    let mut command = Command::new(bed.description().programs.helm.join("helm"));
    command
        .env("KUBECONFIG", &bed.description().kubeconfig)
        .arg("upgrade")
        .args(["--install", "tenantry"])
        .arg(chart);
    command.args(["--namespace", SYSTEM_NAMESPACE, "--create-namespace"]);
    // The bed creates the CRDs itself, before the controller manager.
    command.args(["--take-ownership", "--force-conflicts"]);
    command.args([
        "--set-string",
        &format!("webhook.url={url}"),
        "--set-string",
        &format!("webhook.caBundle={ca}"),
    ]);
    for (key, value) in values {
        command.args(["--set", &format!("{key}={value}")]);
    }
    output(command, "")
        .await?
        .success()
        .context("installing the chart")?;
    Ok(())
}
