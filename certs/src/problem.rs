//! Decides what a failed connection says about TLS, in words that are safe in a condition (C5, D11).
//!
//! Finds the TLS library's error wherever it sits in the chain of causes, and names a closed set of problems. Never repeats
//! what the other side sent: names in its certificate, alert texts and random bytes stay out.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::IpAddr;

use rustls::{AlertDescription, CertificateError, OtherError, PeerIncompatible};

/// What tokio-postgres says when the server answers `N`. It has no type for it; a test against the library guards the text.
const NOT_OFFERED: &str = "server does not support TLS";

/// What is wrong between us and the server's TLS. Its `Display` is one clause for a person, without secrets; host and address
/// are those of the Instance's spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsProblem {
    /// The server answered that it has no TLS.
    #[error("the server does not offer TLS (turn on ssl in its configuration)")]
    NotOffered,
    /// No TLS version in common.
    #[error("the server offers neither TLS 1.2 nor TLS 1.3")]
    Version,
    /// The chain ends at no trusted authority, or at one of the same name with another key.
    #[error("the server's certificate was not issued by a trusted authority")]
    UnknownIssuer,
    /// A certificate of the chain has ended.
    #[error("the server's certificate has expired")]
    Expired,
    /// A certificate of the chain has not begun.
    #[error("the server's certificate is not valid yet")]
    NotYetValid,
    /// Only the DNS name is missing.
    #[error("the server's certificate has no DNS subject alternative name for host {host}")]
    MissingDnsSan {
        /// `spec.endpoint.host`.
        host: String,
    },
    /// Only the address is missing.
    #[error("the server's certificate has no IP subject alternative name for hostaddr {addr}")]
    MissingIpSan {
        /// `spec.endpoint.hostaddr`.
        addr: IpAddr,
    },
    /// Both are missing, as in a certificate with a common name alone.
    #[error(
        "the server's certificate has neither a DNS subject alternative name for host {host} \
         nor an IP subject alternative name for hostaddr {addr}"
    )]
    MissingSans {
        /// `spec.endpoint.host`.
        host: String,
        /// `spec.endpoint.hostaddr`.
        addr: IpAddr,
    },
    /// Anything else, as one of the fixed texts of this file.
    #[error("{0}")]
    Other(&'static str),
}

/// The verifier's own error: which of the two names the certificate does not cover; at least one is set.
#[derive(Debug)]
pub(crate) struct SanMissing {
    pub(crate) host: Option<String>,
    pub(crate) addr: Option<IpAddr>,
}

impl SanMissing {
    fn problem(&self) -> TlsProblem {
        match (self.host.clone(), self.addr) {
            (Some(host), Some(addr)) => TlsProblem::MissingSans { host, addr },
            (Some(host), None) => TlsProblem::MissingDnsSan { host },
            (None, Some(addr)) => TlsProblem::MissingIpSan { addr },
            (None, None) => TlsProblem::Other("the server's certificate was refused"),
        }
    }
}

impl fmt::Display for SanMissing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem().fmt(f)
    }
}

impl Error for SanMissing {}

/// The TLS problem behind `error`, or `None` if TLS is not why it failed (refused, reset, timed out, rejected by the server).
///
/// Walks the causes, also through `io::Error`, whose `source` skips the error that it wraps.
#[must_use]
pub fn explain(error: &(dyn Error + 'static)) -> Option<TlsProblem> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(classify(tls));
        }
        next = match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
        if next.is_none() && error.to_string() == NOT_OFFERED {
            return Some(TlsProblem::NotOffered);
        }
    }
    None
}

fn classify(error: &rustls::Error) -> TlsProblem {
    use rustls::Error as Tls;
    match error {
        Tls::InvalidCertificate(certificate) => classify_certificate(certificate),
        Tls::AlertReceived(AlertDescription::ProtocolVersion)
        | Tls::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => TlsProblem::Version,
        Tls::AlertReceived(AlertDescription::CertificateRequired) => {
            TlsProblem::Other("the server asks for a client certificate, which is not supported")
        }
        Tls::AlertReceived(_) => TlsProblem::Other("the server refused the TLS handshake"),
        Tls::PeerIncompatible(_) => {
            TlsProblem::Other("the server has no TLS parameters in common with this client")
        }
        Tls::NoCertificatesPresented => TlsProblem::Other("the server presents no certificate"),
        _ => TlsProblem::Other("the server does not follow the TLS protocol"),
    }
}

fn classify_certificate(error: &CertificateError) -> TlsProblem {
    use CertificateError as Bad;
    match error {
        Bad::UnknownIssuer => TlsProblem::UnknownIssuer,
        Bad::BadSignature => TlsProblem::Other(
            "the server does not hold the key of the certificate that it presents",
        ),
        Bad::Expired | Bad::ExpiredContext { .. } => TlsProblem::Expired,
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => TlsProblem::NotYetValid,
        Bad::BadEncoding => TlsProblem::Other("the server's certificate is damaged"),
        Bad::UnsupportedSignatureAlgorithmContext { .. }
        | Bad::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => TlsProblem::Other(
            "the server's certificate is signed with an algorithm that is not accepted (such as SHA-1)",
        ),
        Bad::InvalidPurpose | Bad::InvalidPurposeContext { .. } => TlsProblem::Other(
            "the server's certificate is not meant for servers (extended key usage)",
        ),
        Bad::Other(OtherError(cause)) => classify_other(cause.as_ref()),
        _ => TlsProblem::Other("the server's certificate was refused"),
    }
}

fn classify_other(cause: &(dyn Error + Send + Sync + 'static)) -> TlsProblem {
    if let Some(missing) = cause.downcast_ref::<SanMissing>() {
        return missing.problem();
    }
    match cause.downcast_ref::<webpki::Error>() {
        Some(webpki::Error::CaUsedAsEndEntity) => TlsProblem::Other(
            "the server presents the certificate of an authority as its own; issue it a certificate that is not a CA",
        ),
        Some(webpki::Error::UnsupportedCertVersion) => TlsProblem::Other(
            "the server's certificate is X.509 version 1; issue one of version 3 with subject alternative names",
        ),
        _ => TlsProblem::Other("the server's certificate was refused"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn wrapped(error: CertificateError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, rustls::Error::from(error))
    }

    #[test]
    fn an_error_that_has_nothing_to_do_with_tls_is_not_explained() {
        assert_eq!(
            explain(&io::Error::from(io::ErrorKind::ConnectionRefused)),
            None
        );
        assert_eq!(
            explain(&io::Error::other("server does not support TLS, it says")),
            None
        );
    }

    #[test]
    fn the_problem_is_found_below_nested_io_errors() {
        let nested = io::Error::other(io::Error::other(wrapped(CertificateError::UnknownIssuer)));
        assert_eq!(explain(&nested), Some(TlsProblem::UnknownIssuer));
    }

    #[test]
    fn a_condition_text_never_repeats_the_names_of_a_foreign_certificate() {
        let foreign = CertificateError::NotValidForNameContext {
            expected: rustls::pki_types::ServerName::IpAddress(
                std::net::IpAddr::from([10, 0, 0, 1]).into(),
            ),
            presented: vec!["injected.example".to_owned()],
        };
        let text = explain(&wrapped(foreign)).map(|problem| problem.to_string());
        assert_eq!(
            text.as_deref(),
            Some("the server's certificate was refused")
        );
    }

    #[test]
    fn each_missing_name_is_told_by_the_field_that_it_belongs_to() {
        let told = |host: Option<&str>, addr: Option<IpAddr>| {
            let missing = SanMissing {
                host: host.map(str::to_owned),
                addr,
            };
            explain(&wrapped(CertificateError::Other(OtherError(Arc::new(
                missing,
            )))))
            .map(|problem| problem.to_string())
        };
        let addr = IpAddr::from([10, 0, 0, 1]);
        let dns = told(Some("db.test"), None).unwrap_or_default();
        assert!(
            dns.contains("host db.test") && !dns.contains("hostaddr"),
            "{dns}"
        );
        let ip = told(None, Some(addr)).unwrap_or_default();
        assert!(
            ip.contains("hostaddr 10.0.0.1") && !ip.contains("host db"),
            "{ip}"
        );
        let both = told(Some("db.test"), Some(addr)).unwrap_or_default();
        assert!(
            both.contains("host db.test") && both.contains("hostaddr 10.0.0.1"),
            "{both}"
        );
    }
}
