//! A bundle is there whole or not at all, and stays as it was.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn package(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn store() -> (TempDir, Bundles) {
    let folder = tempfile::tempdir().unwrap();
    let bundles = Bundles::open(&folder.path().join("bundles")).unwrap();
    (folder, bundles)
}

fn names(bundles: &Bundles) -> Vec<String> {
    let entries = fs::read_dir(&bundles.root).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_directory_is_copied_once_and_does_not_change_with_its_source() {
    let (_folder, bundles) = store();
    let package = package(&[("package.yaml", "a"), ("hooks/run", "b"), (".git/x", "c")]);
    let run = package.path().join("hooks/run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o700)).unwrap();
    let bundle = bundles.keep(package.path()).unwrap();
    assert_eq!(bundles.keep(package.path()).unwrap(), bundle);
    assert_eq!(bundles.find(&bundle.digest), Some(bundle.clone()));
    assert_eq!(names(&bundles).len(), 1);
    let kept = bundle.path.join("hooks/run");
    let mode = fs::metadata(kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!bundle.path.join(".git").exists());
    fs::write(package.path().join("package.yaml"), "changed").unwrap();
    let kept = || fs::read_to_string(bundle.path.join("package.yaml")).unwrap();
    assert_eq!(kept(), "a");
    let changed = bundles.keep(package.path()).unwrap();
    assert_ne!(changed.digest, bundle.digest);
    assert_eq!(kept(), "a");
}

#[test]
fn an_archive_is_a_bundle_and_what_is_wrong_with_one_leaves_nothing() {
    let (folder, bundles) = store();
    let package = package(&[("package.yaml", "a")]);
    let archive = folder.path().join("a.tar");
    let file = File::create(&archive).unwrap();
    pack(package.path(), |_| true, &[], file).unwrap();
    let bundle = bundles.keep(&archive).unwrap();
    assert!(bundle.path.join("package.yaml").is_file());
    fs::write(&archive, [b'x'; 2_000]).unwrap();
    let said = bundles.keep(&archive).unwrap_err().to_string();
    assert!(
        said.starts_with("the bundle cannot be unpacked: "),
        "{said}"
    );
    assert_eq!(names(&bundles).len(), 1);
    let said = bundles.keep(&folder.path().join("none")).unwrap_err();
    assert!(
        said.to_string().starts_with("the package cannot be read"),
        "{said}"
    );
}

#[test]
fn no_link_of_a_directory_leads_out_of_it() {
    let (_folder, bundles) = store();
    let package = package(&[("package.yaml", "a"), ("templates/a", "b")]);
    symlink("a", package.path().join("templates/within")).unwrap();
    let bundle = bundles.keep(package.path()).unwrap();
    let within = fs::read_to_string(bundle.path.join("templates/within"));
    assert_eq!(within.unwrap(), "b");
    symlink("/etc/passwd", package.path().join("templates/bad")).unwrap();
    let said = bundles.keep(package.path()).unwrap_err().to_string();
    assert!(
        said.contains("templates/bad leads out of the package"),
        "{said}"
    );
    fs::remove_file(package.path().join("templates/bad")).unwrap();
    symlink(".", package.path().join("templates/again")).unwrap();
    assert!(bundles.keep(package.path()).is_err(), "a circle ends");
    assert_eq!(names(&bundles).len(), 1);
}

#[test]
fn bundles_that_nobody_names_go_and_what_a_broken_run_left_goes_at_the_start() {
    let (_folder, bundles) = store();
    let one = bundles.keep(package(&[("a", "1")]).path()).unwrap();
    let two = bundles.keep(package(&[("a", "2")]).path()).unwrap();
    let broken = bundles.root.join(format!("{UNFINISHED}x/tree"));
    fs::create_dir_all(broken).unwrap();
    fs::write(bundles.root.join("notes"), "of the operator").unwrap();
    let bundles = Bundles::open(&bundles.root).unwrap();
    assert_eq!(names(&bundles).len(), 3);
    let removed = bundles
        .retain(&BTreeSet::from([two.digest.clone()]))
        .unwrap();
    assert_eq!(removed, std::slice::from_ref(&one.digest));
    assert_eq!(bundles.find(&one.digest), None);
    assert!(bundles.find(&two.digest).is_some());
    assert!(bundles.root.join("notes").is_file());
}

#[test]
fn a_digest_is_never_a_path() {
    let (_folder, bundles) = store();
    for bad in ["", "..", "sha256:", "sha256:../..", "sha256:ABC", "md5:0"] {
        assert_eq!(bundles.find(bad), None, "{bad}");
    }
    assert_eq!(digest_in("notes"), None);
}
