//! Which Applications use a version, and when its finalizer holds it (section 1.3).
//!
//! An Application uses the version that it asks for, and the one that is installed until another is. The finalizer is there before a
//! user is recorded, and goes only after the last one is no longer recorded: a version in use is never lost to a deletion.

use std::collections::BTreeSet;

use crate::packages::names::VersionId;

/// An Application by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What an Application uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uses {
    /// Who.
    pub user: User,
    /// What its spec asks for; nothing once it is being deleted and taken down.
    pub wanted: Option<VersionId>,
    /// What is installed.
    pub installed: Option<VersionId>,
}

/// Who uses a version, each once and in order.
#[must_use]
pub fn users<'u>(id: &VersionId, uses: impl IntoIterator<Item = &'u Uses>) -> BTreeSet<User> {
    uses.into_iter()
        .filter(|uses| {
            [&uses.wanted, &uses.installed]
                .into_iter()
                .flatten()
                .any(|used| used == id)
        })
        .map(|uses| uses.user.clone())
        .collect()
}

/// What a version's object says of its users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Our finalizer is there.
    pub held: bool,
    /// `status.usedBy`.
    pub users: BTreeSet<User>,
    /// It is being deleted: no finalizer can be added any more.
    pub deleting: bool,
}

/// The next step of a version's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageStep {
    /// Add the finalizer.
    Hold,
    /// Save `usedBy` and `usedByCount`.
    Save(BTreeSet<User>),
    /// Remove the finalizer.
    Release,
    /// Nothing to do.
    Done,
}

/// The next step.
#[must_use]
pub fn decide(recorded: &Recorded, users: &BTreeSet<User>) -> UsageStep {
    if !users.is_empty() && !recorded.held && !recorded.deleting {
        return UsageStep::Hold;
    }
    if recorded.users != *users {
        return UsageStep::Save(users.clone());
    }
    if users.is_empty() && recorded.held {
        return UsageStep::Release;
    }
    UsageStep::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(version: &str) -> VersionId {
        VersionId {
            repository: "local".to_owned(),
            package: "shop".to_owned(),
            version: version.to_owned(),
        }
    }

    fn user(name: &str) -> User {
        User {
            namespace: "team".to_owned(),
            name: name.to_owned(),
        }
    }

    fn uses(name: &str, wanted: &str, installed: Option<&str>) -> Uses {
        Uses {
            user: user(name),
            wanted: Some(version(wanted)),
            installed: installed.map(version),
        }
    }

    #[test]
    fn during_a_version_change_both_versions_are_in_use() {
        let all = [
            uses("a", "v2.0.0", Some("v1.0.0")),
            uses("b", "v1.0.0", None),
        ];
        let first = users(&version("v1.0.0"), &all);
        assert_eq!(first, BTreeSet::from([user("a"), user("b")]));
        assert_eq!(users(&version("v2.0.0"), &all), BTreeSet::from([user("a")]));
        assert!(users(&version("v3.0.0"), &all).is_empty());
    }

    /// What the object says after a step; the finalizer is there in each state with a recorded user.
    fn converge(mut recorded: Recorded, users: &BTreeSet<User>) -> (Recorded, usize) {
        for steps in 0..4 {
            match decide(&recorded, users) {
                UsageStep::Hold => recorded.held = true,
                UsageStep::Save(users) => recorded.users = users,
                UsageStep::Release => recorded.held = false,
                UsageStep::Done => return (recorded, steps),
            }
            assert!(recorded.held || recorded.users.is_empty() || recorded.deleting);
        }
        (recorded, usize::MAX)
    }

    #[test]
    fn a_version_is_held_before_a_user_is_recorded_and_released_after_the_last_one_is_gone() {
        let used = BTreeSet::from([user("a")]);
        let (held, steps) = converge(Recorded::default(), &used);
        assert!(held.held && held.users == used && steps == 2);
        let (released, steps) = converge(held, &BTreeSet::new());
        assert_eq!((released, steps), (Recorded::default(), 2));
    }

    #[test]
    fn a_version_that_is_being_deleted_gets_no_finalizer_any_more() {
        let used = BTreeSet::from([user("a")]);
        let deleting = Recorded {
            deleting: true,
            ..Recorded::default()
        };
        let (recorded, steps) = converge(deleting, &used);
        assert!(!recorded.held && recorded.users == used && steps == 1);
    }
}
