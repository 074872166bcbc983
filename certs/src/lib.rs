//! PEM in, TLS configuration out: the serving pair with its hot reload, the self-signed pair's upkeep, and the verifier for
//! `PostgreSQL` servers (D11).
//!
//! Decides which certificates, keys and servers are accepted. Opens no socket, knows no Kubernetes type, writes no file and
//! installs no process-wide provider: each configuration names its provider itself.

mod chain;
mod issue;
mod pair;
mod pem;
mod postgres;
mod problem;
mod roots;
mod server;
mod store;
mod trust;
pub mod upkeep;
mod watch;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

pub use issue::IssueError;
pub use pair::{LoadError, PairFiles};
pub use pem::{PemError, authorities};
pub use postgres::{ConfigError, TlsMode, client_config};
pub use problem::{TlsProblem, explain};
pub use roots::{Roots, RootsError};
pub use server::{OldestTls, server_config};
pub use store::{CertStore, LoadState, Reload};
pub use trust::{Renewal, Trust};
pub use watch::{report, watch};

/// The one cryptography provider of this process (ring), for callers that build a TLS configuration of their own.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
