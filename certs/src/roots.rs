//! Decides which authorities a `PostgreSQL` server's certificate may come from: those of one file, or the system's (D11).
//!
//! Never mixes the two, and never downloads anything. As in rustls, an authority that is listed is trusted by its name and
//! key; its own validity dates are not looked at.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;

use crate::pem::{self, PemError};

/// The authorities in force; cheap to clone.
#[derive(Clone)]
pub struct Roots {
    pub(crate) anchors: Arc<RootCertStore>,
    bundle: Option<Arc<str>>,
}

/// Why the authorities cannot be loaded. Each message names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootsError {
    /// The file cannot be read.
    #[error("cannot read the certificate authorities of {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file holds no certificate, a damaged one, or a private key.
    #[error("cannot use the certificate authorities of {}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with its content.
        source: PemError,
    },
}

impl Roots {
    /// The authorities of the PEM bundle at `path`, each of which must be usable; without a path the system's. A system
    /// without any is no error, because `require` needs none: under the verifying modes every server is then refused.
    /// Blocks on the file system.
    ///
    /// # Errors
    ///
    /// [`RootsError`] for a file that cannot be read or used. The system's store has no error: what is unreadable in it is
    /// logged and left out.
    pub fn load(path: Option<&Path>) -> Result<Self, RootsError> {
        match path {
            Some(path) => {
                let pem = fs::read(path).map_err(|source| RootsError::Read {
                    path: path.to_owned(),
                    source,
                })?;
                Self::from_pem(&pem).map_err(|source| RootsError::Content {
                    path: path.to_owned(),
                    source,
                })
            }
            None => Ok(Self::of_the_system()),
        }
    }

    /// The authorities of a file as PEM text, certificates only, for the `ca.crt` of a tenant's Secret (D7); `None` for the
    /// system's, which every client has itself.
    #[must_use]
    pub fn bundle(&self) -> Option<&str> {
        self.bundle.as_deref()
    }

    fn from_pem(pem: &[u8]) -> Result<Self, PemError> {
        let certificates = pem::authorities(pem)?;
        let mut anchors = RootCertStore::empty();
        let mut bundle = String::new();
        for (index, certificate) in certificates.into_iter().enumerate() {
            bundle.push_str(&pem::certificate_text(&certificate));
            anchors
                .add(certificate)
                .map_err(|source| PemError::Certificate {
                    number: index + 1,
                    source,
                })?;
        }
        Ok(Self {
            anchors: Arc::new(anchors),
            bundle: Some(bundle.into()),
        })
    }

    fn of_the_system() -> Self {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "a part of the system's certificate authorities cannot be read");
        }
        let mut anchors = RootCertStore::empty();
        let (_, unusable) = anchors.add_parsable_certificates(found.certs);
        if anchors.is_empty() {
            tracing::warn!(
                unusable,
                "the system has no certificate authorities; name a file of them to verify servers"
            );
        }
        Self {
            anchors: Arc::new(anchors),
            bundle: None,
        }
    }
}

impl PartialEq for Roots {
    /// The same certificates in the same order; the system's authorities equal themselves.
    fn eq(&self, other: &Self) -> bool {
        self.bundle == other.bundle
    }
}

impl Eq for Roots {}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roots")
            .field("authorities", &self.anchors.len())
            .finish_non_exhaustive()
    }
}
