//! Options of `tenantry package`, and of packages in `tenantry run`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OutputFormat;

/// Where packages of applications come from.
#[derive(Debug, Args)]
pub struct PackageSourceOptions {
    /// For development: a directory that becomes the package repository `local`, with `<package>/<version>/` in it, or an
    /// archive `<package>/<version>.tar.gz`. Looked at every second. Every replica needs it: whichever leads publishes.
    #[arg(long, env = "TENANTRY_PACKAGE_DIR", value_name = "DIR")]
    pub package_dir: Option<PathBuf>,
}

/// Subcommands of `tenantry package`.
#[derive(Debug, Subcommand)]
pub enum PackageCommand {
    /// Look for mistakes in a package's schemas, their translations and package.yaml. Exit code: 0 no error, 1 an error, 2 the
    /// package could not be read. Warnings alone pass.
    Verify(VerifyOptions),
    /// Show what an Application's settings come to: effective settings, values, what is refused and why, and the confirmations that
    /// a change asks for. Exit code: 0 accepted, 1 refused, 2 something could not be read.
    RenderSettings(RenderOptions),
    /// Publish a package to an OCI registry: its bundle, its metadata and the tag that lists it. A package with mistakes is not pushed, and a
    /// version that is there with other content is not replaced. Exit code: 0 pushed, 1 not pushed, 2 something could not be read.
    Push(PushOptions),
}

/// Options of `tenantry package push`.
#[derive(Debug, Args)]
pub struct PushOptions {
    /// The package's directory.
    #[arg(value_name = "DIR")]
    pub package: PathBuf,
    /// The repository of packages, `host[:port]/path`; the package goes below it.
    #[arg(value_name = "REPO")]
    pub repository: String,
    /// Version, vMAJOR.MINOR.PATCH; by default that of package.yaml.
    #[arg(long, value_name = "VERSION")]
    pub package_version: Option<String>,
    /// Make this version the recommended one of a channel, such as stable.
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,
    /// Replace a version that is there with other content. Who installed it keeps what was installed.
    #[arg(long)]
    pub force: bool,
    /// Reach the registry by HTTP, without TLS.
    #[arg(long)]
    pub plain_http: bool,
    /// The only authorities that are trusted, PEM; by default those of the system.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Docker's configuration with the login; by default `$DOCKER_CONFIG/config.json` or `~/.docker/config.json`.
    #[arg(long, value_name = "FILE")]
    pub docker_config: Option<PathBuf>,
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
