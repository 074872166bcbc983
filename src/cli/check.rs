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
    /// The namespace of Tenants and Applications whose manifest names none.
    #[arg(short, long, default_value = "default")]
    pub namespace: String,
    /// How results are printed; mistakes go to standard error in `text`.
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: OutputFormat,
    /// A package, as its directory or an archive of it; may be given several times. Applications of it are judged by its published
    /// schema as the webhook would; those of other packages are warned of.
    #[arg(long, value_name = "DIR")]
    pub package: Vec<PathBuf>,
    /// A range that no Instance's hostaddr may be in, as CIDR; may be given several times. Give what `tenantry run` is given.
    #[arg(
        long,
        env = "TENANTRY_DENY_HOSTADDR",
        value_delimiter = ',',
        value_name = "CIDR"
    )]
    pub deny_hostaddr: Vec<ipnet::IpNet>,
}
