//! A package's directory as an archive that depends on its content alone: names in order, no time, no owner.
//!
//! Decides how files are read: below the directory, by the kernel's own check. Links are followed and written as what they lead
//! to. Which of the files belong into an archive is decided by whoever asks.

use std::io::{self, Read as _, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};
use tar::{Builder, EntryType, Header};

use super::unpack::{DEPTH_MAX, UNPACKED_MAX};
use super::{ENTRIES_MAX, ReadError, directory};

/// Writes a directory as `tar`. Of what stands in it itself only names that `wants` are taken; hidden ones never are.
///
/// # Errors
/// A file that cannot be read safely, by its name.
pub fn pack<W: Write>(
    root: &Path,
    wants: impl Fn(&str) -> bool,
    added: &[(&str, &[u8])],
    out: W,
) -> Result<W, ReadError> {
    let root = Dir::open_ambient_dir(root, ambient_authority()).map_err(ReadError::Root)?;
    let mut packing = Packing {
        archive: Builder::new(out),
        left: UNPACKED_MAX,
        entries: 0,
    };
    for (path, bytes) in added {
        packing.write(path, false, bytes.len() as u64, *bytes)?;
    }
    for name in names(&root, ".")? {
        if !name.starts_with('.') && wants(&name) {
            packing.add(&root, &name, 1)?;
        }
    }
    packing.archive.into_inner().map_err(ReadError::Archive)
}

/// The names of a directory's own entries, in order.
///
/// # Errors
/// The directory cannot be read.
pub fn top_level(root: &Path) -> Result<Vec<String>, ReadError> {
    let root = Dir::open_ambient_dir(root, ambient_authority()).map_err(ReadError::Root)?;
    names(&root, ".")
}

struct Packing<W: Write> {
    archive: Builder<W>,
    left: u64,
    entries: usize,
}

impl<W: Write> Packing<W> {
    fn add(&mut self, root: &Dir, path: &str, depth: usize) -> Result<(), ReadError> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX || depth > DEPTH_MAX {
            return Err(ReadError::TooManyEntries);
        }
        let failed = |error| directory::unreadable(path, error);
        let found = root.metadata(path).map_err(failed)?;
        if found.is_dir() {
            for name in names(root, path)? {
                self.add(root, &format!("{path}/{name}"), depth + 1)?;
            }
            return Ok(());
        }
        if !found.is_file() {
            return Err(ReadError::NotAFile {
                path: path.to_owned(),
            });
        }
        let file = root.open(path).map_err(failed)?;
        // As it is when it is opened: a file that grows meanwhile is cut there, one that shrinks is an error.
        let found = file.metadata().map_err(failed)?;
        let may_run = found.mode() & 0o111 != 0;
        self.write(path, may_run, found.len(), file.take(found.len()))
    }

    fn write(
        &mut self,
        path: &str,
        may_run: bool,
        length: u64,
        content: impl io::Read,
    ) -> Result<(), ReadError> {
        let left = self.left.checked_sub(length);
        self.left = left.ok_or(ReadError::PackageTooLarge)?;
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(length);
        header.set_mode(if may_run { 0o755 } else { 0o644 });
        header.set_mtime(0);
        let mut content = Counting { content, given: 0 };
        self.archive
            .append_data(&mut header, path, &mut content)
            .map_err(ReadError::Archive)?;
        if content.given == length {
            Ok(())
        } else {
            Err(ReadError::File {
                path: path.to_owned(),
                source: io::Error::other("it changed while it was read"),
            })
        }
    }
}

struct Counting<R> {
    content: R,
    given: u64,
}

impl<R: io::Read> io::Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.given += read as u64;
        Ok(read)
    }
}

fn names(root: &Dir, folder: &str) -> Result<Vec<String>, ReadError> {
    let failed = |error| directory::unreadable(folder, error);
    let mut names = Vec::new();
    for entry in root.read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else {
            return Err(ReadError::Name {
                path: folder.to_owned(),
            });
        };
        if names.len() >= ENTRIES_MAX {
            return Err(ReadError::TooManyEntries);
        }
        names.push(name.to_owned());
    }
    names.sort_unstable();
    Ok(names)
}
