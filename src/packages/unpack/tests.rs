//! What is unpacked, and what is refused by its path.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, symlink};

use cap_std::ambient_authority;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};
use tempfile::TempDir;

use super::*;

/// An archive under construction. Names are written past the library, which refuses the hostile ones.
struct Made(Builder<Vec<u8>>);

impl Made {
    fn new() -> Self {
        Self(Builder::new(Vec::new()))
    }

    fn entry(mut self, kind: EntryType, path: &str, link: &str, mode: u32, content: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(mode);
        let bytes = header.as_mut_bytes();
        bytes
            .get_mut(..path.len())
            .unwrap()
            .copy_from_slice(path.as_bytes());
        let place = bytes.get_mut(157..157 + link.len()).unwrap();
        place.copy_from_slice(link.as_bytes());
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    fn file(self, path: &str, content: &str) -> Self {
        self.entry(EntryType::Regular, path, "", 0o600, content.as_bytes())
    }

    fn link(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, path, target, 0o777, b"")
    }

    fn second(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Link, path, target, 0o644, b"")
    }

    fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

fn unpacked(layers: &[Vec<u8>]) -> Result<TempDir, UnpackError> {
    let folder = tempfile::tempdir().unwrap();
    let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
    unpack(layers.iter().map(Vec::as_slice), &root)?;
    Ok(folder)
}

fn refused(made: Made) -> String {
    unpacked(&[made.bytes()]).unwrap_err().to_string()
}

fn text(folder: &TempDir, path: &str) -> String {
    fs::read_to_string(folder.path().join(path)).unwrap()
}

#[test]
fn files_and_folders_come_out_and_only_the_right_to_run_is_kept() {
    let made = Made::new()
        .entry(EntryType::Directory, "./", "", 0o700, b"")
        .entry(EntryType::Directory, "./templates/", "", 0o777, b"")
        .file("./templates/a.yaml", "a")
        .entry(EntryType::Regular, "hooks/run", "", 0o4711, b"b");
    let folder = unpacked(&[made.bytes()]).unwrap();
    assert_eq!(text(&folder, "templates/a.yaml"), "a");
    let rights = |path: &str| fs::metadata(folder.path().join(path)).unwrap().mode() & 0o7777;
    assert_eq!(rights("templates/a.yaml"), 0o644);
    assert_eq!(rights("hooks/run"), 0o755);
    assert_eq!(rights("templates"), 0o755);
    assert_eq!(rights("."), 0o755);
}

#[test]
fn a_path_that_leads_out_is_refused_by_its_name() {
    for path in ["../a", "a/../../b", "/etc/a", "a/..", "a\nb"] {
        let said = refused(Made::new().file(path, "x"));
        assert!(said.contains(&format!("has the path {path:?}")), "{said}");
    }
    let deep = "a/".repeat(33) + "b";
    assert!(refused(Made::new().file(&deep, "x")).contains("has the path"));
}

#[test]
fn a_link_that_leads_out_or_nowhere_is_refused_by_its_name() {
    for made in [
        Made::new().link("bad", "/etc/passwd"),
        Made::new().link("bad", "../x"),
        Made::new().link("bad", "nowhere"),
        Made::new().link("bad", "bad"),
        // Each step is within by its letters; the way through the first leads out.
        Made::new()
            .file("a/b/c", "x")
            .link("a/b/up", "../..")
            .link("bad", "a/b/up/../../etc"),
        Made::new().second("bad", "/etc/passwd"),
        Made::new().second("bad", "../x"),
        Made::new().second("bad", "nowhere"),
    ] {
        let said = refused(made);
        assert!(
            said.starts_with("\"bad\" is a link that leads out"),
            "{said}"
        );
    }
}

#[test]
fn links_within_are_kept_and_nothing_is_written_through_them() {
    let made = Made::new()
        .file("real/a", "a")
        .link("alias", "real")
        .link("deep/er", "../real/a")
        .second("again", "./real/a");
    let folder = unpacked(&[made.bytes()]).unwrap();
    for path in ["alias/a", "deep/er", "again"] {
        assert_eq!(text(&folder, path), "a");
    }
    let made = Made::new()
        .file("real/a", "a")
        .link("alias", "real")
        .second("again", "real/a")
        .file("alias/a", "b")
        .file("again", "c");
    let folder = unpacked(&[made.bytes()]).unwrap();
    assert_eq!(text(&folder, "real/a"), "a");
    assert_eq!(text(&folder, "alias/a"), "b");
    assert_eq!(text(&folder, "again"), "c");
}

#[test]
fn devices_pipes_and_sparse_files_are_refused() {
    for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
        let said = refused(Made::new().entry(kind, "bad", "", 0o644, b""));
        assert_eq!(said, "\"bad\" is neither a file nor a folder nor a link");
    }
    // The library looks for its map first, which this one has not.
    let said = refused(Made::new().entry(EntryType::GNUSparse, "bad", "", 0o644, b""));
    assert!(said.starts_with("the archive is damaged: "), "{said}");
}

#[test]
fn a_later_layer_replaces_and_takes_away_what_an_earlier_one_has() {
    let lower = || {
        Made::new()
            .file("a/one", "lower")
            .file("a/two", "lower")
            .file("b", "lower")
            .bytes()
    };
    let upper = Made::new()
        .file("a/two", "upper")
        .file("a/.wh..wh..opq", "")
        .file(".wh.b", "")
        .bytes();
    let folder = unpacked(&[lower(), upper]).unwrap();
    assert_eq!(text(&folder, "a/two"), "upper");
    assert!(!folder.path().join("a/one").exists());
    assert!(!folder.path().join("b").exists());
    let upper = Made::new().file("a", "upper").file("b/c", "upper").bytes();
    let folder = unpacked(&[lower(), upper]).unwrap();
    assert_eq!(text(&folder, "a") + &text(&folder, "b/c"), "upperupper");
    let upper = Made::new().file(".wh...", "").bytes();
    assert!(unpacked(&[lower(), upper]).is_err());
}

#[test]
fn s20_zeros_without_end_end_at_the_ratio_and_random_ones_at_the_size() {
    let length = 10_u64 << 30;
    let mut header = Header::new_gnu();
    header.set_size(length);
    header.set_mode(0o644);
    header.set_path("images/layer").unwrap();
    header.set_cksum();
    let mut zeros = GzEncoder::new(Vec::new(), Compression::fast());
    zeros.write_all(header.as_bytes()).unwrap();
    io::copy(&mut io::repeat(0).take(64 << 20), &mut zeros).unwrap();
    let said = unpacked(&[zeros.finish().unwrap()]).unwrap_err();
    assert!(matches!(said, UnpackError::TooTight), "{said}");
    // Written to nowhere: a disk of a test is not filled with a gigabyte.
    let budget = Budget::new(1 << 20, 10);
    let plain = header.as_bytes().chain(io::repeat(b'x').take(length));
    let said = for_each(plain, &budget, damaged, |item| {
        io::copy(item.content, &mut io::sink())
            .map(drop)
            .map_err(damaged)
    });
    assert!(matches!(said, Err(UnpackError::TooLarge)));
}

#[test]
fn too_many_entries_and_damage_are_told() {
    let mut many = Made::new();
    for _ in 0..=ENTRIES_MAX {
        many = many.entry(EntryType::Directory, "a", "", 0o755, b"");
    }
    assert!(refused(many).contains("more than 20000 entries"));
    let whole = Made::new().file("a", &"x".repeat(5_000)).bytes();
    let half = whole.get(..1_024).unwrap().to_vec();
    let said = unpacked(&[half]).unwrap_err().to_string();
    assert!(said.starts_with("the archive is damaged: "), "{said}");
}

#[test]
fn what_stands_outside_is_not_touched_by_a_link_that_was_there_before() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a"), "mine").unwrap();
    let folder = tempfile::tempdir().unwrap();
    symlink(outside.path(), folder.path().join("way")).unwrap();
    let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
    let made = Made::new().file("way/a", "theirs").bytes();
    unpack([made.as_slice()], &root).unwrap();
    assert_eq!(text(&outside, "a"), "mine");
}
