//! Decides which serving pair is in force: the last one that was fit to serve with.
//!
//! Never gives up the pair in force for a worse one, and decides nothing about readiness: it only tells when the pair in force
//! ends. Which pair is fit is `pair`'s decision.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use secrecy::SecretString;

use crate::pair::{LoadError, PairBytes, PairFiles, certify, read};

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
