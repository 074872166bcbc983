//! Decides which authorities for `PostgreSQL` servers are in force while their file changes: the last ones that were usable.
//!
//! Never gives up the authorities in force for a file that is absent or damaged, and writes no file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::chain::chain;
use crate::roots::{Roots, RootsError};

/// The authorities in force, and who is told when they change. The system's never change while the process runs.
pub struct Trust {
    file: Option<PathBuf>,
    current: watch::Sender<Roots>,
    refused: Mutex<Option<String>>,
}

/// What one look at the file led to.
#[derive(Debug)]
pub enum Renewal {
    /// The file holds the authorities in force.
    Unchanged,
    /// Others are in force now.
    Replaced,
    /// The file holds no usable authorities; those in force stay.
    Refused {
        /// What is wrong with it.
        error: RootsError,
        /// The look before this one ended in the same way: there is nothing new to tell.
        repeated: bool,
    },
}

impl Trust {
    /// As [`Roots::load`], to be looked at again.
    ///
    /// # Errors
    ///
    /// As [`Roots::load`].
    pub fn load(file: Option<&Path>) -> Result<Self, RootsError> {
        Ok(Self {
            file: file.map(Path::to_owned),
            current: watch::Sender::new(Roots::load(file)?),
            refused: Mutex::new(None),
        })
    }

    /// The authorities in force.
    #[must_use]
    pub fn current(&self) -> Roots {
        self.current.borrow().clone()
    }

    /// Tells of each change from now on.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Roots> {
        self.current.subscribe()
    }

    /// Looks at the file and takes what it holds into force if that is usable and another. Blocks on the file system.
    pub fn renew(&self) -> Renewal {
        let Some(file) = &self.file else {
            return Renewal::Unchanged;
        };
        match Roots::load(Some(file)) {
            Ok(roots) => {
                self.is_known(None);
                let replaced = self.current.send_if_modified(|current| {
                    let another = *current != roots;
                    *current = roots;
                    another
                });
                if replaced {
                    Renewal::Replaced
                } else {
                    Renewal::Unchanged
                }
            }
            Err(error) => {
                let repeated = self.is_known(Some(chain(&error)));
                Renewal::Refused { error, repeated }
            }
        }
    }

    /// Looks at the file after each `interval`, as long as somebody else holds the value. A change is logged once.
    pub async fn follow(self: Arc<Self>, interval: Duration) {
        while Arc::strong_count(&self) > 1 {
            sleep(interval).await;
            let looked = Arc::clone(&self);
            // A file on a network volume may block.
            match tokio::task::spawn_blocking(move || looked.renew()).await {
                Ok(Renewal::Replaced) => {
                    tracing::info!("the certificate authorities for PostgreSQL were replaced");
                }
                Ok(Renewal::Refused {
                    error,
                    repeated: false,
                }) => tracing::warn!(
                    error = chain(&error),
                    "the new certificate authorities for PostgreSQL are not usable; those in force stay"
                ),
                Ok(Renewal::Unchanged | Renewal::Refused { repeated: true, .. }) => {}
                Err(error) => {
                    tracing::error!(%error, "the look at the certificate authorities did not end");
                }
            }
        }
    }

    fn is_known(&self, refusal: Option<String>) -> bool {
        let mut last = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let same = *last == refusal;
        *last = refusal;
        same
    }
}
