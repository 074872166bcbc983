//! The command line: flags, their environment variables, units and defaults.
//!
//! It parses and nothing more; what a value means is decided where it is used.

mod applications;
mod check;
mod helm;
mod hook_exec;
mod openbao;
mod package;
mod registry;
mod serving;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::applications::{ApplicationOptions, CrdsOptions};
pub use self::check::CheckOptions;
pub use self::helm::{HelmExecOptions, HelmPostRenderOptions};
pub use self::hook_exec::HookExecOptions;
pub use self::openbao::{OpenBaoAuth, OpenBaoOptions};
pub use self::package::{
    PackageCommand, PackageSourceOptions, PushOptions, RenderOptions, VerifyOptions,
};
pub use self::registry::{
    AdoptOptions, InstanceOptions, ListOptions, RegistryCommand, ReleaseOptions,
};
pub use self::serving::{ElectionOptions, SelfSignedOptions, ServingOptions};

/// PostgreSQL tenancy and application settings for Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "tenantry", version, about, long_about = None)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the admission webhooks and run the reconcile loops.
    Run(Box<RunOptions>),
    /// Print the CRDs of PostgreSQL tenancy, for `kubectl apply -f -`. The chart brings them by itself.
    Crds(CrdsOptions),
    /// Judge manifests as the webhook would, without a cluster. Exit code: 0 all valid, 1 something is invalid, 2 something could
    /// not be read.
    Check(CheckOptions),
    /// Try a package without a cluster, as its author.
    #[command(subcommand)]
    Package(PackageCommand),
    /// Look after the registry of an Instance: the rows that say whose each database and role is. It speaks to the cluster of
    /// KUBECONFIG (or of the Pod it runs in) and to the Instance's server. Exit code: 0 done, 1 refused or failed.
    #[command(subcommand)]
    Registry(Box<RegistryCommand>),
    /// Runs one process of a package's hook, confined. `tenantry run` starts it; it is of no use to people.
    #[command(hide = true)]
    HookExec(Box<HookExecOptions>),
    /// Becomes helm, and ends with the process that started it. `tenantry run` starts it; it is of no use to people.
    #[command(hide = true)]
    HelmExec(HelmExecOptions),
    /// Labels and checks what helm renders. helm starts it; it is of no use to people.
    #[command(hide = true)]
    HelmPostRender(HelmPostRenderOptions),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Text,
    /// One JSON document, for programs.
    Json,
}

/// Options of `tenantry run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Webhooks, probes and metrics.
    #[command(flatten)]
    pub serving: ServingOptions,
    /// The self-signed serving certificate.
    #[command(flatten)]
    pub self_signed: SelfSignedOptions,
    /// Leader election.
    #[command(flatten)]
    pub election: ElectionOptions,
    /// PostgreSQL.
    #[command(flatten)]
    pub postgres: PostgresOptions,
    /// OpenBao.
    #[command(flatten)]
    pub openbao: OpenBaoOptions,
    /// External Secrets Operator.
    #[command(flatten)]
    pub projection: ProjectionOptions,
    /// The loops.
    #[command(flatten)]
    pub loops: LoopOptions,
    /// Applications.
    #[command(flatten)]
    pub applications: ApplicationOptions,
    /// Packages of applications.
    #[command(flatten)]
    pub packages: PackageSourceOptions,
    /// Logs.
    #[command(flatten)]
    pub logs: LogOptions,
}

/// PostgreSQL.
#[derive(Debug, Args)]
pub struct PostgresOptions {
    /// Certificates that PostgreSQL servers are verified with, PEM bundle; also published to tenants as `ca.crt`.
    /// Looked at every 10 s; one that is absent or damaged by then changes nothing. Default: the system's roots.
    #[arg(long, env = "TENANTRY_POSTGRES_CA_FILE")]
    pub postgres_ca_file: Option<PathBuf>,
    /// A range that no Instance's hostaddr may be in, as CIDR; may be given several times.
    /// Link-local, multicast and unspecified addresses are always refused.
    #[arg(
        long,
        env = "TENANTRY_DENY_HOSTADDR",
        value_delimiter = ',',
        value_name = "CIDR"
    )]
    pub deny_hostaddr: Vec<ipnet::IpNet>,
}

/// Kind of the store that ExternalSecrets refer to.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StoreKind {
    /// One store for the cluster.
    #[value(name = "ClusterSecretStore")]
    ClusterSecretStore,
    /// A store of that name in each tenant namespace.
    #[value(name = "SecretStore")]
    SecretStore,
}

/// External Secrets Operator.
#[derive(Debug, Args)]
pub struct ProjectionOptions {
    /// Name of the store that ExternalSecrets refer to.
    #[arg(long, env = "TENANTRY_SECRET_STORE_NAME", default_value = "openbao")]
    pub secret_store_name: String,
    /// Kind of that store.
    #[arg(
        long,
        env = "TENANTRY_SECRET_STORE_KIND",
        value_enum,
        default_value = "ClusterSecretStore"
    )]
    pub secret_store_kind: StoreKind,
}

/// The loops.
#[derive(Debug, Args)]
pub struct LoopOptions {
    /// Namespace of this process, where the Instances' admin Secrets are. Default: that of the kubeconfig or the Pod.
    #[arg(long, env = "POD_NAMESPACE")]
    pub namespace: Option<String>,
    /// How often a converged object's facts are checked again, ± 10 %.
    #[arg(long, env = "TENANTRY_RESYNC_INTERVAL", default_value = "10m", value_parser = parse_duration, value_name = "DURATION")]
    pub resync_interval: Duration,
    /// How many Tenants are worked on at once.
    #[arg(long, env = "TENANTRY_CONCURRENCY", default_value_t = 16)]
    pub concurrency: u16,
}

/// Log formats.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Human,
}

/// Logs.
#[derive(Debug, Args)]
pub struct LogOptions {
    /// Format of the logs on stderr. Levels are set by `RUST_LOG` (default `info`).
    #[arg(long, env = "TENANTRY_LOG_FORMAT", value_enum, default_value = "json")]
    pub log_format: LogFormat,
}

/// A duration such as `90s`, `10m` or `1h30m`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = text
        .parse()
        .map_err(|_| "must be a duration such as 30s, 10m or 1h".to_owned())?;
    Duration::try_from(span).map_err(|_| "must not be negative".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        run: RunOptions,
    }

    fn parsed(flags: &[&str]) -> Result<RunOptions, clap::Error> {
        let usual = ["tenantry", "--openbao-address", "https://bao.test"];
        Only::try_parse_from(usual.iter().chain(flags)).map(|only| only.run)
    }

    #[test]
    fn the_serving_pair_is_in_files_or_self_signed_and_never_both_or_neither() {
        let files = ["--tls-cert-file", "c", "--tls-key-file", "k"];
        assert!(parsed(&files).is_ok());
        assert!(parsed(&["--self-signed"]).is_ok_and(|o| o.self_signed.self_signed));
        assert!(parsed(&[]).is_err());
        assert!(parsed(&files[..2]).is_err());
        assert!(parsed(&[&files[..], &["--self-signed"]].concat()).is_err());
    }

    #[test]
    fn leader_election_is_off_unless_asked_for_and_takes_a_value_as_in_go() {
        let elect = |flag: &str| {
            parsed(&["--self-signed", flag]).is_ok_and(|options| options.election.leader_elect)
        };
        assert!(elect("--leader-elect") && elect("--leader-elect=true"));
        assert!(!elect("--leader-elect=false"));
        assert!(parsed(&["--self-signed"]).is_ok_and(|o| !o.election.leader_elect));
    }

    #[test]
    fn applications_are_served_only_when_asked_for_and_what_belongs_to_them_needs_that() {
        let serving = |flags: &[&str]| {
            let all = [&["--self-signed"], flags].concat();
            parsed(&all).map(|options| options.applications.applications)
        };
        assert_eq!(serving(&[]).ok(), Some(false));
        assert_eq!(serving(&["--applications"]).ok(), Some(true));
        assert!(serving(&["--enforce-destructive-switch"]).is_err());
        assert!(serving(&["--platform-file", "f"]).is_err());
        let enforcing = ["--applications", "--enforce-destructive-switch"];
        assert_eq!(serving(&enforcing).ok(), Some(true));
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
        assert!(parse_duration("10").is_err());
        assert!(parse_duration("-1s").is_err());
    }
}
