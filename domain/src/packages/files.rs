//! The files of a package that are read (settings contract, section 2): their names, their size, and which schema file counts.
//!
//! It holds bytes and judges no content but that it is text.

use std::collections::BTreeMap;

use crate::settings::limits::Limits;
use crate::settings::package::{SETTINGS_FILES, VALUES_FILE};

/// What the package is.
pub const PACKAGE_FILE: &str = "package.yaml";
/// What changed in the version.
pub const CHANGELOG_FILE: &str = "changelog.yaml";
/// The folder of schemas.
pub const SCHEMA_FOLDER: &str = "openapi";
/// What precedes a schema's name in the file of its Russian descriptions.
pub const RUSSIAN: &str = "doc-ru-";
/// The most bytes of a recognised file.
pub const FILE_MAX: usize = Limits::DEFAULT.file_bytes;

/// Which files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// What publication needs.
    Publication,
    /// What the linter reads: also every other schema file.
    Verification,
}

impl Scope {
    /// True if the file of this path within the package is read; all others are skipped.
    #[must_use]
    pub fn wants(self, path: &str) -> bool {
        match path.split_once('/') {
            None => path == PACKAGE_FILE || path == CHANGELOG_FILE,
            Some((SCHEMA_FOLDER, name)) => match self {
                Self::Publication => is_published(path),
                Self::Verification => is_schema_name(name),
            },
            Some(_) => false,
        }
    }
}

fn is_published(path: &str) -> bool {
    path == VALUES_FILE
        || SETTINGS_FILES
            .iter()
            .any(|known| path == *known || path == russian_of(known))
}

/// Directly in the folder, as the linter reads them.
fn is_schema_name(name: &str) -> bool {
    let is_yaml = name
        .rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && ["yaml", "yml"].contains(&ending));
    is_yaml && !name.contains(['/', '\\']) && !name.chars().any(char::is_control)
}

/// The file of the Russian descriptions of a schema file.
#[must_use]
pub fn russian_of(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/{RUSSIAN}{name}"),
        None => format!("{RUSSIAN}{path}"),
    }
}

/// A file that is no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} is not UTF-8 text")]
pub struct NotText {
    /// The file.
    pub path: String,
}

/// The recognised files of one package version, by path within it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// Adds a file; a later one of the same path replaces the earlier, as in an unpacked archive.
    pub fn insert(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        self.0.insert(path.into(), bytes);
    }

    /// Takes away the file of this path and all below it; every file if the path is empty.
    pub fn remove(&mut self, path: &str) {
        self.0.retain(|known, _| {
            let below = known.strip_prefix(path);
            let gone = path.is_empty()
                || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            !gone
        });
    }

    /// True if there is no recognised file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A file's text; `None` if it is absent.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn text(&self, path: &str) -> Result<Option<&str>, NotText> {
        let Some(bytes) = self.0.get(path) else {
            return Ok(None);
        };
        std::str::from_utf8(bytes).map(Some).map_err(|_| NotText {
            path: path.to_owned(),
        })
    }

    /// The path of the settings schema: the first of [`SETTINGS_FILES`] that exists, also if it is empty.
    #[must_use]
    pub fn settings_file(&self) -> Option<&'static str> {
        SETTINGS_FILES
            .into_iter()
            .find(|path| self.0.contains_key(*path))
    }

    /// All files by path.
    #[must_use]
    pub const fn by_path(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.0
    }

    /// All files in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publication_reads_the_named_files_and_the_linter_every_schema() {
        for path in [
            "package.yaml",
            "changelog.yaml",
            "openapi/settings.yaml",
            "openapi/config-values.yaml",
            "openapi/values.yaml",
            "openapi/doc-ru-settings.yaml",
            "openapi/doc-ru-config-values.yaml",
        ] {
            assert!(Scope::Publication.wants(path), "{path}");
            assert!(Scope::Verification.wants(path), "{path}");
        }
        for path in ["openapi/extra.yml", "openapi/case-tests.yaml"] {
            assert!(!Scope::Publication.wants(path), "{path}");
            assert!(Scope::Verification.wants(path), "{path}");
        }
        for path in [
            "",
            "values.yaml",
            "Chart.yaml",
            "openapi",
            "openapi/",
            "openapi/.yaml",
            "openapi/readme.md",
            "openapi/sub/settings.yaml",
            "openapi/a\u{1b}.yaml",
            "templates/x.yaml",
            "/package.yaml",
            "../package.yaml",
        ] {
            assert!(!Scope::Verification.wants(path), "{path}");
        }
    }

    #[test]
    fn an_empty_settings_file_still_hides_the_legacy_one() {
        let mut files = Files::default();
        assert_eq!(files.settings_file(), None);
        files.insert("openapi/config-values.yaml", b"type: object".to_vec());
        assert_eq!(files.settings_file(), Some("openapi/config-values.yaml"));
        files.insert("openapi/settings.yaml", Vec::new());
        assert_eq!(files.settings_file(), Some("openapi/settings.yaml"));
        assert_eq!(files.text("openapi/settings.yaml"), Ok(Some("")));
    }

    #[test]
    fn a_path_is_taken_away_with_all_below_it_and_nothing_beside_it() {
        let mut files = Files::default();
        for path in ["a", "a/b", "a/b/c", "ab"] {
            files.insert(path, Vec::new());
        }
        files.remove("a/b");
        let left = |files: &Files| files.iter().map(|(path, _)| path.to_owned()).collect();
        let paths: Vec<String> = left(&files);
        assert_eq!(paths, ["a", "ab"]);
        files.remove("");
        assert!(files.is_empty());
    }

    #[test]
    fn what_is_no_text_is_named() {
        let mut files = Files::default();
        files.insert("package.yaml", vec![0xff]);
        let said = files
            .text("package.yaml")
            .map_err(|error| error.to_string());
        assert_eq!(said, Err("package.yaml is not UTF-8 text".to_owned()));
        assert_eq!(files.text("changelog.yaml"), Ok(None));
    }
}
