//! Decides the TLS parameters of our own listeners: versions, protocols and where the certificate comes from.
//!
//! Never asks clients for a certificate, and opens no listener.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};

use crate::store::CertStore;

/// The oldest TLS version that a client may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OldestTls {
    /// TLS 1.2, for API servers or scrapers that know nothing newer.
    V1_2,
    /// TLS 1.3 only.
    #[default]
    V1_3,
}

/// The configuration of an HTTPS listener whose certificate follows `store`; offers `h2`, then `http/1.1`.
///
/// # Errors
///
/// Only if the provider lacks what the versions need, which is a fault of the build.
pub fn server_config(
    store: Arc<CertStore>,
    oldest: OldestTls,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let versions: &[_] = match oldest {
        OldestTls::V1_2 => &[&TLS13, &TLS12],
        OldestTls::V1_3 => &[&TLS13],
    };
    let mut config = ServerConfig::builder_with_provider(crate::provider())
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(store);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
