//! Options of `tenantry package`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OutputFormat;

/// Subcommands of `tenantry package`.
#[derive(Debug, Subcommand)]
pub enum PackageCommand {
    /// Look for mistakes in a package's schemas, their translations and package.yaml. Exit code: 0 no error, 1 an error, 2 the
    /// package could not be read. Warnings alone pass.
    Verify(VerifyOptions),
    /// Show what an Application's settings come to: effective settings, values, what is refused and why, and the confirmations that
    /// a change asks for. Exit code: 0 accepted, 1 refused, 2 something could not be read.
    RenderSettings(RenderOptions),
}

/// Options of `tenantry package verify`.
#[derive(Debug, Args)]
pub struct VerifyOptions {
    /// The package: its directory, or an archive of it (.tar, .tar.gz).
    #[arg(value_name = "DIR")]
    pub package: PathBuf,
    /// How findings are printed.
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: OutputFormat,
}

/// Options of `tenantry package render-settings`.
#[derive(Debug, Args)]
pub struct RenderOptions {
    /// The package: its directory, or an archive of it (.tar, .tar.gz).
    #[arg(value_name = "DIR")]
    pub package: PathBuf,
    /// Settings, YAML or JSON: the map itself, or an Application of which `spec.settings` is taken; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub settings: PathBuf,
    /// What was applied before: the map itself, or an Application of which `status.lastAppliedConfiguration` is taken. Without it
    /// nothing is frozen, and rules with `oldSelf` are skipped.
    #[arg(long, value_name = "FILE")]
    pub previous: Option<PathBuf>,
    /// What the project was granted: AvailableClusterResource objects, as `kubectl get available --output yaml` prints them.
    #[arg(long, value_name = "FILE")]
    pub grants: Option<PathBuf>,
    /// How results are printed; what is refused goes to standard error in `text`.
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: OutputFormat,
}
