//! A directory as a repository: `DIR/<package>/<version>/`, or an archive `DIR/<package>/<version>.tar.gz` (section 1.4).
//!
//! Decides which entries are versions. What stands there half-written is read as it is; whoever asks decides when it is still.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use domain::packages::files::{Files, Scope};
use domain::packages::names::{VersionId, is_package_name, is_version};
use domain::packages::repository::Problem;

use super::{ReadError, archive, archive_stem, directory};

/// The most versions that are read.
pub const VERSIONS_MAX: usize = 1_000;
/// The most entries of a directory that is read.
const ENTRIES_MAX: usize = 10_000;

/// What a directory holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Each version with its files, or why they cannot be read.
    pub versions: BTreeMap<VersionId, Result<Files, String>>,
    /// What was left out.
    pub problems: Vec<Problem>,
    /// True if every directory could be read: what is absent is absent.
    pub complete: bool,
}

/// Reads a directory as the repository of this name. What cannot be read is told and does not stop the rest.
#[must_use]
pub fn scan(path: &Path, repository: &str) -> Scanned {
    let mut scan = Scan {
        repository,
        found: Scanned {
            complete: true,
            ..Scanned::default()
        },
    };
    match Dir::open_ambient_dir(path, ambient_authority()) {
        Ok(root) => scan.root(&root),
        // The path is the operator's; it is in the log and in the process's arguments, not in the cluster.
        Err(error) => scan.unreadable("--package-dir", &error),
    }
    scan.found
}

struct Scan<'s> {
    repository: &'s str,
    found: Scanned,
}

/// One version's entry.
enum Entry {
    Folder,
    Archive,
}

impl Scan<'_> {
    fn root(&mut self, root: &Dir) {
        let Some(entries) = self.entries(root, "--package-dir") else {
            return;
        };
        for (name, is_folder) in entries {
            // Files beside packages, such as a README, are nobody's mistake.
            if !is_folder {
                continue;
            }
            if !is_package_name(&name) {
                self.found.problems.push(Problem::PackageName(shown(&name)));
                continue;
            }
            match root.open_dir(&name) {
                Ok(folder) => self.package(&name, &folder),
                Err(error) => self.unreadable(&name, &error),
            }
        }
    }

    fn package(&mut self, package: &str, folder: &Dir) {
        let Some(entries) = self.entries(folder, package) else {
            return;
        };
        for (name, is_folder) in entries {
            let (version, entry) = match (is_folder, archive_stem(&name)) {
                (true, _) => (name.as_str(), Entry::Folder),
                (false, Some(stem)) => (stem, Entry::Archive),
                (false, None) => continue,
            };
            if !is_version(version) {
                self.found.problems.push(Problem::VersionName {
                    package: package.to_owned(),
                    name: shown(version),
                });
                continue;
            }
            let id = VersionId {
                repository: self.repository.to_owned(),
                package: package.to_owned(),
                version: version.to_owned(),
            };
            if self.found.versions.contains_key(&id) {
                self.found.problems.push(Problem::Twice {
                    package: package.to_owned(),
                    version: version.to_owned(),
                });
            } else if self.found.versions.len() >= VERSIONS_MAX {
                self.found.complete = false;
                let most = VERSIONS_MAX;
                self.found.problems.push(Problem::TooMany { most });
                return;
            } else {
                let read = version_files(folder, &name, &entry).map_err(|error| error.to_string());
                self.found.versions.insert(id, read);
            }
        }
    }

    /// Names in order, with whether each is a directory or a link to one; hidden ones are left out.
    fn entries(&mut self, folder: &Dir, place: &str) -> Option<Vec<(String, bool)>> {
        let read = || -> io::Result<Vec<(String, bool)>> {
            let mut names = Vec::new();
            for (number, entry) in folder.entries()?.enumerate() {
                // Not cut short in silence: what is not seen would count as taken away.
                if number == ENTRIES_MAX {
                    let text = format!("it has more than {ENTRIES_MAX} entries");
                    return Err(io::Error::other(text));
                }
                let Ok(name) = entry?.file_name().into_string() else {
                    continue;
                };
                if name.starts_with('.') {
                    continue;
                }
                // A link that leads out is no entry; one that leads nowhere is gone.
                let is_folder = match folder.metadata(&name) {
                    Ok(metadata) => metadata.is_dir(),
                    Err(_) => continue,
                };
                names.push((name, is_folder));
            }
            names.sort_unstable();
            Ok(names)
        };
        match read() {
            Ok(names) => Some(names),
            Err(error) => {
                self.unreadable(place, &error);
                None
            }
        }
    }

    fn unreadable(&mut self, place: &str, error: &io::Error) {
        self.found.complete = false;
        self.found.problems.push(Problem::Unreadable {
            place: place.to_owned(),
            why: format!("cannot be read: {error}"),
        });
    }
}

fn version_files(folder: &Dir, name: &str, entry: &Entry) -> Result<Files, ReadError> {
    match entry {
        Entry::Folder => {
            let version = folder.open_dir(name);
            let version = version.map_err(|error| directory::unreadable(name, error))?;
            directory::below(&version, Scope::Publication)
        }
        Entry::Archive => {
            let file = folder.open(name);
            let file = file.map_err(|error| directory::unreadable(name, error))?;
            archive::read(file, Scope::Publication)
        }
    }
}

/// Names are shown in status: bounded, and quoted where they are shown.
fn shown(name: &str) -> String {
    name.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "type: object").unwrap();
        }
        folder
    }

    fn names(scanned: &Scanned) -> Vec<String> {
        scanned
            .versions
            .keys()
            .map(VersionId::object_name)
            .collect()
    }

    #[test]
    fn versions_are_directories_and_archives_of_packages() {
        let folder = folder(&[
            "shop/v1.0.0/openapi/settings.yaml",
            "shop/v1.10.0/package.yaml",
            "shop/notes.txt",
            "README.md",
            ".git/v1.0.0/package.yaml",
        ]);
        fs::write(folder.path().join("shop/v2.0.0.tar"), [0; 1024]).unwrap();
        let scanned = scan(folder.path(), "local");
        assert_eq!(
            names(&scanned),
            [
                "local-shop-v1.0.0",
                "local-shop-v1.10.0",
                "local-shop-v2.0.0"
            ]
        );
        assert!(scanned.complete);
        assert_eq!(scanned.problems, []);
        assert!(scanned.versions.values().all(Result::is_ok));
    }

    #[test]
    fn what_is_no_version_is_told_and_the_rest_is_read() {
        let folder = folder(&[
            "shop/v1.0.0/package.yaml",
            "shop/latest/package.yaml",
            "Shop/v1.0.0/package.yaml",
        ]);
        fs::write(folder.path().join("shop/v1.0.0.tar.gz"), "x").unwrap();
        let scanned = scan(folder.path(), "local");
        assert_eq!(names(&scanned), ["local-shop-v1.0.0"]);
        let told: Vec<String> = scanned.problems.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(
            told.iter()
                .any(|text| text.starts_with("\"Shop\" is skipped"))
        );
        assert!(
            told.iter()
                .any(|text| text.starts_with("\"latest\" of package shop"))
        );
        assert!(
            told.iter()
                .any(|text| text.starts_with("package shop has v1.0.0 twice"))
        );
    }

    #[test]
    fn no_link_leads_out_of_the_directory() {
        let outside = folder(&["v1.0.0/package.yaml"]);
        let inside = folder(&["real/v1.0.0/package.yaml", "shop/v1.0.0/package.yaml"]);
        symlink(outside.path(), inside.path().join("evil")).unwrap();
        symlink(
            outside.path().join("v1.0.0"),
            inside.path().join("shop/v2.0.0"),
        )
        .unwrap();
        symlink("real", inside.path().join("alias")).unwrap();
        let scanned = scan(inside.path(), "local");
        assert_eq!(
            names(&scanned),
            [
                "local-alias-v1.0.0",
                "local-real-v1.0.0",
                "local-shop-v1.0.0"
            ]
        );
    }

    #[test]
    fn a_directory_with_too_many_entries_is_told_and_nothing_of_it_counts_as_taken_away() {
        let folder = folder(&["shop/v1.0.0/package.yaml"]);
        for number in 0..=ENTRIES_MAX {
            fs::write(folder.path().join(format!("note{number}")), "").unwrap();
        }
        let scanned = scan(folder.path(), "local");
        assert!(!scanned.complete);
        let told = scanned.problems.first().unwrap().to_string();
        assert!(told.contains("more than 10000 entries"), "{told}");
    }

    #[test]
    fn an_unreadable_directory_is_not_an_empty_one() {
        let folder = folder(&[]);
        let gone = folder.path().join("nowhere");
        let scanned = scan(&gone, "local");
        assert!(!scanned.complete);
        let told = scanned.problems.first().unwrap().to_string();
        assert!(told.starts_with("--package-dir cannot be read: "), "{told}");
        assert!(!told.contains("nowhere"), "{told}");
        assert!(scan(folder.path(), "local").complete);
    }
}
