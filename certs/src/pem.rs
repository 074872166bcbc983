//! Decides what a PEM text holds: certificates, one private key, or a pair of both that belong together.
//!
//! The only user of `rustls-pemfile`. Never reads a file (the caller knows the path and adds it to the error), never judges
//! trust, and never repeats a byte of its input in an error: a damaged key file must not end up in a log.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::InconsistentKeys;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls_pemfile::Item;

/// Characters per line of base64 in PEM (RFC 7468).
const LINE: usize = 64;

/// Why a PEM text is not what its reader needs. Names neither file nor content; the caller adds the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PemError {
    /// A section is cut off, has a damaged marker line, or is not base64. The parser's own text is dropped: it quotes the
    /// damaged line, which in a key file is the key.
    #[error(
        "not well-formed PEM: a section has no end line, a damaged marker line or is not base64"
    )]
    Malformed,
    /// No `CERTIFICATE` section.
    #[error("no certificate in it (expected a CERTIFICATE section in PEM form)")]
    NoCertificate,
    /// No private key section that can be used.
    #[error(
        "no usable private key in it (expected one unencrypted PRIVATE KEY section in PEM form)"
    )]
    NoPrivateKey,
    /// More than one private key: which one serves would be a guess.
    #[error("more than one private key in it; keep the one that belongs to the certificate")]
    SeveralPrivateKeys,
    /// A private key in a file of authorities, which is handed on to others.
    #[error("a private key in a file of certificate authorities; remove it")]
    UnexpectedPrivateKey,
    /// A certificate section that holds no X.509 certificate.
    #[error("certificate number {number} in it is not a valid X.509 certificate")]
    Certificate {
        /// Place in the file, counted from 1.
        number: usize,
        /// What the parser says of it.
        source: rustls::Error,
    },
    /// The key is of a kind or an encoding that the provider cannot sign with.
    #[error("the private key cannot be used (RSA, ECDSA P-256/P-384 and Ed25519 keys can)")]
    UnusableKey(#[source] rustls::Error),
    /// Certificate and key do not belong together.
    #[error("the private key does not belong to the first certificate")]
    Mismatch,
}

/// All certificates, in file order; other sections are passed over.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let found: Vec<_> = items(pem)?
        .into_iter()
        .filter_map(|item| match item {
            Item::X509Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        Err(PemError::NoCertificate)
    } else {
        Ok(found)
    }
}

/// All certificates of a text of authorities, which may hold no private key.
///
/// # Errors
///
/// [`PemError`] if it holds none, a damaged section or a private key.
pub fn authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    if items(pem)?.into_iter().any(|item| key(item).is_some()) {
        return Err(PemError::UnexpectedPrivateKey);
    }
    certificates(pem)
}

/// The one private key (PKCS#1, PKCS#8 or SEC1).
pub(crate) fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, PemError> {
    let mut keys = items(pem)?.into_iter().filter_map(key);
    let first = keys.next().ok_or(PemError::NoPrivateKey)?;
    if keys.next().is_some() {
        return Err(PemError::SeveralPrivateKeys);
    }
    Ok(first)
}

/// Joins chain and key, and proves that the key belongs to the first certificate.
pub(crate) fn pair(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, PemError> {
    CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => PemError::Mismatch,
        source @ rustls::Error::InvalidCertificate(_) => {
            PemError::Certificate { number: 1, source }
        }
        other => PemError::UnusableKey(other),
    })
}

/// The PEM text of a certificate.
pub(crate) fn certificate_text(certificate: &CertificateDer<'_>) -> String {
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = STANDARD.encode(certificate);
    while !rest.is_empty() {
        let tail = rest.split_off(rest.len().min(LINE));
        text.push_str(&rest);
        text.push('\n');
        rest = tail;
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

fn items(pem: &[u8]) -> Result<Vec<Item>, PemError> {
    rustls_pemfile::read_all(&mut io::BufReader::new(pem))
        .collect::<Result<_, _>>()
        .map_err(|_| PemError::Malformed)
}

fn key(item: Item) -> Option<PrivateKeyDer<'static>> {
    match item {
        Item::Pkcs1Key(key) => Some(key.into()),
        Item::Pkcs8Key(key) => Some(key.into()),
        Item::Sec1Key(key) => Some(key.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn key_text() -> String {
        rcgen::KeyPair::generate().unwrap().serialize_pem()
    }

    #[test]
    fn a_text_without_the_wanted_section_says_which_one_is_missing() {
        assert!(matches!(
            certificates(key_text().as_bytes()),
            Err(PemError::NoCertificate)
        ));
        assert!(matches!(
            private_key(b"no PEM at all"),
            Err(PemError::NoPrivateKey)
        ));
        let encrypted =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        assert!(matches!(
            private_key(encrypted.as_bytes()),
            Err(PemError::NoPrivateKey)
        ));
    }

    #[test]
    fn two_private_keys_are_refused_rather_than_guessed_between() {
        let two = key_text() + &key_text();
        assert!(matches!(
            private_key(two.as_bytes()),
            Err(PemError::SeveralPrivateKeys)
        ));
    }

    #[test]
    fn a_private_key_among_authorities_is_refused_because_the_file_is_handed_to_tenants() {
        let ca = rcgen::generate_simple_self_signed(vec!["ca.test".to_owned()]).unwrap();
        let mixed = ca.cert.pem() + &ca.signing_key.serialize_pem();
        assert!(matches!(
            authorities(mixed.as_bytes()),
            Err(PemError::UnexpectedPrivateKey)
        ));
        assert_eq!(authorities(ca.cert.pem().as_bytes()).unwrap().len(), 1);
    }

    #[test]
    fn a_key_flattened_to_one_line_is_not_quoted_in_the_error() {
        let flat = key_text().replace('\n', "");
        let secret = flat.get(40..60).unwrap();
        let error = private_key(flat.as_bytes()).unwrap_err();
        assert!(matches!(error, PemError::Malformed));
        assert!(!format!("{error} {error:?}").contains(secret));
    }

    #[test]
    fn a_key_of_another_certificate_is_a_mismatch() {
        let own = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
        let chain = || certificates(own.cert.pem().as_bytes()).unwrap();
        let foreign = private_key(key_text().as_bytes()).unwrap();
        assert!(matches!(
            pair(chain(), foreign, &crate::provider()),
            Err(PemError::Mismatch)
        ));
        let right = private_key(own.signing_key.serialize_pem().as_bytes()).unwrap();
        assert!(pair(chain(), right, &crate::provider()).is_ok());
    }

    #[test]
    fn bytes_that_are_no_certificate_or_no_key_are_told_apart() {
        let own = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
        let right = || private_key(own.signing_key.serialize_pem().as_bytes()).unwrap();
        let junk = vec![CertificateDer::from(vec![1, 2, 3])];
        assert!(matches!(
            pair(junk, right(), &crate::provider()),
            Err(PemError::Certificate { number: 1, .. })
        ));
        let chain = certificates(own.cert.pem().as_bytes()).unwrap();
        let hollow =
            private_key(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").unwrap();
        assert!(matches!(
            pair(chain, hollow, &crate::provider()),
            Err(PemError::UnusableKey(_))
        ));
    }
}
