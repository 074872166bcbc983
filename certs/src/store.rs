//! Decides which serving pair is in force: the last one that was readable, well-formed, matching and not expired.
//!
//! Never writes a file, never serves a half-read pair, never gives up the pair in force for a worse one, and decides nothing
//! about readiness: it only tells when the pair in force ends.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, ResolvesServerCert};
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

/// What one look at the files led to.
#[derive(Debug)]
pub enum Reload {
    /// The files hold the pair in force.
    Unchanged,
    /// Another pair is in force now.
    Replaced {
        /// When the new certificate ends.
        not_after: SystemTime,
    },
    /// The files hold no better pair; the one in force stays.
    Refused {
        /// What is wrong with them.
        error: LoadError,
        /// The look before this one ended in the same way: there is nothing new to tell.
        repeated: bool,
    },
}

/// Counters of the store since the process began, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadState {
    /// Looks at the files, the first one included.
    pub reads: u64,
    /// Looks that found no usable pair; grows with every look for as long as the files stay bad.
    pub errors: u64,
    /// Times that another pair came into force.
    pub replacements: u64,
}

/// The serving pair, as rustls asks for it on each handshake.
pub struct CertStore {
    /// Files, or what a pair that is handed over is called.
    files: PairFiles,
    provider: Arc<CryptoProvider>,
    current: ArcSwap<Serving>,
    refused: Mutex<Option<Refusal>>,
    reads: AtomicU64,
    errors: AtomicU64,
    replacements: AtomicU64,
}

struct Serving {
    key: Arc<CertifiedKey>,
    not_after: SystemTime,
    bytes: PairBytes,
}

/// The files' content, kept for comparison; the key is wiped when it is dropped.
struct PairBytes {
    certificate: Vec<u8>,
    key: SecretSlice<u8>,
}

impl PairBytes {
    fn of(certificate: &str, key: &SecretString) -> Self {
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

/// What was refused last: the content if it could be read, and the words that were used.
#[derive(PartialEq)]
struct Refusal {
    bytes: Option<PairBytes>,
    text: String,
}

impl CertStore {
    /// Reads the pair for the first time. Blocks on the file system.
    ///
    /// # Errors
    ///
    /// Any [`LoadError`]: without a pair that works there is nothing to serve with.
    pub fn load(files: PairFiles) -> Result<Self, LoadError> {
        let bytes = read(&files)?;
        Self::holding(files, bytes)
    }

    /// Begins with a pair that is handed over, in PEM form; `names` is what errors call it. No file is read.
    ///
    /// # Errors
    ///
    /// As [`CertStore::load`].
    pub fn handed(
        names: PairFiles,
        certificate: &str,
        key: &SecretString,
    ) -> Result<Self, LoadError> {
        Self::holding(names, PairBytes::of(certificate, key))
    }

    fn holding(files: PairFiles, bytes: PairBytes) -> Result<Self, LoadError> {
        let provider = crate::provider();
        let (key, not_after) = certify(&files, &bytes, &provider, SystemTime::now())?;
        Ok(Self {
            files,
            provider,
            current: ArcSwap::from_pointee(Serving {
                key: Arc::new(key),
                not_after,
                bytes,
            }),
            refused: Mutex::new(None),
            reads: AtomicU64::new(1),
            errors: AtomicU64::new(0),
            replacements: AtomicU64::new(0),
        })
    }

    /// Looks at the files once and takes another pair into force if it is usable. Blocks on the file system.
    pub fn reload(&self) -> Reload {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let bytes = match read(&self.files) {
            Ok(bytes) => bytes,
            Err(error) => return self.refuse(error, None),
        };
        self.offered(bytes)
    }

    /// Takes a pair that is handed over into force if it is usable.
    pub fn offer(&self, certificate: &str, key: &SecretString) -> Reload {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.offered(PairBytes::of(certificate, key))
    }

    fn offered(&self, bytes: PairBytes) -> Reload {
        if bytes == self.current.load().bytes {
            self.remember(None);
            return Reload::Unchanged;
        }
        match certify(&self.files, &bytes, &self.provider, SystemTime::now()) {
            Ok((key, not_after)) => {
                self.current.store(Arc::new(Serving {
                    key: Arc::new(key),
                    not_after,
                    bytes,
                }));
                self.replacements.fetch_add(1, Ordering::Relaxed);
                self.remember(None);
                Reload::Replaced { not_after }
            }
            Err(error) => self.refuse(error, Some(bytes)),
        }
    }

    /// When the certificate in force ends.
    #[must_use]
    pub fn not_after(&self) -> SystemTime {
        self.current.load().not_after
    }

    /// Whether the certificate in force has ended at `now`.
    #[must_use]
    pub fn is_expired(&self, now: SystemTime) -> bool {
        now > self.not_after()
    }

    /// The counters, for metrics.
    #[must_use]
    pub fn load_state(&self) -> LoadState {
        LoadState {
            reads: self.reads.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            replacements: self.replacements.load(Ordering::Relaxed),
        }
    }

    fn refuse(&self, error: LoadError, bytes: Option<PairBytes>) -> Reload {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let repeated = self.remember(Some(Refusal {
            bytes,
            text: error.to_string(),
        }));
        Reload::Refused { error, repeated }
    }

    /// Whether the refusal is the same as the one before.
    fn remember(&self, refusal: Option<Refusal>) -> bool {
        let mut last = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let same = *last == refusal;
        *last = refusal;
        same
    }
}

impl ResolvesServerCert for CertStore {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.load().key))
    }
}

impl fmt::Debug for CertStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertStore")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

fn read(files: &PairFiles) -> Result<PairBytes, LoadError> {
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

fn certify(
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
