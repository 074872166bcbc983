//! A bundle's archives, unpacked into a directory that nothing of them leads out of.
//!
//! Decides what is unpacked (files, folders, links within) and refuses the rest by its path. Every path is opened below the
//! directory by the kernel's own check. Of the modes, whether a file may be run is kept, and nothing else.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Component, Path};
use std::rc::Rc;

use cap_std::fs::{Dir, OpenOptions, Permissions, PermissionsExt as _};
use tar::EntryType;

use super::archive::{Item, Whiteout, for_each};
use super::guard::{Bound, Budget, RATIO_MAX, bound_of};
use super::{ENTRIES_MAX, directory};

/// The most bytes of an unpacked bundle, all layers together.
pub const UNPACKED_MAX: u64 = 1 << 30;
/// The most folders within each other.
pub(super) const DEPTH_MAX: usize = 32;
/// The most bytes of a path.
const PATH_MAX: usize = 1_024;

/// Why a bundle cannot be unpacked. A path is that of the archive, quoted.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// A path that is absolute, has `..` or control characters, or is too long.
    #[error(
        "the archive has the path {0:?}: paths are relative, without .. and control characters, at most {PATH_MAX} bytes and {DEPTH_MAX} folders"
    )]
    Path(String),
    /// A link that leads out, or nowhere.
    #[error("{0:?} is a link that leads out of the package or nowhere: put the file itself there")]
    Link(String),
    /// A device, a pipe, or a form of file that is not unpacked.
    #[error("{0:?} is neither a file nor a folder nor a link")]
    Kind(String),
    /// Over [`ENTRIES_MAX`].
    #[error("the archive has more than {ENTRIES_MAX} entries")]
    TooManyEntries,
    /// Over [`UNPACKED_MAX`].
    #[error("the archive has more than {} MiB unpacked", UNPACKED_MAX >> 20)]
    TooLarge,
    /// Over [`RATIO_MAX`].
    #[error("the archive is packed more than {RATIO_MAX} to 1: it is taken for a bomb")]
    TooTight,
    /// No archive, or damaged.
    #[error("the archive is damaged: {0}")]
    Damaged(#[source] io::Error),
    /// Our own disk.
    #[error("{path:?} cannot be written: {source}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Unpacks layers into an empty directory, the lowest first, and sees to it that all of it is on the disk.
pub(super) fn unpack<R: Read>(
    layers: impl IntoIterator<Item = R>,
    into: &Dir,
) -> Result<(), UnpackError> {
    let budget = Budget::new(UNPACKED_MAX, ENTRIES_MAX);
    let mut tree = Tree {
        root: into,
        folders: BTreeSet::new(),
        links: BTreeSet::new(),
        own: BTreeSet::new(),
    };
    for layer in layers {
        tree.layer(layer, &budget)?;
    }
    tree.judge_links()?;
    tree.settle()
}

struct Tree<'d> {
    root: &'d Dir,
    folders: BTreeSet<String>,
    links: BTreeSet<String>,
    /// What the current layer brought: its whiteouts are about lower ones.
    own: BTreeSet<String>,
}

impl Tree<'_> {
    fn layer(&mut self, source: impl Read, budget: &Rc<Budget>) -> Result<(), UnpackError> {
        self.own.clear();
        for_each(source, budget, damaged, |item| {
            if item.path.is_empty() || item.path == "." {
                return Ok(());
            }
            // Attributes of the archive as a whole, as git writes them.
            if item.kind == EntryType::XGlobalHeader {
                return Ok(());
            }
            judge_path(item.path)?;
            match Whiteout::of(item.path) {
                Some(gone) => self.take_away(&gone),
                None => self.put(item),
            }
        })
    }

    fn put(&mut self, item: Item<'_>) -> Result<(), UnpackError> {
        let path = item.path;
        if item.kind == EntryType::Directory {
            return self.folder(path);
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent)?;
        }
        self.clear(path)?;
        self.own.insert(path.to_owned());
        match item.kind {
            EntryType::Regular | EntryType::Continuous => self.file(item),
            EntryType::Symlink => self.link(path, item.link),
            EntryType::Link => self.second_name(path, item.link),
            _ => Err(UnpackError::Kind(path.to_owned())),
        }
    }

    /// Makes a folder and those above it. A link in its way goes, so that nothing is written through one.
    fn folder(&mut self, path: &str) -> Result<(), UnpackError> {
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let Some(part) = path.get(..end) else {
                continue;
            };
            let there = self.root.symlink_metadata(part);
            if !there.is_ok_and(|found| found.is_dir()) {
                self.clear(part)?;
                self.root.create_dir(part).map_err(at(part))?;
            }
            self.folders.insert(part.to_owned());
            self.own.insert(part.to_owned());
        }
        Ok(())
    }

    fn file(&self, item: Item<'_>) -> Result<(), UnpackError> {
        let path = item.path;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = self.root.open_with(path, &options).map_err(at(path))?;
        let content = item.content;
        let mut part = vec![0; 64 << 10];
        loop {
            // Reading and writing fail for different reasons, so they are not one copy.
            let length = content.read(&mut part).map_err(damaged)?;
            let Some(read) = part.get(..length).filter(|read| !read.is_empty()) else {
                break;
            };
            io::Write::write_all(&mut file, read).map_err(at(path))?;
        }
        let mode = if item.mode & 0o111 == 0 { 0o644 } else { 0o755 };
        file.set_permissions(Permissions::from_mode(mode))
            .and_then(|()| file.sync_all())
            .map_err(at(path))
    }

    fn link(&mut self, path: &str, target: Option<Vec<u8>>) -> Result<(), UnpackError> {
        let wrong = || UnpackError::Link(path.to_owned());
        let target = target.and_then(|target| String::from_utf8(target).ok());
        let target = target.ok_or_else(wrong)?;
        if target.is_empty() || target.starts_with('/') {
            return Err(wrong());
        }
        self.root.symlink(&target, path).map_err(|_| wrong())?;
        self.links.insert(path.to_owned());
        Ok(())
    }

    /// A hard link, to a file that was unpacked before.
    fn second_name(&self, path: &str, target: Option<Vec<u8>>) -> Result<(), UnpackError> {
        let wrong = || UnpackError::Link(path.to_owned());
        let target = target.and_then(|target| String::from_utf8(target).ok());
        let target = target.ok_or_else(wrong)?;
        let target = target.trim_start_matches("./");
        judge_path(target).map_err(|_| wrong())?;
        let found = self.root.symlink_metadata(target).map_err(|_| wrong())?;
        if !found.is_file() {
            return Err(wrong());
        }
        let linked = self.root.hard_link(target, self.root, path);
        linked.map_err(|_| wrong())
    }

    /// What the layer itself brought stays, wherever its marker stands.
    fn take_away(&mut self, gone: &Whiteout) -> Result<(), UnpackError> {
        match gone {
            Whiteout::One(path) if self.own.contains(path) => Ok(()),
            Whiteout::One(path) => {
                judge_path(path)?;
                self.clear(path)
            }
            Whiteout::Below(folder) => self.empty(folder),
        }
    }

    fn empty(&mut self, folder: &str) -> Result<(), UnpackError> {
        let read = match folder {
            "" => self.root.entries(),
            _ if !self.folders.contains(folder) => return Ok(()),
            _ => self.root.read_dir(folder),
        };
        for entry in read.map_err(at(folder))? {
            let name = entry.map_err(at(folder))?.file_name();
            let Some(name) = name.to_str() else {
                continue;
            };
            let path = match folder {
                "" => name.to_owned(),
                _ => format!("{folder}/{name}"),
            };
            if !self.own.contains(&path) {
                self.clear(&path)?;
            } else if self.folders.contains(&path) {
                self.empty(&path)?;
            }
        }
        Ok(())
    }

    /// Removes what is there, so that nothing is written into a file that has a second name.
    fn clear(&mut self, path: &str) -> Result<(), UnpackError> {
        let gone = match self.root.symlink_metadata(path) {
            Ok(found) if found.is_dir() => self.root.remove_dir_all(path),
            Ok(_) => self.root.remove_file(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => Err(error),
        };
        let below = format!("{path}/");
        let stays = |known: &String| known != path && !known.starts_with(&below);
        self.links.retain(stays);
        self.folders.retain(stays);
        gone.map_err(at(path))
    }

    /// Links are judged when all is there: one may lead through another.
    fn judge_links(&self) -> Result<(), UnpackError> {
        for path in &self.links {
            if self.root.canonicalize(path).is_err() {
                return Err(UnpackError::Link(path.clone()));
            }
        }
        Ok(())
    }

    /// Folders get their mode, and their entries reach the disk.
    fn settle(&self) -> Result<(), UnpackError> {
        for path in self.folders.iter().map(String::as_str).chain(["."]) {
            // Not as a folder: that would be a path alone, which cannot be synced.
            let folder = self.root.open(path).map_err(at(path))?;
            let mode = Permissions::from_mode(0o755);
            self.root.set_permissions(path, mode).map_err(at(path))?;
            folder.sync_all().map_err(at(path))?;
        }
        Ok(())
    }
}

fn judge_path(path: &str) -> Result<(), UnpackError> {
    let plain = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let depth = path.split('/').count();
    if plain && path.len() <= PATH_MAX && depth <= DEPTH_MAX && !path.contains(char::is_control) {
        return Ok(());
    }
    Err(UnpackError::Path(path.chars().take(200).collect()))
}

fn at(path: &str) -> impl FnOnce(io::Error) -> UnpackError {
    move |source| match directory::unreadable(path, source) {
        super::ReadError::File { path, source } => UnpackError::Write { path, source },
        _ => UnpackError::Link(path.to_owned()),
    }
}

fn damaged(error: io::Error) -> UnpackError {
    match bound_of(&error) {
        Some(Bound::Size | Bound::Header) => UnpackError::TooLarge,
        Some(Bound::Ratio) => UnpackError::TooTight,
        Some(Bound::Entries) => UnpackError::TooManyEntries,
        None => UnpackError::Damaged(error),
    }
}

#[cfg(test)]
mod tests;
