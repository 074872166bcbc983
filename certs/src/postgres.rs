//! Decides whether the server that answered is the `PostgreSQL` server that the Instance names (D11, H22).
//!
//! The identity is bound to the configuration: `host` and `hostaddr` come from the Instance, not from what the connecting code
//! passes along. Never falls back to a weaker mode, never accepts a handshake that the certificate's key did not sign, never
//! looks at the common name, and never dials.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, DnsName, InvalidDnsNameError, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore,
    SignatureScheme,
};

use crate::problem::SanMissing;
use crate::roots::Roots;

/// How far a server is verified; the `sslMode` values that use TLS at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlsMode {
    /// Encryption only: any certificate passes.
    Require,
    /// The chain leads to a trusted authority; the names are not compared.
    VerifyCa,
    /// The chain, a DNS name for `host` and an IP address for `hostaddr`.
    VerifyFull,
}

/// Why no configuration can be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// `host` is an address or otherwise no DNS name.
    #[error("host must be a DNS name (lower-case labels joined by dots)")]
    Host(#[source] InvalidDnsNameError),
    /// The provider lacks what TLS 1.2 and 1.3 need: a fault of the build.
    #[error("the cryptography provider does not support TLS 1.2 and 1.3")]
    Provider(#[source] rustls::Error),
}

/// The TLS configuration for one server: `host` goes into SNI, and `host` and `hostaddr` are what `verify-full` compares.
/// TLS 1.2 and 1.3, no ALPN, no client certificate, and no resumption, so that every connection is verified anew.
///
/// What fails in the handshake is told by [`explain`](crate::explain). A certificate of X.509 version 1 fails in every mode: the
/// TLS library cannot check a handshake signature with it.
///
/// # Errors
///
/// [`ConfigError::Host`] if `host` is no DNS name.
pub fn client_config(
    mode: TlsMode,
    host: &str,
    hostaddr: IpAddr,
    roots: &Roots,
) -> Result<ClientConfig, ConfigError> {
    let name = DnsName::try_from(host.to_owned()).map_err(ConfigError::Host)?;
    let roots = Arc::clone(&roots.anchors);
    let check = match mode {
        TlsMode::Require => Check::Nothing,
        TlsMode::VerifyCa => Check::Chain(roots),
        TlsMode::VerifyFull => Check::Full {
            roots,
            identity: Identity {
                name,
                addr: hostaddr,
            },
        },
    };
    let provider = crate::provider();
    let verifier = Verifier {
        check,
        algorithms: provider.signature_verification_algorithms,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(ConfigError::Provider)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(config)
}

#[derive(Debug)]
struct Verifier {
    check: Check,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
enum Check {
    Nothing,
    Chain(Arc<RootCertStore>),
    Full {
        roots: Arc<RootCertStore>,
        identity: Identity,
    },
}

#[derive(Debug)]
struct Identity {
    name: DnsName<'static>,
    addr: IpAddr,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name_of_the_caller: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let (roots, identity) = match &self.check {
            Check::Nothing => return Ok(ServerCertVerified::assertion()),
            Check::Chain(roots) => (roots, None),
            Check::Full { roots, identity } => (roots, Some(identity)),
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        verify_server_cert_signed_by_trust_anchor(
            &certificate,
            roots,
            intermediates,
            now,
            self.algorithms.all,
        )
        .map_err(of_the_chain)?;
        if let Some(identity) = identity {
            identity.verify(&certificate)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl Identity {
    /// Both names are always compared, so that a person who makes a new certificate learns of both at once.
    fn verify(&self, certificate: &ParsedCertificate<'_>) -> Result<(), rustls::Error> {
        let by_name = covers(certificate, &ServerName::DnsName(self.name.clone()))?;
        let by_addr = covers(certificate, &ServerName::IpAddress(self.addr.into()))?;
        if by_name && by_addr {
            return Ok(());
        }
        let missing = SanMissing {
            host: (!by_name).then(|| self.name.as_ref().to_owned()),
            addr: (!by_addr).then_some(self.addr),
        };
        Err(CertificateError::Other(OtherError(Arc::new(missing))).into())
    }
}

/// A re-created authority of the same name shows as a signature that does not verify: its certificates are a stranger's. Told
/// apart here, because a bad signature of the handshake itself is another problem.
fn of_the_chain(error: rustls::Error) -> rustls::Error {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::BadSignature) => {
            CertificateError::UnknownIssuer.into()
        }
        other => other,
    }
}

fn covers(
    certificate: &ParsedCertificate<'_>,
    name: &ServerName<'_>,
) -> Result<bool, rustls::Error> {
    match verify_server_name(certificate, name) {
        Ok(()) => Ok(true),
        Err(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => Ok(false),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::Ipv4Addr;
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::problem::{TlsProblem, explain};

    fn data(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name)
    }

    /// What a verifier that trusts `authority.pem` says of a certificate that this authority signed, within its dates.
    fn verdict(file: &str) -> TlsProblem {
        let verifier = Verifier {
            check: Check::Chain(Roots::load(Some(&data("authority.pem"))).unwrap().anchors),
            algorithms: crate::provider().signature_verification_algorithms,
        };
        let chain = crate::pem::certificates(&std::fs::read(data(file)).unwrap()).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_830_000_000));
        let name = ServerName::try_from("db.test").unwrap();
        explain(
            &verifier
                .verify_server_cert(chain.first().unwrap(), &[], &name, &[], now)
                .unwrap_err(),
        )
        .unwrap()
    }

    #[test]
    fn h22_a_certificate_signed_with_sha_1_is_refused_and_told() {
        assert!(verdict("server-sha1.pem").to_string().contains("SHA-1"));
    }

    #[test]
    fn a_certificate_of_x509_version_1_is_refused_and_told() {
        assert!(verdict("server-v1.pem").to_string().contains("version 1"));
    }

    #[test]
    fn d11_host_must_be_a_name_and_never_an_address() {
        let roots = Roots::load(Some(&data("authority.pem"))).unwrap();
        for host in ["10.0.0.1", "::1", "", "a b", "-a.test"] {
            for mode in [TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull] {
                let made = client_config(mode, host, Ipv4Addr::LOCALHOST.into(), &roots);
                assert!(
                    matches!(made, Err(ConfigError::Host(_))),
                    "{host:?} under {mode:?}"
                );
            }
        }
    }
}
