//! Names of repositories, packages and versions, and the object that a version has.
//!
//! An object's name is not injective (S27), so it finds an object and never identifies one: [`VersionId`] does.

use std::fmt;

/// The repository that `--package-dir` makes.
pub const LOCAL_REPOSITORY: &str = "local";
/// What such a repository has in place of a registry: an option of this process, since the path says nothing outside of it.
pub const DIRECTORY: &str = "--package-dir";
/// The most bytes of a package's name: it is a label's value.
pub const PACKAGE_NAME_MAX: usize = 63;
/// The most bytes of a version: it is a part of an object's name.
const VERSION_MAX: usize = 63;

/// True for a name that a package may have: lower-case letters, digits and dashes, as in a DNS label.
#[must_use]
pub fn is_package_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= PACKAGE_NAME_MAX
        && name.bytes().next().is_some_and(inner)
        && name.bytes().last().is_some_and(inner)
        && name.bytes().all(|byte| inner(byte) || byte == b'-')
}

/// True for `vMAJOR.MINOR.PATCH`, the only form that a scan finds.
#[must_use]
pub fn is_version(text: &str) -> bool {
    let Some(numbers) = text.strip_prefix('v').filter(|_| text.len() <= VERSION_MAX) else {
        return false;
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    let is_number = |part: &&str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part.len() == 1 || !part.starts_with('0'))
    };
    parts.len() == 3 && parts.iter().all(is_number)
}

/// True for a name that a release channel may have, such as `early-access`: lower-case letters and dashes. Beside versions it is no mistake.
#[must_use]
pub fn is_channel(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// The repository that an Application asks for: one that states none means the default one.
#[must_use]
pub const fn repository_or<'r>(stated: &'r str, default: &'r str) -> &'r str {
    if stated.is_empty() { default } else { stated }
}

/// What identifies a version: the three fields of its spec.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId {
    /// The repository.
    pub repository: String,
    /// The package.
    pub package: String,
    /// The version.
    pub version: String,
}

impl VersionId {
    /// The name of its object. Another version may have the same one (S27).
    #[must_use]
    pub fn object_name(&self) -> String {
        format!("{}-{}-{}", self.repository, self.package, self.version)
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "package {} {} of repository {}",
            self.package, self.version, self.repository
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_plain_numbers_after_a_v_are_a_version() {
        for good in ["v0.0.0", "v1.2.3", "v10.20.300"] {
            assert!(is_version(good), "{good}");
        }
        for bad in [
            "",
            "v",
            "1.2.3",
            "v1.2",
            "v1.2.3.4",
            "v1.2.x",
            "v1.2.3-rc1",
            "v1..3",
            "v01.2.3",
            "V1.2.3",
            "v1.2.3 ",
            "latest",
        ] {
            assert!(!is_version(bad), "{bad}");
        }
        assert!(!is_version(&format!("v1.2.{}", "9".repeat(80))));
    }

    #[test]
    fn a_channel_is_a_word_and_never_a_version() {
        for good in ["stable", "early-access", "latest"] {
            assert!(is_channel(good) && !is_version(good), "{good}");
        }
        for bad in ["", "v1", "1.2.3", "v1.2.3-rc1", "Stable"] {
            assert!(!is_channel(bad), "{bad}");
        }
    }

    #[test]
    fn a_package_name_fits_a_label_and_an_object_name() {
        for good in ["a", "postgres-operator", "0a", &"a".repeat(63)] {
            assert!(is_package_name(good), "{good}");
        }
        for bad in [
            "",
            "-a",
            "a-",
            "A",
            "a.b",
            "a_b",
            "ä",
            "a/b",
            &"a".repeat(64),
        ] {
            assert!(!is_package_name(bad), "{bad}");
        }
    }

    #[test]
    fn s27_two_versions_may_have_one_object_name() {
        let id = |repository: &str, package: &str| VersionId {
            repository: repository.to_owned(),
            package: package.to_owned(),
            version: "v1.0.0".to_owned(),
        };
        let (one, other) = (id("local", "a-b"), id("local-a", "b"));
        assert_eq!(one.object_name(), other.object_name());
        assert_ne!(one, other);
    }
}
