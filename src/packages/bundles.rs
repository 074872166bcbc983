//! Bundles on disk: unpacked packages that do not change, one directory each, named by their digest.
//!
//! Decides when a bundle is there: all of it is on the disk before it gets its name, so a directory of that name is whole. Which
//! bundles are still wanted is decided by whoever asks.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Seek as _, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::pack::pack;
use super::unpack::unpack;
use super::{ReadError, archive_stem};
use crate::adapters::registry::{BUNDLE_MAX, Registry, RegistryError};

pub use super::unpack::{UNPACKED_MAX, UnpackError};

/// How the names begin of what is being made or removed; the rest of a broken-off run is removed at the start.
const UNFINISHED: &str = ".unfinished-";

/// Why a bundle is not there.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The registry does not give it.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The local package cannot be read.
    #[error("the package {0}")]
    Package(#[from] ReadError),
    /// What came cannot be unpacked.
    #[error("the bundle cannot be unpacked: {0}")]
    Unpack(#[from] UnpackError),
    /// A digest that is none: it would be a path.
    #[error("{0:?} is no digest of a bundle")]
    Digest(String),
    /// Our own disk.
    #[error("the directory of bundles cannot be used: {0}")]
    Disk(#[from] io::Error),
    /// The program is stopping.
    #[error("unpacking was broken off")]
    Stopped,
}

/// An unpacked package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bundle {
    /// What it is known by: the digest of its image, of its archive, or of what its directory held.
    pub digest: String,
    /// Where it is. Nothing may write there.
    pub path: PathBuf,
}

/// The directory of bundles. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Bundles {
    root: Arc<Path>,
}

impl Bundles {
    /// Makes or opens the directory, and removes what a broken-off run left. One process uses it.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn open(root: &Path) -> Result<Self, BundleError> {
        DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            if entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(UNFINISHED.as_bytes())
            {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(Self { root: root.into() })
    }

    /// A bundle that is there already.
    #[must_use]
    pub fn find(&self, digest: &str) -> Option<Bundle> {
        let path = self.root.join(folder_name(digest)?);
        path.is_dir().then(|| Bundle {
            digest: digest.to_owned(),
            path,
        })
    }

    /// The bundle of a registry's image, downloaded unless it is there. `reference` is a tag or a digest.
    ///
    /// # Errors
    /// What the registry answers, or what is wrong with the image; nothing of it is kept then.
    pub async fn fetch(
        &self,
        registry: &Registry,
        path: &str,
        reference: &str,
    ) -> Result<Bundle, BundleError> {
        let digest = registry.digest(path, reference).await?;
        if let Some(bundle) = self.find(&digest) {
            return Ok(bundle);
        }
        let workspace = self.workspace()?;
        // By digest: the tag may have moved since.
        let download = registry.download(path, &digest, workspace.path()).await?;
        let this = self.clone();
        let made = tokio::task::spawn_blocking(move || {
            let layers = download.layers.iter().map(File::open);
            let layers = layers.collect::<io::Result<Vec<_>>>()?;
            this.finish(&digest, layers, &workspace)
        });
        made.await.unwrap_or(Err(BundleError::Stopped))
    }

    /// A package of a local directory or archive as a bundle: a copy, so that it does not change under its users. Blocks.
    ///
    /// # Errors
    /// What is wrong with the package; nothing of it is kept then.
    pub fn keep(&self, source: &Path) -> Result<Bundle, BundleError> {
        let workspace = self.workspace()?;
        let copy = workspace.path().join("archive");
        let mut hashed = Hashed {
            file: File::create_new(&copy)?,
            hash: Sha256::new(),
        };
        if source.metadata().map_err(ReadError::Root)?.is_dir() {
            hashed = pack(source, |_| true, &[], hashed)?;
        } else {
            let name = source.file_name().and_then(|name| name.to_str());
            name.and_then(archive_stem).ok_or(ReadError::NoPackage)?;
            let mut archive = File::open(source)
                .map_err(ReadError::Root)?
                .take(BUNDLE_MAX + 1);
            if io::copy(&mut archive, &mut hashed)? > BUNDLE_MAX {
                return Err(ReadError::PackageTooLarge.into());
            }
        }
        let digest = digest_of(hashed.hash);
        if let Some(bundle) = self.find(&digest) {
            return Ok(bundle);
        }
        hashed.file.rewind()?;
        // It was written, so it is opened anew for reading.
        self.finish(&digest, vec![File::open(&copy)?], &workspace)
    }

    /// Removes the bundles whose digest nobody names any more; gives those that were removed. Blocks.
    ///
    /// # Errors
    /// A bundle cannot be removed.
    pub fn retain(&self, named: &BTreeSet<String>) -> Result<Vec<String>, BundleError> {
        let kept: BTreeSet<String> = named
            .iter()
            .filter_map(|digest| folder_name(digest))
            .collect();
        let mut removed = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some((digest, name)) = name
                .to_str()
                .and_then(|name| Some((digest_in(name)?, name)))
            else {
                continue;
            };
            if kept.contains(name) {
                continue;
            }
            // Moved first, so that one that is half removed is none.
            let workspace = self.workspace()?;
            fs::rename(entry.path(), workspace.path().join("removed"))?;
            workspace.close()?;
            removed.push(digest);
        }
        removed.sort_unstable();
        Ok(removed)
    }

    fn workspace(&self) -> io::Result<TempDir> {
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(&self.root)
    }

    /// Unpacks into the workspace, and gives the whole its name.
    fn finish(
        &self,
        digest: &str,
        layers: Vec<File>,
        workspace: &TempDir,
    ) -> Result<Bundle, BundleError> {
        let name = folder_name(digest).ok_or_else(|| BundleError::Digest(digest.to_owned()))?;
        let tree = workspace.path().join("tree");
        fs::create_dir(&tree)?;
        unpack(layers, &Dir::open_ambient_dir(&tree, ambient_authority())?)?;
        let path = self.root.join(name);
        match fs::rename(&tree, &path) {
            Ok(()) => File::open(&self.root)?.sync_all()?,
            // Another round made the same meanwhile; it is as good.
            Err(_) if path.is_dir() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Bundle {
            digest: digest.to_owned(),
            path,
        })
    }
}

/// The directory of a digest; a colon would have a meaning in lists of paths.
fn folder_name(digest: &str) -> Option<String> {
    let (algorithm, hash) = digest.split_once(':')?;
    let is_hash = (64..=128).contains(&hash.len())
        && hash
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (["sha256", "sha384", "sha512"].contains(&algorithm) && is_hash)
        .then(|| format!("{algorithm}-{hash}"))
}

/// The digest whose directory has this name.
fn digest_in(name: &str) -> Option<String> {
    let digest = name.replacen('-', ":", 1);
    folder_name(&digest).map(|_| digest)
}

/// The name of a hash as registries write it.
pub(crate) fn digest_of(hash: Sha256) -> String {
    let hash = hash.finalize();
    let hex = hash.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", hex.collect::<String>())
}

/// A file that is hashed while it is written.
struct Hashed {
    file: File,
    hash: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests;
