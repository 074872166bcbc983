//! What `tenantry package verify` says of a package's files (section 11).
//!
//! Four rules are those of the upstream platform (`advanced`, `extensions`, `enum`, `bilingual`), with its levels and places; the
//! others are ours and have names of their own. Files come in as bytes by path, findings go out sorted. Nothing is read, fetched
//! or run here.

mod bilingual;
mod document;
mod enums;
mod extensions;
mod marks;
mod own;
mod walk;

use std::collections::BTreeMap;
use std::fmt;

use document::Document;

use super::limits::Limits;
use super::package::{SETTINGS_FILES, VALUES_FILE};

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The package cannot be published as it is, or does not do what its author means.
    Error,
    /// Worth a look.
    Warning,
}

impl Level {
    /// As it is printed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warn",
        }
    }
}

/// A rule of `verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// `x-deckhouse-ui-advanced` below the top level.
    Advanced,
    /// Shapes of the `x-deckhouse-*` extensions.
    Extensions,
    /// Spelling of `enum` values.
    Enum,
    /// Each schema has its translation, and the reverse.
    Bilingual,
    /// Ours: a key stands twice in a map (S13).
    DuplicateKey,
    /// Ours: the schema cannot be loaded or published (sections 3.1, 3.5, S20).
    Schema,
    /// Ours: a rule of `x-deckhouse-validations` can never be evaluated, or never is (sections 3.5, 5.3, S9).
    Rules,
    /// Ours: keys beside a `$ref` that count for nothing (section 3.5).
    Reference,
    /// Ours: a mark that is ignored where it stands (S11, S26).
    Marks,
    /// Ours: `package.yaml` names requirements that contradict each other or cannot be read (section 2).
    Requirements,
}

impl Rule {
    /// As it is printed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advanced => "advanced",
            Self::Extensions => "extensions",
            Self::Enum => "enum",
            Self::Bilingual => "bilingual",
            Self::DuplicateKey => "duplicate-key",
            Self::Schema => "schema",
            Self::Rules => "rules",
            Self::Reference => "reference",
            Self::Marks => "marks",
            Self::Requirements => "requirements",
        }
    }

    /// True for the four rules of the upstream platform.
    #[must_use]
    pub const fn is_upstream(self) -> bool {
        matches!(
            self,
            Self::Advanced | Self::Extensions | Self::Enum | Self::Bilingual
        )
    }
}

/// One thing that is wrong or doubtful.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the package's folder.
    pub path: String,
    /// Where in the file, steps joined with dots; empty if the file as a whole is meant.
    pub pointer: String,
    /// Which rule found it.
    pub rule: Rule,
    /// How grave it is.
    pub level: Level,
    /// What is wrong and what to do.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.level.as_str(), self.path)?;
        if !self.pointer.is_empty() {
            write!(f, ": {}", self.pointer)?;
        }
        write!(f, ": {} ({})", self.text, self.rule.as_str())
    }
}

/// True if the findings let a package pass: there is no error among them.
#[must_use]
pub fn passes(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.level != Level::Error)
}

/// All findings of a package, sorted by file, place and rule. `files` holds every file by its path from the package's folder.
#[must_use]
pub fn verify(files: &BTreeMap<String, Vec<u8>>, limits: &Limits) -> Vec<Finding> {
    let schemas = schema_files(files);
    let mut findings = Findings(Vec::new());
    bilingual::check(&schemas, &mut findings);
    let settings = SETTINGS_FILES
        .into_iter()
        .find(|file| files.contains_key(*file));
    for (path, bytes) in &schemas {
        let document = Document::read(path, bytes, limits);
        let name = path.trim_start_matches(FOLDER);
        let is_translation = name.starts_with(TRANSLATION);
        let is_test = name.ends_with(TESTS);
        own::check_text(&document, &mut findings);
        if !is_translation && !is_test {
            enums::check(&document, &mut findings);
        }
        if *path == SETTINGS_FILES[0] {
            marks::check_advanced(&document, &mut findings);
        }
        if *path == SETTINGS_FILES[0] || *path == VALUES_FILE {
            extensions::check(&document, &mut findings);
        }
        if Some(*path) == settings || *path == VALUES_FILE {
            own::check_schema(&document, limits, &mut findings);
        }
        if Some(*path) == settings {
            marks::check_ignored(&document, &mut findings);
        }
    }
    if let Some(bytes) = files.get(PACKAGE_FILE) {
        let document = Document::read(PACKAGE_FILE, bytes, limits);
        own::check_text(&document, &mut findings);
        own::check_package(&document, &mut findings);
    }
    let mut found = findings.0;
    found.sort();
    found.dedup();
    found
}

const FOLDER: &str = "openapi/";
const TRANSLATION: &str = "doc-ru-";
const TESTS: &str = "-tests.yaml";
/// The package's description.
pub const PACKAGE_FILE: &str = "package.yaml";

/// The YAML files directly in `openapi/`, by path.
fn schema_files(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<&str, &[u8]> {
    files
        .iter()
        .filter(|(path, _)| {
            let name = path.strip_prefix(FOLDER);
            name.is_some_and(|name| !name.contains('/') && is_yaml(name))
        })
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect()
}

fn is_yaml(name: &str) -> bool {
    let (stem, suffix) = name.rsplit_once('.').unwrap_or_default();
    !stem.is_empty() && matches!(suffix, "yaml" | "yml")
}

/// What was found so far.
struct Findings(Vec<Finding>);

impl Findings {
    fn add(
        &mut self,
        rule: Rule,
        level: Level,
        path: &str,
        pointer: impl Into<String>,
        text: impl Into<String>,
    ) {
        self.0.push(Finding {
            path: path.to_owned(),
            pointer: pointer.into(),
            rule,
            level,
            text: text.into(),
        });
    }
}
