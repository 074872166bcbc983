//! Options of Applications in `tenantry run`.

use std::path::PathBuf;

use clap::Args;

/// Applications.
#[derive(Debug, Args)]
pub struct ApplicationOptions {
    /// Serve Applications: answer their webhook, from what is watched of packages and grants. Without it none of these kinds is
    /// watched.
    #[arg(long, env = "TENANTRY_APPLICATIONS")]
    pub applications: bool,
    /// Repository that an Application without packageRepositoryName means.
    #[arg(
        long,
        env = "TENANTRY_DEFAULT_REPOSITORY",
        default_value = "deckhouse",
        value_name = "NAME"
    )]
    pub default_repository: String,
    /// Refuse a destructive mode switch that the Application's annotation does not acknowledge, in place of a warning.
    #[arg(
        long,
        env = "TENANTRY_ENFORCE_DESTRUCTIVE_SWITCH",
        requires = "applications"
    )]
    pub enforce_destructive_switch: bool,
    /// What this cluster has of Deckhouse, for packages that require it: YAML with `deckhouse` (a version) and `modules` (names to versions
    /// or null). Without it such packages are installed with a warning.
    #[arg(
        long,
        env = "TENANTRY_PLATFORM_FILE",
        requires = "applications",
        value_name = "FILE"
    )]
    pub platform_file: Option<PathBuf>,
}

/// Options of `tenantry crds`.
#[derive(Debug, Args)]
pub struct CrdsOptions {
    /// Print the CRDs of Applications and their packages too.
    #[arg(long)]
    pub applications: bool,
}
