//! An `ApplicationPackage`: that a repository offers it (section 1.2), as the one next step.
//!
//! Several repositories may offer one package; each cares for its own entry alone.

/// An object as it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageRecord {
    /// Our repository is among its owners.
    pub owned: bool,
    /// The repositories that offer it.
    pub repositories: Vec<String>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferStep {
    /// Create it, owned by our repository.
    Create,
    /// Add our repository to its owners.
    Own,
    /// Save these as the repositories that offer it.
    Offer(Vec<String>),
    /// Nothing to do.
    Done,
}

/// The next step of a package that `repository` offers or does not offer any more.
#[must_use]
pub fn decide(found: Option<&PackageRecord>, repository: &str, offered: bool) -> OfferStep {
    let Some(record) = found else {
        return if offered {
            OfferStep::Create
        } else {
            OfferStep::Done
        };
    };
    if offered && !record.owned {
        return OfferStep::Own;
    }
    let listed = record.repositories.iter().any(|name| name == repository);
    if listed == offered {
        return OfferStep::Done;
    }
    let mut repositories = record.repositories.clone();
    if offered {
        repositories.push(repository.to_owned());
        repositories.sort_unstable();
    } else {
        repositories.retain(|name| name != repository);
    }
    OfferStep::Offer(repositories)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(owned: bool, repositories: &[&str]) -> PackageRecord {
        PackageRecord {
            owned,
            repositories: repositories.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn a_package_is_created_then_offered() {
        assert_eq!(decide(None, "local", true), OfferStep::Create);
        let step = decide(Some(&record(true, &[])), "local", true);
        assert_eq!(step, OfferStep::Offer(vec!["local".to_owned()]));
        let step = decide(Some(&record(true, &["local"])), "local", true);
        assert_eq!(step, OfferStep::Done);
    }

    #[test]
    fn the_entries_of_other_repositories_are_left_alone() {
        let step = decide(Some(&record(false, &["x"])), "local", true);
        assert_eq!(step, OfferStep::Own);
        let step = decide(Some(&record(true, &["x"])), "local", true);
        assert_eq!(
            step,
            OfferStep::Offer(vec!["local".to_owned(), "x".to_owned()])
        );
        let step = decide(Some(&record(true, &["local", "x"])), "local", false);
        assert_eq!(step, OfferStep::Offer(vec!["x".to_owned()]));
        let step = decide(Some(&record(false, &["x"])), "local", false);
        assert_eq!(step, OfferStep::Done);
        assert_eq!(decide(None, "local", false), OfferStep::Done);
    }
}
