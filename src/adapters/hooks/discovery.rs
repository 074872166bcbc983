//! Walks a package for files that may be hook programs. Which they are is decided in `domain`.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use domain::hooks::discovery::{FOLDER, is_candidate, is_searched};

/// Entries of the folder, at all depths.
const ENTRIES: usize = 10_000;
/// Folders in folders.
const DEPTH: usize = 32;

/// Why the folder cannot be searched.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// An entry cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Read {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Over a bound.
    #[error("hooks/ has more than {ENTRIES} entries, or folders deeper than {DEPTH}")]
    TooMany,
}

/// A file that is asked whether it is a hook program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Its path.
    pub path: PathBuf,
    /// Its path in the package, from `hooks/`.
    pub shown: String,
}

/// True if the package has files that may be hook programs.
///
/// # Errors
/// The folder cannot be searched.
pub fn has_candidates(bundle: &Path) -> Result<bool, WalkError> {
    Ok(!candidates(bundle)?.is_empty())
}

/// Every candidate, sorted by path; links are passed over. No folder is no candidate.
pub(super) fn candidates(bundle: &Path) -> Result<Vec<Candidate>, WalkError> {
    let mut found = Vec::new();
    let mut folders = vec![(bundle.join(FOLDER), FOLDER.to_owned(), 0)];
    let mut entries = 0;
    while let Some((folder, shown, depth)) = folders.pop() {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| WalkError::Read { path, source }
        };
        let listed = match fs::read_dir(&folder) {
            Err(error) if depth == 0 && error.kind() == io::ErrorKind::NotFound => break,
            listed => listed.map_err(failed(&folder))?,
        };
        for entry in listed {
            let entry = entry.map_err(failed(&folder))?;
            let path = entry.path();
            entries += 1;
            if entries > ENTRIES || depth > DEPTH {
                return Err(WalkError::TooMany);
            }
            let Some(name) = entry.file_name().to_str().map(ToOwned::to_owned) else {
                continue;
            };
            let shown = format!("{shown}/{name}");
            let about = fs::symlink_metadata(&path).map_err(failed(&path))?;
            if about.is_dir() && is_searched(&name) {
                folders.push((path, shown, depth + 1));
            } else if about.is_file() && is_candidate(&name, about.permissions().mode()) {
                found.push(Candidate { path, shown });
            }
        }
    }
    found.sort_by(|a, b| a.shown.cmp(&b.shown));
    Ok(found)
}
