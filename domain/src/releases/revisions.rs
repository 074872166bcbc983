//! What must be done about a release before it can be applied: what a helm that was killed, or a first installation that failed, left
//! behind (section 9).

/// The status of a revision, as helm's labels have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// In force.
    Deployed,
    /// It was in force.
    Superseded,
    /// It could not be applied whole.
    Failed,
    /// A first installation under way, or cut off.
    PendingInstall,
    /// A change under way, or cut off.
    PendingUpgrade,
    /// A way back under way, or cut off.
    PendingRollback,
    /// A removal under way, or cut off.
    Uninstalling,
    /// Anything else.
    Other,
}

impl Status {
    /// What a label says.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "deployed" => Self::Deployed,
            "superseded" => Self::Superseded,
            "failed" => Self::Failed,
            "pending-install" => Self::PendingInstall,
            "pending-upgrade" => Self::PendingUpgrade,
            "pending-rollback" => Self::PendingRollback,
            "uninstalling" => Self::Uninstalling,
            _ => Self::Other,
        }
    }
}

/// A revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its number, from 1.
    pub number: u32,
    /// How it stands.
    pub status: Status,
    /// What was applied, as a digest; `None` for a revision that says nothing of it.
    pub digest: Option<String>,
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing: it can be applied.
    Nothing,
    /// Remove the release: nothing of it was ever whole (S3: nothing is frozen yet).
    Uninstall,
    /// Go back to this revision, which also takes away what only the cut-off one made.
    RollBack(u32),
}

/// What comes before the next application; revisions in any order.
#[must_use]
pub fn recovery(revisions: &[Revision]) -> Recovery {
    let Some(last) = revisions.iter().max_by_key(|revision| revision.number) else {
        return Recovery::Nothing;
    };
    let whole = revisions
        .iter()
        .filter(|revision| matches!(revision.status, Status::Deployed | Status::Superseded))
        .map(|revision| revision.number)
        .max();
    match (last.status, whole) {
        (Status::Uninstalling | Status::PendingInstall, _) => Recovery::Uninstall,
        (Status::PendingUpgrade | Status::PendingRollback, Some(whole)) => {
            Recovery::RollBack(whole)
        }
        (Status::PendingUpgrade | Status::PendingRollback | Status::Failed, None) => {
            Recovery::Uninstall
        }
        (Status::Deployed | Status::Superseded | Status::Failed | Status::Other, _) => {
            Recovery::Nothing
        }
    }
}

/// The digest of what is in force, if the last revision is.
#[must_use]
pub fn in_force(revisions: &[Revision]) -> Option<&str> {
    let last = revisions.iter().max_by_key(|revision| revision.number)?;
    last.digest
        .as_deref()
        .filter(|_| last.status == Status::Deployed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revisions(statuses: &[&str]) -> Vec<Revision> {
        (1..)
            .zip(statuses)
            .map(|(number, status)| Revision {
                number,
                status: Status::parse(status),
                digest: Some(format!("d{number}")),
            })
            .collect()
    }

    #[test]
    fn a_release_that_a_killed_helm_left_pending_goes_back_to_what_was_whole() {
        for (statuses, expected) in [
            (
                &["superseded", "deployed", "pending-upgrade"][..],
                Recovery::RollBack(2),
            ),
            (
                &["deployed", "failed", "pending-rollback"],
                Recovery::RollBack(1),
            ),
            (&["deployed", "pending-upgrade"], Recovery::RollBack(1)),
            (&["pending-install"], Recovery::Uninstall),
            (&["failed", "pending-upgrade"], Recovery::Uninstall),
            (&["deployed", "uninstalling"], Recovery::Uninstall),
        ] {
            assert_eq!(recovery(&revisions(statuses)), expected, "{statuses:?}");
        }
    }

    #[test]
    fn s3_a_first_installation_that_failed_is_removed_and_a_failed_change_is_not() {
        assert_eq!(recovery(&revisions(&["failed"])), Recovery::Uninstall);
        assert_eq!(
            recovery(&revisions(&["deployed", "failed"])),
            Recovery::Nothing
        );
        assert_eq!(
            recovery(&revisions(&["superseded", "deployed"])),
            Recovery::Nothing
        );
        assert_eq!(recovery(&[]), Recovery::Nothing);
    }

    #[test]
    fn only_what_the_last_revision_applied_whole_is_in_force() {
        assert_eq!(
            in_force(&revisions(&["superseded", "deployed"])),
            Some("d2")
        );
        assert_eq!(in_force(&revisions(&["deployed", "failed"])), None);
        assert_eq!(in_force(&revisions(&["deployed", "pending-upgrade"])), None);
        assert_eq!(in_force(&[]), None);
    }
}
