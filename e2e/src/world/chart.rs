//! Installing Tenantry's chart with the bed's helm.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::command::{Output, output};
use crate::Bed;
use crate::bed::{SYSTEM_NAMESPACE, program_folder};

/// The chart of this workspace.
#[must_use]
pub fn chart_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/tenantry")
}

/// Runs `helm` without a cluster; a failure is in the output.
pub async fn helm(arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(program_folder("helm", "HELM")?.join("helm"));
    command.args(arguments).env("KUBECONFIG", "/dev/null");
    output(command, "").await
}

/// Runs `helm` as the administrator of the bed's cluster; a failure is in the output.
pub async fn helm_in(bed: &Bed, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(bed.description().programs.helm.join("helm"));
    command
        .args(arguments)
        .env("KUBECONFIG", &bed.description().kubeconfig);
    output(command, "").await
}

/// [`install_chart_from`] with the chart of this workspace.
pub async fn install_chart(
    bed: &Bed,
    url: &str,
    ca_file: &Path,
    values: &[(&str, &str)],
) -> Result<()> {
    install_chart_from(bed, &chart_folder(), url, ca_file, values).await
}

/// Installs or upgrades the release `tenantry` from `chart` (a folder or an archive): CRDs, RBAC, and the webhook at `url` (such
/// as `https://127.0.0.1:PORT`) whose certificate the authority in `ca_file` signed. `values` are further `--set` pairs.
pub async fn install_chart_from(
    bed: &Bed,
    chart: &Path,
    url: &str,
    ca_file: &Path,
    values: &[(&str, &str)],
) -> Result<()> {
    ensure!(chart.exists(), "there is no chart in {}", chart.display());
    let ca = STANDARD.encode(std::fs::read(ca_file)?);
    let chart = chart.display().to_string();
    let (url, ca) = (
        format!("webhook.url={url}"),
        format!("webhook.caBundle={ca}"),
    );
    let pairs: Vec<String> = values
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let mut arguments = vec!["upgrade", "--install", "tenantry", &chart];
    arguments.extend(["--namespace", SYSTEM_NAMESPACE, "--create-namespace"]);
    // The bed creates the CRDs itself, before the controller manager.
    arguments.extend(["--take-ownership", "--force-conflicts"]);
    arguments.extend(["--set-string", &url, "--set-string", &ca]);
    arguments.extend(pairs.iter().flat_map(|pair| ["--set", pair]));
    helm_in(bed, &arguments)
        .await?
        .success()
        .context("installing the chart")?;
    Ok(())
}
