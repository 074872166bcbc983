//! The command line: flags, their environment variables, units and defaults.
//!
//! It parses and nothing more; what a value means is decided where it is used.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
    /// Print the CRDs of both kinds, for `kubectl apply -f -`. The chart brings them by itself.
    Crds,
    /// Judge manifests as the webhook would, without a cluster. Exit code: 0 all valid, 1 something is invalid, 2 something could
    /// not be read.
    Check(CheckOptions),
    /// Look after the registry of an Instance: the rows that say whose each database and role is. It speaks to the cluster of
    /// KUBECONFIG (or of the Pod it runs in) and to the Instance's server. Exit code: 0 done, 1 refused or failed.
    #[command(subcommand)]
    Registry(Box<RegistryCommand>),
}

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

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Text,
    /// One JSON document, for programs.
    Json,
}

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
    /// Logs.
    #[command(flatten)]
    pub logs: LogOptions,
}

/// Webhooks, probes and metrics.
#[derive(Debug, Args)]
pub struct ServingOptions {
    /// Address of the HTTPS server: webhooks, /livez, /readyz, /healthz and /metrics.
    #[arg(long, env = "TENANTRY_BIND_ADDRESS", default_value = "0.0.0.0:8443")]
    pub bind_address: SocketAddr,
    /// Serving certificate chain, PEM. Read again every 10 s and swapped when it changed.
    #[arg(
        long,
        env = "TENANTRY_TLS_CERT_FILE",
        required_unless_present = "self_signed",
        conflicts_with = "self_signed"
    )]
    pub tls_cert_file: Option<PathBuf>,
    /// Private key of the serving certificate, PEM.
    #[arg(
        long,
        env = "TENANTRY_TLS_KEY_FILE",
        required_unless_present = "self_signed",
        conflicts_with = "self_signed"
    )]
    pub tls_key_file: Option<PathBuf>,
    /// How often the files of the serving certificate are looked at.
    #[arg(long, env = "TENANTRY_TLS_RELOAD_INTERVAL", default_value = "10s", hide = true, value_parser = parse_duration, value_name = "DURATION")]
    pub tls_reload_interval: Duration,
    /// How long requests and rounds in flight may take to end after SIGTERM.
    #[arg(long, env = "TENANTRY_SHUTDOWN_GRACE", default_value = "4s", value_parser = parse_duration, value_name = "DURATION")]
    pub shutdown_grace: Duration,
}

/// The self-signed serving certificate.
#[derive(Debug, Args)]
pub struct SelfSignedOptions {
    /// Make and renew the serving certificate and its authority; all replicas share them by a Secret.
    #[arg(long, env = "TENANTRY_SELF_SIGNED")]
    pub self_signed: bool,
    /// Name of that Secret, in this process's namespace. Made if it does not exist.
    #[arg(
        long,
        env = "TENANTRY_SELF_SIGNED_SECRET",
        default_value = "tenantry-webhook-tls",
        value_name = "NAME"
    )]
    pub self_signed_secret: String,
    /// Service that the API server reaches the webhook by; the certificate holds SERVICE, SERVICE.NAMESPACE and
    /// SERVICE.NAMESPACE.svc.
    #[arg(
        long,
        env = "TENANTRY_SELF_SIGNED_SERVICE",
        default_value = "tenantry",
        value_name = "NAME"
    )]
    pub self_signed_service: String,
    /// A further DNS name or IP address of the certificate, for a webhook reached by URL; may be given several times.
    #[arg(
        long,
        env = "TENANTRY_SELF_SIGNED_NAME",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    pub self_signed_name: Vec<String>,
    /// `ValidatingWebhookConfiguration` whose caBundle is kept up to date. Not ready before it is written. Default: none.
    #[arg(
        long,
        env = "TENANTRY_WEBHOOK_CONFIGURATION",
        requires = "self_signed",
        value_name = "NAME"
    )]
    pub webhook_configuration: Option<String>,
    /// How long the authority lives; at least twice as long as the certificate. Renewed when a third is left.
    #[arg(long, env = "TENANTRY_SELF_SIGNED_AUTHORITY_LIFETIME", default_value = "8760h", hide = true, value_parser = parse_duration, value_name = "DURATION")]
    pub self_signed_authority_lifetime: Duration,
    /// How long the certificate lives. Renewed when a third is left.
    #[arg(long, env = "TENANTRY_SELF_SIGNED_CERTIFICATE_LIFETIME", default_value = "2160h", hide = true, value_parser = parse_duration, value_name = "DURATION")]
    pub self_signed_certificate_lifetime: Duration,
    /// How often Secret and caBundle are looked at.
    #[arg(long, env = "TENANTRY_SELF_SIGNED_INTERVAL", default_value = "10s", hide = true, value_parser = parse_duration, value_name = "DURATION")]
    pub self_signed_interval: Duration,
}

/// Leader election.
#[derive(Debug, Args)]
pub struct ElectionOptions {
    /// Run the loops only while holding a Lease; needed with more than one replica. Webhooks are answered all the same.
    #[arg(
        long,
        env = "TENANTRY_LEADER_ELECT",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub leader_elect: bool,
    /// Name of the Lease. Made if it does not exist.
    #[arg(
        long,
        env = "TENANTRY_LEADER_ELECT_RESOURCE_NAME",
        default_value = "tenantry",
        value_name = "NAME"
    )]
    pub leader_elect_resource_name: String,
    /// Namespace of the Lease. Default: that of this process.
    #[arg(
        long,
        env = "TENANTRY_LEADER_ELECT_RESOURCE_NAMESPACE",
        value_name = "NAME"
    )]
    pub leader_elect_resource_namespace: Option<String>,
    /// How long the others wait after the leader's last renewal before one of them takes over.
    #[arg(long, env = "TENANTRY_LEADER_ELECT_LEASE_DURATION", default_value = "15s", value_parser = parse_duration, value_name = "DURATION")]
    pub leader_elect_lease_duration: Duration,
    /// How long after its last renewal the leader stops; shorter than the lease duration.
    #[arg(long, env = "TENANTRY_LEADER_ELECT_RENEW_DEADLINE", default_value = "10s", value_parser = parse_duration, value_name = "DURATION")]
    pub leader_elect_renew_deadline: Duration,
    /// How long to wait between two tries to take or renew the Lease.
    #[arg(long, env = "TENANTRY_LEADER_ELECT_RETRY_PERIOD", default_value = "2s", value_parser = parse_duration, value_name = "DURATION")]
    pub leader_elect_retry_period: Duration,
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

/// How to log in to OpenBao.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum OpenBaoAuth {
    /// With this process's ServiceAccount token.
    Kubernetes,
    /// With a token from a file.
    Token,
}

/// OpenBao.
#[derive(Debug, Args)]
pub struct OpenBaoOptions {
    /// Address of OpenBao or Vault, for example `https://openbao.example.org:8200`.
    #[arg(long, env = "TENANTRY_OPENBAO_ADDRESS")]
    pub openbao_address: String,
    /// Address under which consumers reach it; shown in status. Default: the address above.
    #[arg(long, env = "TENANTRY_OPENBAO_CONSUMER_ADDRESS")]
    pub openbao_consumer_address: Option<String>,
    /// OpenBao namespace, sent with every request.
    #[arg(long, env = "TENANTRY_OPENBAO_NAMESPACE")]
    pub openbao_namespace: Option<String>,
    /// Certificates that OpenBao is verified with, PEM. Default: the system's roots.
    #[arg(long, env = "TENANTRY_OPENBAO_CA_FILE")]
    pub openbao_ca_file: Option<PathBuf>,
    /// KV v2 mount.
    #[arg(long, env = "TENANTRY_OPENBAO_MOUNT", default_value = "secret")]
    pub openbao_mount: String,
    /// Base path under the mount; one per cluster.
    #[arg(long, env = "TENANTRY_OPENBAO_BASE_PATH", default_value = "tenantry")]
    pub openbao_base_path: String,
    /// How to log in.
    #[arg(
        long,
        env = "TENANTRY_OPENBAO_AUTH",
        value_enum,
        default_value = "kubernetes"
    )]
    pub openbao_auth: OpenBaoAuth,
    /// Role of the Kubernetes auth method.
    #[arg(long, env = "TENANTRY_OPENBAO_ROLE", default_value = "tenantry")]
    pub openbao_role: String,
    /// Mount of the Kubernetes auth method.
    #[arg(
        long,
        env = "TENANTRY_OPENBAO_AUTH_MOUNT",
        default_value = "kubernetes"
    )]
    pub openbao_auth_mount: String,
    /// ServiceAccount token for the Kubernetes auth method; read again at each login.
    #[arg(
        long,
        env = "TENANTRY_OPENBAO_SERVICE_ACCOUNT_TOKEN_FILE",
        default_value = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    )]
    pub openbao_service_account_token_file: PathBuf,
    /// Token file for the token auth method; read again at each login.
    #[arg(
        long,
        env = "TENANTRY_OPENBAO_TOKEN_FILE",
        required_if_eq("openbao_auth", "token")
    )]
    pub openbao_token_file: Option<PathBuf>,
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
    fn durations_have_units() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
        assert!(parse_duration("10").is_err());
        assert!(parse_duration("-1s").is_err());
    }
}
