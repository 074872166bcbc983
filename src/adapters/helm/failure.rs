//! Why a release was not applied, by what helm said: a kind for rules and a text for people.

use std::path::Path;

use domain::tenancy::reason::capped;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The bundle cannot be made a chart.
    Bundle,
    /// An object of the release is refused (S22).
    Refused,
    /// The account may not do something (S21).
    Forbidden,
    /// The release does not fit into its Secret.
    TooLarge,
    /// It did not end in time.
    TimedOut,
    /// Helm cannot be started, or its files cannot be written.
    Broken,
    /// Anything else that helm says: a template that does not render, an object that the API server refuses.
    Failed,
}

/// Why a release was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ReleaseError {
    /// What rules read.
    pub kind: Kind,
    text: String,
}

impl ReleaseError {
    pub(super) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: capped(text.into()),
        }
    }

    /// Of a call that was given up.
    #[must_use]
    pub fn late(text: &str) -> Self {
        Self::new(Kind::TimedOut, text)
    }

    pub(super) fn broken(what: &str, error: &std::io::Error) -> Self {
        Self::new(Kind::Broken, format!("{what}: {error}"))
    }

    /// Of what helm printed before it failed.
    pub(super) fn said(stderr: &str, folder: &Path) -> Self {
        let from = stderr.find("Error: ").map_or(0, |at| at + "Error: ".len());
        let text = stderr.get(from..).unwrap_or_default();
        let text = text.replace(&format!("{}/", folder.display()), "");
        let text = text.trim();
        let text = ["UPGRADE FAILED: ", "INSTALLATION FAILED: "]
            .into_iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        if text.contains("is forbidden: User") {
            return Self::new(Kind::Forbidden, text);
        }
        if text.contains("Too long: may not be more than 1048576 bytes") {
            let limit = "the release is over 1 MiB, which its Secret cannot hold: make templates, charts/ and root JSON files of the package smaller";
            return Self::new(Kind::TooLarge, limit);
        }
        match text {
            "" => Self::new(Kind::Failed, "helm failed without a word"),
            text => Self::new(Kind::Failed, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> ReleaseError {
        ReleaseError::said(text, Path::new("/tmp/x"))
    }

    #[test]
    fn what_helm_says_is_told_without_its_preface_and_our_folders() {
        let error = said(
            "WARNING: a\nError: UPGRADE FAILED: execution error at (shop/templates/b.yaml:1:3): no size\n",
        );
        assert_eq!(error.kind, Kind::Failed);
        assert_eq!(
            error.to_string(),
            "execution error at (shop/templates/b.yaml:1:3): no size"
        );
        let error = said("Error: open /tmp/x/chart/Chart.yaml: gone");
        assert_eq!(error.to_string(), "open chart/Chart.yaml: gone");
        assert_eq!(said("").to_string(), "helm failed without a word");
    }

    #[test]
    fn s21_a_missing_right_names_verb_and_resource() {
        let error = said(
            "Error: roles.rbac.authorization.k8s.io \"r\" is forbidden: User \"system:serviceaccount:team:tenantry-applications\" cannot get resource \"roles\" in API group \"rbac.authorization.k8s.io\" in the namespace \"team\"",
        );
        assert_eq!(error.kind, Kind::Forbidden);
        assert!(
            error.to_string().contains("cannot get resource \"roles\""),
            "{error}"
        );
    }
}
