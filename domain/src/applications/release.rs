//! What is done about an Application's release: recover it, apply it, take it down, or nothing.
//!
//! At most one effect at a time, and none when what is wanted is in force: the release itself says what was applied last, so this holds
//! after a restart too.

use crate::releases::revisions::{Recovery, Revision, in_force, recovery};

/// The next step of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseStep {
    /// It is as wanted.
    Nothing,
    /// Go back to this revision, then look again.
    RollBack(u32),
    /// Remove what was never whole, then look again.
    Clear,
    /// Apply it.
    Apply,
}

/// The next step of a release that is wanted; `digest` says what is to be applied.
#[must_use]
pub fn decide(revisions: &[Revision], digest: &str) -> ReleaseStep {
    match recovery(revisions) {
        Recovery::Uninstall => ReleaseStep::Clear,
        Recovery::RollBack(to) => ReleaseStep::RollBack(to),
        Recovery::Nothing if in_force(revisions) == Some(digest) => ReleaseStep::Nothing,
        Recovery::Nothing => ReleaseStep::Apply,
    }
}

/// The next step of an Application that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeardownStep {
    /// Remove the release, and wait until its objects are gone.
    Uninstall,
    /// Delete what hooks left (only then: the release must not be seen as orphans).
    Purge,
    /// Take the finalizer away.
    Release,
}

/// The next step of a teardown. `purged`: orphans were deleted after the release had gone, in this run.
#[must_use]
pub const fn teardown(has_release: bool, purged: bool) -> TeardownStep {
    match (has_release, purged) {
        (true, _) => TeardownStep::Uninstall,
        (false, false) => TeardownStep::Purge,
        (false, true) => TeardownStep::Release,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::releases::revisions::Status;

    fn revision(number: u32, status: &str, digest: &str) -> Revision {
        Revision {
            number,
            status: Status::parse(status),
            digest: Some(digest.to_owned()),
        }
    }

    #[test]
    fn what_is_in_force_is_not_applied_again() {
        let applied = [revision(1, "deployed", "a")];
        assert_eq!(decide(&applied, "a"), ReleaseStep::Nothing);
        assert_eq!(decide(&applied, "b"), ReleaseStep::Apply);
        assert_eq!(decide(&[], "a"), ReleaseStep::Apply);
        let failed = [revision(1, "deployed", "a"), revision(2, "failed", "b")];
        assert_eq!(
            decide(&failed, "a"),
            ReleaseStep::Apply,
            "the failed one may have changed objects"
        );
    }

    #[test]
    fn what_was_cut_off_is_put_right_first() {
        let cut_off = [
            revision(1, "deployed", "a"),
            revision(2, "pending-upgrade", "b"),
        ];
        assert_eq!(decide(&cut_off, "b"), ReleaseStep::RollBack(1));
        assert_eq!(
            decide(&[revision(1, "pending-install", "a")], "a"),
            ReleaseStep::Clear
        );
    }

    #[test]
    fn orphans_are_purged_after_the_release_has_gone_and_the_finalizer_goes_last() {
        assert_eq!(teardown(true, false), TeardownStep::Uninstall);
        assert_eq!(teardown(true, true), TeardownStep::Uninstall);
        assert_eq!(teardown(false, false), TeardownStep::Purge);
        assert_eq!(teardown(false, true), TeardownStep::Release);
    }
}
