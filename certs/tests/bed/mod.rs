//! Certificates made for one test, and a loopback server that presents them. Decides nothing and proves nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    reason = "each test file uses its part of the bed"
)]

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;

/// A certificate with its key.
pub struct Pair {
    pub certificate: rcgen::Certificate,
    pub key: KeyPair,
}

impl Pair {
    pub fn der(&self) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        (self.certificate.der().clone(), key.into())
    }
}

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self {
            issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap(),
        }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    pub fn issue(&self, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        Pair {
            certificate: params.signed_by(&key, &self.issuer).unwrap(),
            key,
        }
    }
}

/// A server's certificate with these subject alternative names and the common name `db.test`.
pub fn params(dns: &[&str], ips: &[IpAddr]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "db.test");
    params.subject_alt_names = dns
        .iter()
        .map(|name| SanType::DnsName((*name).try_into().unwrap()))
        .chain(ips.iter().map(|ip| SanType::IpAddress(*ip)))
        .collect();
    params
}

/// A rustls server of all versions that presents `pair`.
pub fn presenting(pair: &Pair) -> Arc<rustls::ServerConfig> {
    let (certificate, key) = pair.der();
    let config = rustls::ServerConfig::builder_with_provider(certs::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Arc::new(config)
}

/// Accepts TLS on a loopback port until the test ends.
pub async fn serve(config: Arc<rustls::ServerConfig>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(config);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that refuses the certificate ends the handshake: its side is what the test looks at.
                if let Ok(mut stream) = acceptor.accept(socket).await {
                    tokio::io::copy(&mut stream, &mut tokio::io::sink())
                        .await
                        .ok();
                }
            });
        }
    });
    address
}

/// The authorities of this PEM text, by way of a file.
pub fn trusting(pem: &str) -> certs::Roots {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, pem).unwrap();
    certs::Roots::load(Some(&file)).unwrap()
}
