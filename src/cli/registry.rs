//! Options of `tenantry registry`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OpenBaoOptions, OutputFormat};

/// Subcommands of `tenantry registry`.
#[derive(Debug, Subcommand)]
pub enum RegistryCommand {
    /// Print every row, with what the server and the API server say of it.
    List(ListOptions),
    /// Forget a retained record: its row and its OpenBao entry. Its names are free then; database and role stay, and it says what
    /// is left to drop.
    Release(ReleaseOptions),
    /// Give a retained record, with data and password, to the Tenant of the same name that lives now.
    Adopt(AdoptOptions),
}

/// Which registry.
#[derive(Debug, Args)]
pub struct InstanceOptions {
    /// The PostgreSQLInstance whose management database holds the registry.
    #[arg(long, value_name = "NAME")]
    pub instance: String,
    /// Namespace of the Instance's admin Secret: that of `tenantry run`. Default: that of the kubeconfig or the Pod.
    #[arg(long, env = "POD_NAMESPACE")]
    pub namespace: Option<String>,
    /// Certificates that PostgreSQL servers are verified with, PEM bundle. Default: the system's roots.
    #[arg(long, env = "TENANTRY_POSTGRES_CA_FILE")]
    pub postgres_ca_file: Option<PathBuf>,
}

/// Options of `tenantry registry list`.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// Which registry.
    #[command(flatten)]
    pub instance: InstanceOptions,
    /// How rows are printed.
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: OutputFormat,
}

/// Options of `tenantry registry release`.
#[derive(Debug, Args)]
pub struct ReleaseOptions {
    /// The record, as `registry list` shows it.
    #[arg(value_name = "NAMESPACE/NAME")]
    pub tenant: String,
    /// Which registry.
    #[command(flatten)]
    pub instance: InstanceOptions,
    /// OpenBao.
    #[command(flatten)]
    pub openbao: OpenBaoOptions,
    /// Delete the row and nothing else: OpenBao is not asked, its entry stays.
    #[arg(long)]
    pub row_only: bool,
    /// The UID that is given up, for scripts. Default: ask on the terminal.
    #[arg(long, value_name = "UID")]
    pub confirm: Option<String>,
    /// The row is of this cluster (UID of its kube-system namespace), which is gone. Default: the cluster that is spoken to.
    #[arg(long, value_name = "UID")]
    pub of_cluster: Option<String>,
}

/// Options of `tenantry registry adopt`.
#[derive(Debug, Args)]
pub struct AdoptOptions {
    /// The record, as `registry list` shows it; a Tenant of that name must live.
    #[arg(value_name = "NAMESPACE/NAME")]
    pub tenant: String,
    /// Which registry.
    #[command(flatten)]
    pub instance: InstanceOptions,
    /// OpenBao.
    #[command(flatten)]
    pub openbao: OpenBaoOptions,
    /// The UID that is given up, for scripts. Default: ask on the terminal.
    #[arg(long, value_name = "UID")]
    pub confirm: Option<String>,
    /// The row is of this cluster (UID of its kube-system namespace), which is gone. Default: the cluster that is spoken to.
    #[arg(long, value_name = "UID")]
    pub of_cluster: Option<String>,
}
