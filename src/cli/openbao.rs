//! How OpenBao is reached, for every command that speaks to it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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
