//! The run folder of one bed: everything that the bed writes, and the mark by which it may be removed.
//!
//! Decides where files lie and with which rights; never removes a folder that lacks the mark.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

const MARK: &str = ".tenantry-bed";

/// A folder such as `/tmp/tb-a1B2c3`, short because a unix socket's path has at most 107 characters.
#[derive(Clone, Debug)]
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// Makes a new one with its mark and its subfolders.
    pub fn create() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("tb-")
            .tempdir_in("/tmp")
            .context("making the run folder")?
            .keep();
        // The server of PostgreSQL runs as another user: it may pass through, not look around.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o711))?;
        fs::write(folder.join(MARK), "made by the test bed of tenantry\n")?;
        for sub in ["pki", "logs", "pids"] {
            fs::create_dir(folder.join(sub))?;
        }
        Ok(Self(folder))
    }

    /// Takes up an existing one.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        ensure!(
            folder.join(MARK).is_file(),
            "{} is no run folder of a bed",
            folder.display()
        );
        Ok(Self(folder))
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A path inside.
    #[must_use]
    pub fn join(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.0.join(inside)
    }

    /// The folder with a log file per process.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.join("logs")
    }

    /// Where the API server notes each write of Tenantry, one JSON object a line: who wrote, what, and the answer, but no body.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.log")
    }

    /// Writes a file that only its owner can read.
    pub fn write_private(&self, inside: impl AsRef<Path>, content: &str) -> Result<PathBuf> {
        let path = self.join(inside);
        write_private(&path, content)?;
        Ok(path)
    }

    /// Removes the folder and all it holds.
    pub fn remove(&self) -> Result<()> {
        ensure!(
            self.join(MARK).is_file(),
            "{} is no run folder of a bed: left alone",
            self.0.display()
        );
        fs::remove_dir_all(&self.0).with_context(|| format!("removing {}", self.0.display()))
    }
}

/// Writes `path` with mode 0600 from the first moment on.
pub fn write_private(path: &Path, content: &str) -> Result<()> {
    use std::io::Write as _;
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(content.as_bytes()))
        .with_context(|| format!("writing {}", path.display()))
}
