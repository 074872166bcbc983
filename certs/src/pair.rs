//! Decides whether files hold a pair to serve with: readable as one, well-formed, matching and not expired.
//!
//! Never writes a file and never takes two halves of different pairs for one. Which pair is in force is `store`'s decision.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use crate::pem::{self, PemError};

/// Reads of a pair that changes under the reader before giving up until the next poll.
const READ_ATTEMPTS: usize = 3;

/// Where the serving pair lies, which errors name: usually `tls.crt` and `tls.key` of a mounted Secret.
#[derive(Clone, Debug)]
pub struct PairFiles {
    /// The certificate, followed by its intermediates, in PEM form.
    pub certificate: PathBuf,
    /// The private key in PEM form, unencrypted.
    pub key: PathBuf,
}

/// Why a pair was not taken into force. Each message names the file to look at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file of the pair cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The files kept changing while they were read.
    #[error("{} and {} change while they are read", certificate.display(), key.display())]
    Changing {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// The certificate file holds no usable certificate.
    #[error("cannot use the certificate of {}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with its content.
        source: PemError,
    },
    /// The key file holds no usable key.
    #[error("cannot use the private key of {}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with its content.
        source: PemError,
    },
    /// Certificate and key do not belong together, or the provider cannot sign with the key.
    #[error("cannot use {} together with {}", certificate.display(), key.display())]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Which of the two it is.
        source: PemError,
    },
    /// The certificate's time is over.
    #[error("the certificate of {} has expired; renew it", path.display())]
    Expired {
        /// The file.
        path: PathBuf,
    },
}

/// The files' content, kept for comparison; the key is wiped when it is dropped.
pub(crate) struct PairBytes {
    certificate: Vec<u8>,
    key: SecretSlice<u8>,
}

impl PairBytes {
    pub(crate) fn of(certificate: &str, key: &SecretString) -> Self {
        Self {
            certificate: certificate.as_bytes().to_vec(),
            key: key.expose_secret().as_bytes().to_vec().into(),
        }
    }
}

impl PartialEq for PairBytes {
    fn eq(&self, other: &Self) -> bool {
        self.certificate == other.certificate
            && self.key.expose_secret() == other.key.expose_secret()
    }
}

/// The content of both files, as of one moment.
pub(crate) fn read(files: &PairFiles) -> Result<PairBytes, LoadError> {
    settled(|| read_once(files))?.ok_or_else(|| LoadError::Changing {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
    })
}

/// Looks until two looks in a row agree, so that files swapped between the two reads of one look are never taken for a pair.
fn settled(
    mut look: impl FnMut() -> Result<PairBytes, LoadError>,
) -> Result<Option<PairBytes>, LoadError> {
    let mut last = look()?;
    for _ in 1..READ_ATTEMPTS {
        let next = look()?;
        if next == last {
            return Ok(Some(next));
        }
        last = next;
    }
    Ok(None)
}

fn read_once(files: &PairFiles) -> Result<PairBytes, LoadError> {
    let content = |path: &Path| {
        fs::read(path).map_err(|source| LoadError::Read {
            path: path.to_owned(),
            source,
        })
    };
    Ok(PairBytes {
        certificate: content(&files.certificate)?,
        key: content(&files.key)?.into(),
    })
}

/// The pair that the bytes are, and when it ends: well-formed, matching and not expired at `now`.
pub(crate) fn certify(
    files: &PairFiles,
    bytes: &PairBytes,
    provider: &CryptoProvider,
    now: SystemTime,
) -> Result<(CertifiedKey, SystemTime), LoadError> {
    let certificate = |source| LoadError::Certificate {
        path: files.certificate.clone(),
        source,
    };
    let chain = pem::certificates(&bytes.certificate).map_err(certificate)?;
    let not_after = chain.first().and_then(end_of).ok_or_else(|| {
        certificate(PemError::Certificate {
            number: 1,
            source: rustls::CertificateError::BadEncoding.into(),
        })
    })?;
    let key = pem::private_key(bytes.key.expose_secret()).map_err(|source| LoadError::Key {
        path: files.key.clone(),
        source,
    })?;
    let pair = pem::pair(chain, key, provider).map_err(|source| LoadError::Pair {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        source,
    })?;
    if now > not_after {
        return Err(LoadError::Expired {
            path: files.certificate.clone(),
        });
    }
    Ok((pair, not_after))
}

/// The end of a certificate's validity; `None` for bytes that are no certificate.
fn end_of(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let parsed = Certificate::from_der(certificate).ok()?;
    Some(parsed.tbs_certificate.validity.not_after.to_system_time())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The pair that successive looks, each a certificate and a key, settle on.
    fn settles_on(looks: &[(&str, &str)]) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut looks = looks.iter();
        let bytes = settled(|| {
            let (certificate, key) = looks.next().unwrap();
            Ok(PairBytes {
                certificate: certificate.as_bytes().into(),
                key: key.as_bytes().to_vec().into(),
            })
        });
        bytes
            .unwrap()
            .map(|pair| (pair.certificate, pair.key.expose_secret().to_vec()))
    }

    #[test]
    fn files_swapped_between_the_two_reads_are_never_taken_for_a_pair() {
        let whole = Some((b"c2".to_vec(), b"k2".to_vec()));
        assert_eq!(settles_on(&[("c2", "k2"), ("c2", "k2")]), whole);
        assert_eq!(
            settles_on(&[("c1", "k2"), ("c2", "k2"), ("c2", "k2")]),
            whole
        );
        assert_eq!(
            settles_on(&[("c1", "k1"), ("c2", "k2"), ("c3", "k3")]),
            None
        );
    }
}
