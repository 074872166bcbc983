//! What a replica serves with and shares with the others: its address and certificate, and who leads.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::parse_duration;

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
    /// How long new requests are still taken after SIGTERM, while /readyz says no: whoever sends them must learn of it first.
    #[arg(long, env = "TENANTRY_SHUTDOWN_DELAY", default_value = "1s", value_parser = parse_duration, value_name = "DURATION")]
    pub shutdown_delay: Duration,
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
