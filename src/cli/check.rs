//! Options of `tenantry check`.

use std::path::PathBuf;

use clap::Args;

use super::OutputFormat;

/// Options of `tenantry check`.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// Manifests, YAML (also several documents in a file) or JSON, at most 8 MiB each; directories, of which the files that
    /// end in .yaml, .yml or .json are read; `-` for standard input. Objects in one call are seen together: a Tenant's
    /// Instance, and names that are taken twice. Objects of other kinds are skipped and counted.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Also the directories within directories.
    #[arg(short = 'R', long)]
    pub recursive: bool,
    /// The namespace of Tenants whose manifest names none.
    #[arg(short, long, default_value = "default")]
    pub namespace: String,
    /// How results are printed; mistakes go to standard error in `text`.
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: OutputFormat,
    /// A range that no Instance's hostaddr may be in, as CIDR; may be given several times. Give what `tenantry run` is given.
    #[arg(
        long,
        env = "TENANTRY_DENY_HOSTADDR",
        value_delimiter = ',',
        value_name = "CIDR"
    )]
    pub deny_hostaddr: Vec<ipnet::IpNet>,
}
