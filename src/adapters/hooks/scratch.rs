//! The one folder that a hook's process may write to: files for it, and what it wrote.
//!
//! A hook may have put anything in place of a file; only a regular file is read, no further than asked for, and no link is
//! followed.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use tempfile::TempDir;

/// Why a scratch folder failed.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// It cannot be made.
    #[error("no scratch folder can be made in {}: {source}", .root.display())]
    Create {
        /// Where.
        root: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("{name} cannot be written into the scratch folder: {source}")]
    Write {
        /// Its name.
        name: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A file of the hook cannot be read.
    #[error("what the hook wrote as {name} cannot be read: {source}")]
    Read {
        /// Its name.
        name: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The hook put something else in place of a file.
    #[error("the hook put something that is no file in place of {name}")]
    NoFile {
        /// Its name.
        name: &'static str,
    },
    /// A file of the hook is too long.
    #[error("{name} of the hook has more than {most} bytes")]
    TooLong {
        /// Its name.
        name: &'static str,
        /// The limit.
        most: usize,
    },
    /// The task that did it was ended.
    #[error("the scratch folder was given up: {0}")]
    Task(#[source] tokio::task::JoinError),
}

/// A folder that goes with the value.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes a folder and fills it.
    pub(super) async fn create(
        root: &Path,
        fill: impl FnOnce(&Self) -> Result<(), ScratchError> + Send + 'static,
    ) -> Result<Self, ScratchError> {
        let root = root.to_owned();
        let create = move || {
            let folder = tempfile::Builder::new()
                .prefix("tenantry-hook-")
                .tempdir_in(&root)
                .map_err(|source| ScratchError::Create { root, source })?;
            let scratch = Self(folder);
            fill(&scratch)?;
            Ok(scratch)
        };
        tokio::task::spawn_blocking(create)
            .await
            .map_err(ScratchError::Task)?
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn put_json(
        &self,
        name: &'static str,
        content: &impl Serialize,
    ) -> Result<(), ScratchError> {
        let failed = |source| ScratchError::Write { name, source };
        let bytes = serde_json::to_vec(content).map_err(|error| failed(error.into()))?;
        self.put(name, &bytes)
    }

    pub(super) fn put(&self, name: &'static str, content: &[u8]) -> Result<(), ScratchError> {
        std::fs::write(self.path().join(name), content)
            .map_err(|source| ScratchError::Write { name, source })
    }

    /// Reads what the hook wrote; a file that it removed is empty.
    pub(super) fn take(&self, name: &'static str, most: usize) -> Result<Vec<u8>, ScratchError> {
        let failed = |source| ScratchError::Read { name, source };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::open(self.path().join(name), flags, Mode::empty()) {
            Ok(file) => std::fs::File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(Vec::new()),
            Err(rustix::io::Errno::LOOP) => return Err(ScratchError::NoFile { name }),
            Err(error) => return Err(failed(error.into())),
        };
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(ScratchError::NoFile { name });
        }
        let mut bytes = Vec::new();
        let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        file.take(bound).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() > most {
            return Err(ScratchError::TooLong { name, most });
        }
        Ok(bytes)
    }
}
