//! Bundles out of a real registry: what was pushed by hand and is hostile is refused by its path, and leaves nothing on the disk.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use e2e::bed::registry::Access as How;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{EntryType, Header};
use tenantry::packages::bundles::Bundles;

use super::world::{World, image};

/// One entry, with names that the library would refuse to write.
fn entry(kind: EntryType, path: &str, link: &str, mode: u32, content: &[u8]) -> Vec<u8> {
    let mut archive = header(kind, path, link, mode, content.len() as u64);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(512), 0);
    archive
}

fn header(kind: EntryType, path: &str, link: &str, mode: u32, size: u64) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Ten gigabytes of zeros in ten megabytes: one part of them, packed once and repeated.
fn zeros() -> Vec<u8> {
    let (part, parts) = (vec![0; 64 << 20], 160);
    let size = (part.len() * parts) as u64;
    let mut archive = zipped(&header(EntryType::Regular, "images/layer", "", 0o644, size));
    archive.extend(zipped(&part).repeat(parts));
    archive
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[tokio::test]
async fn a_bundle_is_downloaded_once_and_what_may_run_may_run() {
    let world = World::start("bundle", How::default()).await;
    let registry = world.open();
    let archive = [
        entry(EntryType::Regular, "package.yaml", "", 0o600, b"name: shop"),
        entry(EntryType::Regular, "hooks/run", "", 0o4755, b"hook"),
    ];
    let sent = image(zipped(&archive.concat()));
    registry.push("shop", "v1.0.0", &sent).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bundles = Bundles::open(folder.path()).unwrap();
    let bundle = bundles.fetch(&registry, "shop", "v1.0.0").await.unwrap();
    assert_eq!(bundle.digest, sent.digest);
    let text = fs::read_to_string(bundle.path.join("package.yaml"));
    assert_eq!(text.unwrap(), "name: shop");
    let hook = fs::metadata(bundle.path.join("hooks/run")).unwrap();
    assert_eq!(hook.permissions().mode() & 0o7777, 0o755);
    // A second download would fail now.
    let manifest = world.manifest("shop", "v1.0.0").await;
    let layer = manifest["layers"][0]["digest"].as_str().unwrap();
    fs::write(world.blob(layer), "damaged").unwrap();
    let again = bundles.fetch(&registry, "shop", "v1.0.0").await.unwrap();
    assert_eq!(again, bundle);
    assert_eq!(names(folder.path()).len(), 1);
}

#[tokio::test]
async fn what_leads_out_is_no_archive_or_has_no_end_is_refused_and_leaves_nothing() {
    let world = World::start("hostile", How::default()).await;
    let registry = world.open();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("bundles");
    let bundles = Bundles::open(&root).unwrap();
    let file = |path: &str| entry(EntryType::Regular, path, "", 0o644, b"x");
    let link = |kind, target: &str| entry(kind, "bad", target, 0o777, b"");
    let absolute = folder.path().join("escaped").display().to_string();
    for (number, (layer, said)) in [
        (file("../escaped"), "the path \"../escaped\""),
        (
            file("a/../../../escaped"),
            "the path \"a/../../../escaped\"",
        ),
        (file(&absolute), "the path \"/"),
        (link(EntryType::Symlink, "/etc/passwd"), "\"bad\" is a link"),
        (link(EntryType::Symlink, "../../.."), "\"bad\" is a link"),
        (link(EntryType::Link, "../../etc"), "\"bad\" is a link"),
        (link(EntryType::Char, ""), "\"bad\" is neither"),
        (b"no archive at all".repeat(100), "is damaged"),
        (zeros(), "more than 100 to 1"),
    ]
    .into_iter()
    .enumerate()
    {
        let tag = format!("v1.0.{number}");
        registry.push("shop", &tag, &image(layer)).await.unwrap();
        let refused = bundles.fetch(&registry, "shop", &tag).await.unwrap_err();
        let text = refused.to_string();
        assert!(text.contains(said), "{said}: {text}");
        assert!(names(&root).is_empty(), "{said}: {:?}", names(&root));
        assert_eq!(names(folder.path()), ["bundles"], "{said}");
    }
}

#[tokio::test]
async fn a_layer_that_is_damaged_on_its_way_leaves_nothing_and_is_fetched_once_it_is_whole() {
    let world = World::start("healed", How::default()).await;
    let registry = world.open();
    let layer = zipped(&entry(EntryType::Regular, "package.yaml", "", 0o644, b"x"));
    registry
        .push("shop", "v1.0.0", &image(&layer))
        .await
        .unwrap();
    let manifest = world.manifest("shop", "v1.0.0").await;
    let blob = world.blob(manifest["layers"][0]["digest"].as_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let bundles = Bundles::open(folder.path()).unwrap();
    for damaged in [&layer[..layer.len() / 2], &[0; 10]] {
        fs::write(&blob, damaged).unwrap();
        let refused = bundles.fetch(&registry, "shop", "v1.0.0").await;
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("cut short"), "{text}");
        assert!(names(folder.path()).is_empty());
    }
    fs::write(&blob, &layer).unwrap();
    assert!(bundles.fetch(&registry, "shop", "v1.0.0").await.is_ok());
}
