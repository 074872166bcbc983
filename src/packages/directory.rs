//! A package as a directory. Every file is opened below the directory by the kernel's own check, so that neither a link nor a
//! race leads out of it.

use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use domain::packages::files::{CHANGELOG_FILE, Files, PACKAGE_FILE, SCHEMA_FOLDER, Scope};

use super::{ReadError, add, bounded};

pub(super) fn read(root: &Path, scope: Scope) -> Result<Files, ReadError> {
    let root = Dir::open_ambient_dir(root, ambient_authority()).map_err(ReadError::Root)?;
    let mut files = Files::default();
    for path in [PACKAGE_FILE, CHANGELOG_FILE] {
        if exists(&root, path)? {
            add(&mut files, path, content(&root, path)?)?;
        }
    }
    if exists(&root, SCHEMA_FOLDER)? {
        for path in schemas(&root, scope)? {
            add(&mut files, &path, content(&root, &path)?)?;
        }
    }
    Ok(files)
}

/// A link that leads nowhere exists: it is a mistake, not an absent file.
fn exists(root: &Dir, path: &str) -> Result<bool, ReadError> {
    match root.symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unreadable(path, error)),
    }
}

/// The recognised names in the schemas' folder, in order.
fn schemas(root: &Dir, scope: Scope) -> Result<Vec<String>, ReadError> {
    let failed = |error| unreadable(SCHEMA_FOLDER, error);
    let mut found = Vec::new();
    for entry in root.read_dir(SCHEMA_FOLDER).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = format!("{SCHEMA_FOLDER}/{name}");
        if !scope.wants(&path) {
            continue;
        }
        // The linter ignores folders, whatever they are called.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !(is_folder && scope == Scope::Verification && !Scope::Publication.wants(&path)) {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn content(root: &Dir, path: &str) -> Result<Vec<u8>, ReadError> {
    // Before it is opened: opening a pipe would wait for its other end.
    let metadata = root
        .metadata(path)
        .map_err(|error| unreadable(path, error))?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile {
            path: path.to_owned(),
        });
    }
    let file = root.open(path).map_err(|error| unreadable(path, error))?;
    bounded(path, file)
}

/// A path that leads out has an error of the library's own, without a code of the system.
fn unreadable(path: &str, error: io::Error) -> ReadError {
    let path = path.to_owned();
    if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return ReadError::Outside { path };
    }
    ReadError::File {
        path,
        source: error,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn paths(files: &Files) -> Vec<&str> {
        files.iter().map(|(path, _)| path).collect()
    }

    fn refused(folder: &tempfile::TempDir) -> String {
        super::super::read(folder.path(), Scope::Publication)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn recognised_files_are_read_and_others_are_not() {
        let folder = package(&[
            ("package.yaml", "name: a"),
            ("openapi/settings.yaml", "type: object"),
            ("openapi/extra.yaml", "x: 1"),
            ("openapi/sub/values.yaml", "x: 1"),
            ("templates/secret.yaml", "x: 1"),
        ]);
        let published = read(folder.path(), Scope::Publication).unwrap();
        assert_eq!(paths(&published), ["openapi/settings.yaml", "package.yaml"]);
        let verified = read(folder.path(), Scope::Verification).unwrap();
        assert_eq!(
            paths(&verified),
            [
                "openapi/extra.yaml",
                "openapi/settings.yaml",
                "package.yaml"
            ]
        );
        assert!(
            read(package(&[]).path(), Scope::Publication)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_link_within_the_package_is_followed_as_in_a_mounted_volume() {
        let folder = package(&[("..data/settings.yaml", "type: object")]);
        symlink("..data", folder.path().join("openapi")).unwrap();
        let files = read(folder.path(), Scope::Publication).unwrap();
        assert_eq!(
            files.text("openapi/settings.yaml").unwrap(),
            Some("type: object")
        );
    }

    #[test]
    fn no_link_leads_out_of_the_package_by_file_folder_or_absolute_path() {
        let outside = package(&[
            ("settings.yaml", "secret: 1"),
            ("package.yaml", "secret: 1"),
        ]);
        let target = outside.path();

        let by_file = package(&[("openapi/values.yaml", "")]);
        symlink(
            target.join("settings.yaml"),
            by_file.path().join("openapi/settings.yaml"),
        )
        .unwrap();
        assert_eq!(
            refused(&by_file),
            "openapi/settings.yaml leads out of the package: put the file itself there"
        );

        let by_folder = package(&[]);
        symlink(target, by_folder.path().join("openapi")).unwrap();
        assert!(refused(&by_folder).starts_with("openapi leads out of the package"));

        let relative = package(&[]);
        let name = target.file_name().unwrap().to_str().unwrap();
        symlink(
            format!("../{name}/package.yaml"),
            relative.path().join("package.yaml"),
        )
        .unwrap();
        assert!(refused(&relative).starts_with("package.yaml leads out of the package"));
    }

    #[test]
    fn what_is_no_readable_file_is_named() {
        let folder = package(&[("openapi/settings.yaml/x", "")]);
        assert_eq!(
            refused(&folder),
            "openapi/settings.yaml is not a regular file"
        );

        let dangling = package(&[("openapi/config-values.yaml", "type: object")]);
        symlink(
            "nowhere.yaml",
            dangling.path().join("openapi/settings.yaml"),
        )
        .unwrap();
        assert!(refused(&dangling).starts_with("openapi/settings.yaml cannot be read: "));

        let long = package(&[("openapi/values.yaml", &"x".repeat((1 << 20) + 1))]);
        assert_eq!(refused(&long), "openapi/values.yaml is longer than 1 MiB");

        let file = package(&[("openapi", "not a folder")]);
        assert!(refused(&file).starts_with("openapi cannot be read: "));
    }

    #[test]
    fn a_path_without_a_package_says_so() {
        let folder = package(&[("notes.txt", "")]);
        let read = |name: &str| {
            super::super::read(&folder.path().join(name), Scope::Publication)
                .unwrap_err()
                .to_string()
        };
        assert!(read("nowhere").starts_with("cannot be read: "));
        assert_eq!(
            read("notes.txt"),
            "is neither a directory nor an archive (.tar, .tar.gz)"
        );
    }
}
