//! A package as an archive: `tar`, plain or in gzip. Nothing is unpacked to a disk, so a path can lead nowhere; bombs end at a
//! bound.

use std::io::{self, BufRead as _, BufReader, Read};
use std::rc::Rc;

use domain::packages::files::{Files, Scope};
use flate2::bufread::MultiGzDecoder;
use tar::{Archive, EntryType};

use super::guard::{Bound, Budget, Counted, Guarded, bound_of};
use super::{ARCHIVE_MAX, ENTRIES_MAX, ReadError, add, bounded};

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// What precedes the name of a file that a layer takes away.
const WHITEOUT: &str = ".wh.";
/// The name that empties its folder of what lower layers hold, after [`WHITEOUT`].
const OPAQUE: &str = ".wh..opq";

/// The recognised files of an archive.
pub(super) fn read(source: impl Read, scope: Scope) -> Result<Files, ReadError> {
    let budget = Budget::new(ARCHIVE_MAX, ENTRIES_MAX);
    let mut files = Files::default();
    for_each(source, &budget, damaged, |item| {
        recognised(&mut files, scope, item)
    })?;
    Ok(files)
}

/// The recognised files of layers, one upon the other: a later one replaces and takes away what an earlier one has.
pub(super) fn read_layers<R: Read>(
    layers: impl IntoIterator<Item = R>,
    scope: Scope,
) -> Result<Files, ReadError> {
    let budget = Budget::new(ARCHIVE_MAX, ENTRIES_MAX);
    let mut files = Files::default();
    for layer in layers {
        let mut own = Files::default();
        for_each(layer, &budget, damaged, |item| {
            match Whiteout::of(item.path) {
                Some(Whiteout::One(path) | Whiteout::Below(path)) => files.remove(&path),
                None => recognised(&mut own, scope, item)?,
            }
            Ok(())
        })?;
        for (path, bytes) in own.iter() {
            add(&mut files, path, bytes.to_vec())?;
        }
    }
    Ok(files)
}

/// What a layer takes away of lower ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whiteout {
    /// This file or folder.
    One(String),
    /// All that is in this folder; of the root if it is empty.
    Below(String),
}

impl Whiteout {
    /// Of the path of its marker; `None` if the path is none.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let hidden = name.strip_prefix(WHITEOUT)?;
        Some(match (folder, hidden) {
            (_, OPAQUE) => Self::Below(folder.to_owned()),
            ("", _) => Self::One(hidden.to_owned()),
            (_, _) => Self::One(format!("{folder}/{hidden}")),
        })
    }
}

/// One thing that stands in an archive.
pub(super) struct Item<'i> {
    /// Without `./` before and `/` behind; judged no further.
    pub(super) path: &'i str,
    pub(super) kind: EntryType,
    pub(super) mode: u32,
    /// Where a link leads.
    pub(super) link: Option<Vec<u8>>,
    pub(super) content: &'i mut dyn Read,
}

/// What stands in an archive, within a budget: `tar`, or `tar` in gzip. A path that is no text is skipped.
pub(super) fn for_each<E>(
    source: impl Read,
    budget: &Rc<Budget>,
    damaged: impl Fn(io::Error) -> E,
    mut each: impl FnMut(Item<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut source = Counted {
        source: BufReader::new(source),
        budget: Rc::clone(budget),
    };
    let is_zipped = source.fill_buf().map_err(&damaged)?.starts_with(&GZIP);
    let source: Box<dyn Read + '_> = if is_zipped {
        Box::new(MultiGzDecoder::new(source))
    } else {
        Box::new(source)
    };
    budget.open(0);
    let mut archive = Archive::new(Guarded {
        source,
        budget: Rc::clone(budget),
    });
    for entry in archive.entries().map_err(&damaged)? {
        let mut entry = entry.map_err(&damaged)?;
        if !budget.take_entry() {
            return Err(damaged(io::Error::other(Bound::Entries)));
        }
        budget.open(entry.size());
        let path = entry.path_bytes().into_owned();
        let Ok(path) = std::str::from_utf8(&path) else {
            continue;
        };
        each(Item {
            path: within(path),
            kind: entry.header().entry_type(),
            mode: entry.header().mode().map_err(&damaged)?,
            link: entry.link_name_bytes().map(std::borrow::Cow::into_owned),
            content: &mut entry,
        })?;
    }
    Ok(())
}

fn recognised(files: &mut Files, scope: Scope, item: Item<'_>) -> Result<(), ReadError> {
    let path = item.path;
    if !scope.wants(path) {
        return Ok(());
    }
    match item.kind {
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            let bytes = bounded(path, item.content).map_err(|error| match error {
                ReadError::File { source, .. } => damaged(source),
                other => other,
            })?;
            add(files, path, bytes)
        }
        // The linter ignores folders, whatever they are called.
        EntryType::Directory if scope == Scope::Verification && !Scope::Publication.wants(path) => {
            Ok(())
        }
        _ => Err(ReadError::NotAFile {
            path: path.to_owned(),
        }),
    }
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
    match bound_of(&error) {
        Some(Bound::Size | Bound::Header) => ReadError::ArchiveTooLarge,
        Some(Bound::Ratio) => ReadError::ArchiveTooTight,
        Some(Bound::Entries) => ReadError::TooManyEntries,
        None => ReadError::Archive(error),
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
            "the archive is packed more than 100 to 1: it is taken for a bomb"
        );
        let large = header.as_bytes().chain(io::repeat(b'x').take(length));
        assert_eq!(
            read(large, Scope::Publication).unwrap_err().to_string(),
            "the archive has more than 256 MiB unpacked"
        );
    }

    #[test]
    fn a_name_that_is_kept_in_memory_is_not_longer_than_what_may_stand_between_two_files() {
        let mut long_name = header(EntryType::GNULongName, 2 << 20);
        long_name.set_path("././@LongLink").unwrap();
        long_name.set_cksum();
        let name = long_name.as_bytes().chain(io::repeat(b'x').take(2 << 20));
        let error = read(name, Scope::Publication).unwrap_err();
        assert!(matches!(error, ReadError::ArchiveTooLarge), "{error}");
    }

    #[test]
    fn a_later_layer_replaces_and_takes_away_what_an_earlier_one_has() {
        let lower = archive(&[
            ("package.yaml", b"lower"),
            ("openapi/settings.yaml", b"lower"),
            ("openapi/values.yaml", b"lower"),
        ]);
        let layers = |upper: &[(&str, &[u8])]| {
            let upper = zipped(&archive(upper));
            let files = read_layers([&lower[..], &upper[..]], Scope::Publication).unwrap();
            let shown = files.iter();
            shown
                .map(|(path, bytes)| format!("{path}={}", String::from_utf8_lossy(bytes)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            layers(&[
                ("openapi/.wh.settings.yaml", b""),
                ("package.yaml", b"upper")
            ]),
            "openapi/values.yaml=lower package.yaml=upper"
        );
        assert_eq!(
            layers(&[
                ("openapi/settings.yaml", b"upper"),
                ("openapi/.wh..wh..opq", b"")
            ]),
            "openapi/settings.yaml=upper package.yaml=lower"
        );
        assert_eq!(layers(&[(".wh.openapi", b"")]), "package.yaml=lower");
    }

    #[test]
    fn the_layers_of_one_image_share_one_bound() {
        let length = ARCHIVE_MAX - (1 << 20);
        let mut header = header(EntryType::Regular, length);
        header.set_path("images/layer").unwrap();
        header.set_cksum();
        let layer = || header.as_bytes().chain(io::repeat(b'x').take(length));
        assert!(read_layers([layer()], Scope::Publication).is_ok());
        let error = read_layers([layer(), layer()], Scope::Publication).unwrap_err();
        assert!(matches!(error, ReadError::ArchiveTooLarge), "{error}");
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
