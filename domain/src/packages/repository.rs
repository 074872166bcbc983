//! A `PackageRepository`: what a scan found, as its status, and the one next step (section 1.4).
//!
//! What a scan had to leave out is told here, because it has no object of its own: also a version whose name is taken (S27).

use std::collections::BTreeMap;

use super::names::VersionId;
use crate::tenancy::reason::capped;

/// Something that a scan left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// A part of the source could not be read.
    Unreadable {
        /// Which part.
        place: String,
        /// Why.
        why: String,
    },
    /// The object's name is held by another version (S27).
    NameTaken(VersionId),
    /// The name is none that a package may have.
    PackageName(String),
    /// The name is no version.
    VersionName {
        /// The package.
        package: String,
        /// The name.
        name: String,
    },
    /// A version is there as a directory and as an archive, or in two archives.
    Twice {
        /// The package.
        package: String,
        /// The version.
        version: String,
    },
    /// A package that is listed has no versions.
    NoVersions(String),
    /// More versions than are taken.
    TooMany {
        /// The limit.
        most: usize,
    },
}

impl Problem {
    const fn reason(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "SourceUnreadable",
            Self::NameTaken(_) => "NameTaken",
            Self::PackageName(_)
            | Self::VersionName { .. }
            | Self::Twice { .. }
            | Self::NoVersions(_)
            | Self::TooMany { .. } => "EntriesSkipped",
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable { place, why } => write!(f, "{place} {why}"),
            Self::NameTaken(id) => write!(
                f,
                "{id} is not published: the name {} is held by an ApplicationPackageVersion of another package or repository",
                id.object_name()
            ),
            Self::PackageName(name) => write!(
                f,
                "{name:?} is skipped: a package's name is lower-case letters, digits and dashes, at most 63"
            ),
            Self::VersionName { package, name } => write!(
                f,
                "{name:?} of package {package} is skipped: a version is vMAJOR.MINOR.PATCH"
            ),
            Self::Twice { package, version } => write!(
                f,
                "package {package} has {version} twice: keep the directory or one archive"
            ),
            Self::NoVersions(package) => write!(
                f,
                "package {package} has no versions: push <repo>/{package}/version:<version>"
            ),
            Self::TooMany { most } => write!(f, "only {most} versions are read"),
        }
    }
}

/// What a repository's status says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryStatus {
    /// The packages on offer, with the type that their files say.
    pub packages: BTreeMap<String, Option<String>>,
    /// Reason of `LastScanSucceeded`.
    pub reason: String,
    /// What was left out; empty if nothing was.
    pub message: String,
}

/// Reason of `LastScanSucceeded` when it is true.
pub const SUCCEEDED: &str = "LastScanSucceeded";

impl RepositoryStatus {
    /// Of a scan.
    #[must_use]
    pub fn of(packages: BTreeMap<String, Option<String>>, mut problems: Vec<Problem>) -> Self {
        problems.sort();
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Self {
            packages,
            reason: problems
                .first()
                .map_or(SUCCEEDED, Problem::reason)
                .to_owned(),
            message: capped(texts.join("; ")),
        }
    }

    /// True if nothing was left out.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.reason == SUCCEEDED
    }
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryStep {
    /// Create the object.
    Create,
    /// Save the status.
    Save,
    /// Nothing to do.
    Done,
}

/// The next step of a repository; `wanted` is `None` before its packages were looked through.
#[must_use]
pub fn decide(
    found: Option<Option<&RepositoryStatus>>,
    wanted: Option<&RepositoryStatus>,
) -> RepositoryStep {
    match (found, wanted) {
        (None, _) => RepositoryStep::Create,
        (Some(recorded), Some(wanted)) if recorded != Some(wanted) => RepositoryStep::Save,
        (Some(_), _) => RepositoryStep::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken() -> Problem {
        Problem::NameTaken(VersionId {
            repository: "local".to_owned(),
            package: "a-b".to_owned(),
            version: "v1.0.0".to_owned(),
        })
    }

    #[test]
    fn s27_a_name_that_is_taken_is_told_by_the_repository() {
        let status = RepositoryStatus::of(BTreeMap::new(), vec![taken()]);
        assert!(!status.succeeded());
        assert_eq!(status.reason, "NameTaken");
        assert!(
            status.message.contains("local-a-b-v1.0.0 is held by"),
            "{}",
            status.message
        );
    }

    #[test]
    fn the_gravest_problem_gives_the_reason_and_all_are_told() {
        let skipped = Problem::PackageName("A".to_owned());
        let unreadable = Problem::Unreadable {
            place: "shop".to_owned(),
            why: "cannot be read: no".to_owned(),
        };
        let status = RepositoryStatus::of(BTreeMap::new(), vec![skipped, taken(), unreadable]);
        assert_eq!(status.reason, "SourceUnreadable");
        assert_eq!(status.message.matches("; ").count(), 2);
        let many = vec![taken(); 100];
        assert!(RepositoryStatus::of(BTreeMap::new(), many).message.len() <= 1024);
        assert!(RepositoryStatus::of(BTreeMap::new(), Vec::new()).succeeded());
    }

    #[test]
    fn a_status_is_written_only_when_it_changed() {
        let status = RepositoryStatus::of(BTreeMap::new(), Vec::new());
        assert_eq!(decide(None, None), RepositoryStep::Create);
        assert_eq!(decide(Some(None), None), RepositoryStep::Done);
        assert_eq!(decide(Some(None), Some(&status)), RepositoryStep::Save);
        assert_eq!(
            decide(Some(Some(&status)), Some(&status)),
            RepositoryStep::Done
        );
    }
}
