//! Packages on disk: the recognised files of a directory or an archive, as bytes for the domain.
//!
//! Decides how they are read safely: no link may lead out of the directory, nothing of an archive is written, and every size
//! has a bound. Which files are recognised, and what they mean, is the domain's.

mod archive;
pub mod bundles;
mod directory;
mod guard;
pub mod pack;
pub mod repository;
mod unpack;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use domain::packages::files::{FILE_MAX, Files, Scope};

pub use guard::RATIO_MAX;

/// The most recognised files of a package.
pub const FILES_MAX: usize = 1_000;
/// The most bytes of an unpacked archive, entries that are skipped included.
pub const ARCHIVE_MAX: u64 = 256 << 20;
/// The most entries of an archive.
pub const ENTRIES_MAX: usize = 20_000;
/// How the names of archives end.
pub const ARCHIVES: [&str; 3] = [".tar.gz", ".tgz", ".tar"];

/// Why a package could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path is not there, or not ours to read.
    #[error("cannot be read: {0}")]
    Root(#[source] io::Error),
    /// The path is neither of the two forms.
    #[error("is neither a directory nor an archive (.tar, .tar.gz)")]
    NoPackage,
    /// A file is not ours to read, or a link leads nowhere.
    #[error("{path} cannot be read: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A link leads to where nothing belongs to the package.
    #[error("{path} leads out of the package: put the file itself there")]
    Outside {
        /// The link, or a file below it.
        path: String,
    },
    /// A directory, device or pipe has the name of a recognised file.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// The entry.
        path: String,
    },
    /// A recognised file is over [`FILE_MAX`].
    #[error("{path} is longer than {} MiB", FILE_MAX >> 20)]
    TooLong {
        /// The file.
        path: String,
    },
    /// Over [`FILES_MAX`].
    #[error("has more than {FILES_MAX} schema files")]
    TooManyFiles,
    /// Over [`ENTRIES_MAX`].
    #[error("the archive has more than {ENTRIES_MAX} entries")]
    TooManyEntries,
    /// Over [`ARCHIVE_MAX`].
    #[error("the archive has more than {} MiB unpacked", ARCHIVE_MAX >> 20)]
    ArchiveTooLarge,
    /// A name in it is no text.
    #[error("{path} holds a file whose name is not UTF-8")]
    Name {
        /// The folder.
        path: String,
    },
    /// More than a bundle may have.
    #[error("has more than a package may have ({} MiB)", bundles::UNPACKED_MAX >> 20)]
    PackageTooLarge,
    /// Over [`RATIO_MAX`].
    #[error("the archive is packed more than {RATIO_MAX} to 1: it is taken for a bomb")]
    ArchiveTooTight,
    /// It is no archive, or it is damaged.
    #[error("the archive is damaged: {0}")]
    Archive(#[source] io::Error),
}

/// Reads the recognised files of a package; none is no error.
///
/// # Errors
/// What could not be read safely, with the file's name.
pub fn read(path: &Path, scope: Scope) -> Result<Files, ReadError> {
    let metadata = path.metadata().map_err(ReadError::Root)?;
    if metadata.is_dir() {
        return directory::read(path, scope);
    }
    let name = path.file_name().and_then(|name| name.to_str());
    if !metadata.is_file() || name.and_then(archive_stem).is_none() {
        return Err(ReadError::NoPackage);
    }
    archive::read(File::open(path).map_err(ReadError::Root)?, scope)
}

/// Reads the recognised files of an image's layers, from the lowest to the highest; none is no error.
///
/// # Errors
/// What could not be read safely, with the file's name.
pub fn read_layers<R: Read>(
    layers: impl IntoIterator<Item = R>,
    scope: Scope,
) -> Result<Files, ReadError> {
    archive::read_layers(layers, scope)
}

/// The name of an archive without its ending; `None` if it is no archive's.
#[must_use]
pub fn archive_stem(name: &str) -> Option<&str> {
    ARCHIVES
        .into_iter()
        .find_map(|ending| name.strip_suffix(ending))
        .filter(|stem| !stem.is_empty())
}

/// A recognised file, whole or not at all.
fn bounded(path: &str, source: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    source
        .take(FILE_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| ReadError::File {
            path: path.to_owned(),
            source,
        })?;
    if bytes.len() > FILE_MAX {
        return Err(ReadError::TooLong {
            path: path.to_owned(),
        });
    }
    Ok(bytes)
}

fn add(files: &mut Files, path: &str, bytes: Vec<u8>) -> Result<(), ReadError> {
    files.insert(path, bytes);
    if files.iter().count() > FILES_MAX {
        return Err(ReadError::TooManyFiles);
    }
    Ok(())
}
