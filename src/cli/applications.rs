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
    /// What templates see as `.Platform`: YAML, a map. Without it they see an empty one.
    #[arg(
        long,
        env = "TENANTRY_PLATFORM_VALUES_FILE",
        requires = "applications",
        value_name = "FILE"
    )]
    pub platform_values_file: Option<PathBuf>,
    /// The helm command, version 4; looked for in PATH if it is only a name.
    #[arg(
        long,
        env = "TENANTRY_HELM",
        default_value = "helm",
        value_name = "PROGRAM"
    )]
    pub helm: PathBuf,
    /// Folder for unpacked packages and for the files of single calls of helm; made if it is not there. One process uses it.
    #[arg(
        long,
        env = "TENANTRY_BUNDLE_DIR",
        default_value = "/tmp/tenantry",
        value_name = "DIR"
    )]
    pub bundle_dir: PathBuf,
    /// Name of the ServiceAccount as which the objects of an Application are applied, in the Application's namespace.
    #[arg(
        long,
        env = "TENANTRY_APPLICATIONS_SERVICE_ACCOUNT",
        default_value = "tenantry-applications",
        value_name = "NAME"
    )]
    pub applications_service_account: String,
}

/// Options of `tenantry crds`.
#[derive(Debug, Args)]
pub struct CrdsOptions {
    /// Print the CRDs of Applications and their packages too.
    #[arg(long)]
    pub applications: bool,
}
