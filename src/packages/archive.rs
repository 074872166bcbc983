//! A package as an archive: `tar`, plain or in gzip. Nothing is unpacked to a disk, so a path can lead nowhere; bombs end at a
//! bound.

use std::error::Error;
use std::io::{self, BufRead as _, BufReader, Read};

use domain::packages::files::{Files, Scope};
use flate2::bufread::MultiGzDecoder;
use tar::{Archive, EntryType};

use super::{ARCHIVE_MAX, ENTRIES_MAX, ReadError, add, bounded};

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(super) fn read(source: impl Read, scope: Scope) -> Result<Files, ReadError> {
    let mut source = BufReader::new(source);
    let start = source.fill_buf().map_err(ReadError::Archive)?;
    if start.starts_with(&GZIP) {
        unpacked(MultiGzDecoder::new(source), scope)
    } else {
        unpacked(source, scope)
    }
}

fn unpacked(source: impl Read, scope: Scope) -> Result<Files, ReadError> {
    let mut files = Files::default();
    let mut archive = Archive::new(Bounded {
        source,
        left: ARCHIVE_MAX,
    });
    for (position, entry) in archive.entries().map_err(damaged)?.enumerate() {
        if position >= ENTRIES_MAX {
            return Err(ReadError::TooManyEntries);
        }
        let entry = entry.map_err(damaged)?;
        let path = entry.path_bytes();
        let Some(path) = std::str::from_utf8(&path).ok().map(within) else {
            continue;
        };
        if !scope.wants(path) {
            continue;
        }
        let path = path.to_owned();
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let bytes = bounded(&path, entry).map_err(|error| match error {
                    ReadError::File { source, .. } => damaged(source),
                    other => other,
                })?;
                add(&mut files, &path, bytes)?;
            }
            // The linter ignores folders, whatever they are called.
            EntryType::Directory
                if scope == Scope::Verification && !Scope::Publication.wants(&path) => {}
            _ => return Err(ReadError::NotAFile { path }),
        }
    }
    Ok(files)
}

/// `./openapi/x` and `openapi/x` are one path; one with `..` is never a recognised one.
fn within(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    path.strip_suffix('/').unwrap_or(path)
}

fn damaged(error: io::Error) -> ReadError {
    if is_too_large(&error) {
        ReadError::ArchiveTooLarge
    } else {
        ReadError::Archive(error)
    }
}

/// The library puts its own errors around what the source said.
fn is_too_large(error: &(dyn Error + 'static)) -> bool {
    let within = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match within {
        _ if error.is::<TooLarge>() => true,
        Some(inner) => is_too_large(inner),
        None => error.source().is_some_and(is_too_large),
    }
}

/// The archive goes on beyond [`ARCHIVE_MAX`].
#[derive(Debug, thiserror::Error)]
#[error("too large")]
struct TooLarge;

/// A source that fails beyond its bound instead of ending, which would look like a short archive.
struct Bounded<R> {
    source: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| io::Error::other(TooLarge))?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;

    fn header(kind: EntryType, length: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(length);
        header.set_mode(0o644);
        header
    }

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, bytes) in files {
            let mut header = header(EntryType::Regular, bytes.len() as u64);
            builder.append_data(&mut header, path, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn zipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn refused(bytes: &[u8]) -> String {
        read(bytes, Scope::Publication).unwrap_err().to_string()
    }

    #[test]
    fn a_plain_and_a_zipped_archive_give_the_same_files() {
        let plain = archive(&[
            ("./package.yaml", b"name: a"),
            ("openapi/settings.yaml", b"type: object"),
            ("templates/x.yaml", b"x"),
        ]);
        let files = read(&plain[..], Scope::Publication).unwrap();
        assert_eq!(files.text("package.yaml").unwrap(), Some("name: a"));
        assert_eq!(files.iter().count(), 2);
        assert_eq!(
            read(&zipped(&plain)[..], Scope::Publication).unwrap(),
            files
        );
    }

    #[test]
    fn a_path_with_dots_is_never_a_recognised_file() {
        let mut builder = Builder::new(Vec::new());
        for path in [
            "../package.yaml",
            "openapi/../package.yaml",
            "/package.yaml",
        ] {
            let mut header = header(EntryType::Regular, 1);
            // The library refuses to write such a name; it is written past it.
            let name = path.as_bytes();
            header
                .as_mut_bytes()
                .get_mut(..name.len())
                .unwrap()
                .copy_from_slice(name);
            header.set_cksum();
            builder.append(&header, &b"x"[..]).unwrap();
        }
        let bytes = builder.into_inner().unwrap();
        assert!(read(&bytes[..], Scope::Publication).unwrap().is_empty());
    }

    #[test]
    fn a_link_in_an_archive_is_refused_by_name() {
        for kind in [EntryType::Symlink, EntryType::Link] {
            let mut builder = Builder::new(Vec::new());
            let mut header = header(kind, 0);
            builder
                .append_link(&mut header, "openapi/settings.yaml", "elsewhere")
                .unwrap();
            let bytes = builder.into_inner().unwrap();
            assert_eq!(
                refused(&bytes),
                "openapi/settings.yaml is not a regular file"
            );
        }
    }

    #[test]
    fn s20_a_long_file_and_a_bomb_end_at_their_bounds() {
        let long = archive(&[("openapi/values.yaml", &vec![b'x'; (1 << 20) + 1])]);
        assert_eq!(
            refused(&zipped(&long)),
            "openapi/values.yaml is longer than 1 MiB"
        );

        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        let length = ARCHIVE_MAX + (1 << 20);
        let mut header = header(EntryType::Regular, length);
        header.set_path("images/layer").unwrap();
        header.set_cksum();
        bomb.write_all(header.as_bytes()).unwrap();
        io::copy(&mut io::repeat(0).take(length), &mut bomb).unwrap();
        assert_eq!(
            refused(&bomb.finish().unwrap()),
            "the archive has more than 256 MiB unpacked"
        );
    }

    #[test]
    fn too_many_entries_end_the_reading() {
        let mut builder = Builder::new(Vec::new());
        for _ in 0..=ENTRIES_MAX {
            let mut header = header(EntryType::Regular, 0);
            builder.append_data(&mut header, "x", &b""[..]).unwrap();
        }
        assert_eq!(
            refused(&builder.into_inner().unwrap()),
            "the archive has more than 20000 entries"
        );
    }

    #[test]
    fn what_is_damaged_is_told_and_never_a_panic() {
        let whole = zipped(&archive(&[("package.yaml", &[b'x'; 5000])]));
        let half = whole.get(..whole.len() / 2).unwrap();
        assert!(refused(half).starts_with("the archive is damaged: "));
        assert!(refused(&[b'x'; 600]).starts_with("the archive is damaged: "));
        let short = archive(&[("package.yaml", &[b'x'; 5000])]);
        assert!(refused(short.get(..1024).unwrap()).starts_with("the archive is damaged: "));
    }
}
