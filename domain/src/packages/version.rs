//! An `ApplicationPackageVersion`: from what is offered and what is recorded to the one next step.
//!
//! A version is a draft until it was loaded once (section 1.3). What was loaded stays in force when a later source is wrong, so
//! that an Application that uses it goes on being judged by what it was installed with.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::names::VersionId;
use super::publication::{LoadReason, Publication, Refusal};
use crate::settings::document::equal;
use crate::tenancy::reason::capped;

/// The labels of a version; `None` for one that is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The package.
    pub package: Option<String>,
    /// The repository.
    pub repository: Option<String>,
    /// "true" while the repository offers the version, then "false".
    pub exists: Option<String>,
    /// "true" while nothing was loaded.
    pub draft: Option<String>,
}

impl Labels {
    fn of(id: &VersionId, exists: bool, draft: bool) -> Self {
        Self {
            package: Some(id.package.clone()),
            repository: Some(id.repository.clone()),
            exists: Some(exists.to_string()),
            draft: draft.then(|| true.to_string()),
        }
    }
}

/// What `MetadataLoaded` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The reason; only [`LoadReason::Loaded`] is true.
    pub reason: LoadReason,
    /// What to know; empty if all is well.
    pub message: String,
}

impl Loaded {
    /// True if metadata and schemas of the present source are published.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.reason == LoadReason::Loaded
    }
}

/// An object as it is recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VersionRecord {
    /// Its labels.
    pub labels: Labels,
    /// Its condition; `None` if there is none, or none of ours.
    pub loaded: Option<Loaded>,
    /// What is published; `None` if nothing ever was.
    pub publication: Option<Publication>,
}

/// The object that has the version's name.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// There is none.
    Absent,
    /// It is of another version (S27).
    Another,
    /// It is being deleted.
    Deleting,
    /// It is of this version.
    Recorded(Box<VersionRecord>),
}

/// What the repository has of the version.
#[derive(Clone, Copy, Debug)]
pub enum Source<'s> {
    /// Files, and what is published of them.
    Offered(Result<&'s Publication, &'s Refusal>),
    /// The version, whose files were not read again.
    Unread,
    /// Nothing any more.
    Withdrawn,
}

/// What is saved in status.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionStatus {
    /// The condition.
    pub loaded: Loaded,
    /// What is published, if anything ever was.
    pub publication: Option<Publication>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum VersionStep {
    /// Create the object with these labels.
    Create(Labels),
    /// Set these labels.
    Label(Labels),
    /// Save this status.
    Save(Box<VersionStatus>),
    /// The name is held by another version; it cannot be published (S27).
    NameTaken,
    /// Nothing to do.
    Done,
}

/// The next step of a version.
#[must_use]
pub fn decide(id: &VersionId, found: &Found, source: Source<'_>) -> VersionStep {
    match (found, source) {
        (Found::Absent, Source::Offered(_) | Source::Unread) => {
            VersionStep::Create(Labels::of(id, true, true))
        }
        (Found::Another, Source::Offered(_) | Source::Unread) => VersionStep::NameTaken,
        (Found::Recorded(record), Source::Offered(outcome)) => offered(id, record, outcome),
        (Found::Recorded(record), Source::Unread) => {
            labelled(record, Labels::of(id, true, record.publication.is_none()))
        }
        (Found::Recorded(record), Source::Withdrawn) => {
            labelled(record, Labels::of(id, false, record.publication.is_none()))
        }
        (Found::Absent | Found::Another, Source::Withdrawn) | (Found::Deleting, _) => {
            VersionStep::Done
        }
    }
}

fn offered(
    id: &VersionId,
    record: &VersionRecord,
    outcome: Result<&Publication, &Refusal>,
) -> VersionStep {
    let draft = Labels::of(id, true, true);
    // Before anything else: what was never loaded must not be installed.
    if record.publication.is_none() && record.labels.draft != draft.draft {
        return VersionStep::Label(draft);
    }
    let status = wanted(record, outcome);
    let same = record.loaded.as_ref() == Some(&status.loaded)
        && match (&record.publication, &status.publication) {
            (None, None) => true,
            (Some(before), Some(now)) => is_same(before, now),
            _ => false,
        };
    if !same {
        return VersionStep::Save(Box::new(status));
    }
    labelled(record, Labels::of(id, true, record.publication.is_none()))
}

fn labelled(record: &VersionRecord, labels: Labels) -> VersionStep {
    if record.labels == labels {
        VersionStep::Done
    } else {
        VersionStep::Label(labels)
    }
}

fn wanted(record: &VersionRecord, outcome: Result<&Publication, &Refusal>) -> VersionStatus {
    match outcome {
        Ok(publication) => VersionStatus {
            loaded: Loaded {
                reason: LoadReason::Loaded,
                message: String::new(),
            },
            publication: Some(publication.clone()),
        },
        Err(refusal) => {
            let kept = if record.publication.is_some() {
                "; what was published before stays in force"
            } else {
                ""
            };
            VersionStatus {
                loaded: Loaded {
                    reason: refusal.reason,
                    message: capped(format!("{}{kept}", refusal.text)),
                },
                publication: record.publication.clone(),
            }
        }
    }
}

/// As the API server compares: 1 and 1.0 are the same number.
fn is_same(before: &Publication, now: &Publication) -> bool {
    let same = |before: &Map<String, Value>, now: &Map<String, Value>| {
        before.len() == now.len()
            && before
                .iter()
                .all(|(key, value)| now.get(key).is_some_and(|now| equal(value, now)))
    };
    let same_schema =
        |before: &Option<Map<String, Value>>, now: &Option<Map<String, Value>>| match (before, now)
        {
            (Some(before), Some(now)) => same(before, now),
            (None, None) => true,
            _ => false,
        };
    let texts =
        |texts: &BTreeMap<String, BTreeMap<String, String>>| texts.values().all(BTreeMap::is_empty);
    same(&before.metadata, &now.metadata)
        && same_schema(&before.settings, &now.settings)
        && same_schema(&before.values, &now.values)
        && (before.descriptions == now.descriptions
            || (texts(&before.descriptions) && texts(&now.descriptions)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;
    use serde_json::json;

    fn id() -> VersionId {
        VersionId {
            repository: "local".to_owned(),
            package: "shop".to_owned(),
            version: "v1.0.0".to_owned(),
        }
    }

    fn good(size: i64) -> Publication {
        let Value::Object(schema) = json!({"type": "object", "maxProperties": size}) else {
            panic!("an object");
        };
        Publication {
            settings: Some(schema),
            ..Publication::default()
        }
    }

    fn broken() -> Refusal {
        Refusal::new(LoadReason::InvalidSchema, "openapi/settings.yaml: no")
    }

    /// What the API server would hold after the step.
    fn perform(found: &mut Found, step: VersionStep) {
        match step {
            VersionStep::Create(labels) => {
                *found = Found::Recorded(Box::new(VersionRecord {
                    labels,
                    ..VersionRecord::default()
                }));
            }
            VersionStep::Label(labels) => {
                if let Found::Recorded(record) = found {
                    record.labels = labels;
                }
            }
            VersionStep::Save(status) => {
                if let Found::Recorded(record) = found {
                    record.loaded = Some(status.loaded);
                    record.publication = status.publication;
                }
            }
            VersionStep::NameTaken | VersionStep::Done => {}
        }
    }

    /// Runs to the end; never more than four steps, and a draft label on everything that was never loaded.
    fn converge(found: &mut Found, source: Source<'_>) -> usize {
        for steps in 0..5 {
            let step = decide(&id(), found, source);
            if matches!(step, VersionStep::Done | VersionStep::NameTaken) {
                return steps;
            }
            perform(found, step);
            if let Found::Recorded(record) = &found {
                let is_draft = record.labels.draft.is_some();
                assert!(record.publication.is_some() || is_draft);
            }
        }
        panic!("it does not end");
    }

    fn record(found: &Found) -> &VersionRecord {
        match found {
            Found::Recorded(record) => record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_version_is_a_draft_until_it_is_loaded() {
        let mut found = Found::Absent;
        let publication = good(3);
        assert_eq!(converge(&mut found, Source::Offered(Ok(&publication))), 3);
        let record = record(&found);
        assert_eq!(record.labels, Labels::of(&id(), true, false));
        assert!(record.loaded.as_ref().is_some_and(Loaded::is_true));
        assert_eq!(record.publication, Some(publication));
    }

    #[test]
    fn a_broken_version_stays_a_draft_and_is_loaded_once_it_is_mended() {
        let mut found = Found::Absent;
        let refusal = broken();
        assert_eq!(converge(&mut found, Source::Offered(Err(&refusal))), 2);
        assert_eq!(record(&found).labels.draft.as_deref(), Some("true"));
        assert_eq!(
            record(&found).loaded,
            Some(Loaded {
                reason: LoadReason::InvalidSchema,
                message: refusal.text.clone(),
            })
        );
        converge(&mut found, Source::Offered(Ok(&good(1))));
        assert_eq!(record(&found).labels.draft, None);
    }

    #[test]
    fn what_was_loaded_stays_in_force_when_a_later_source_is_wrong() {
        let mut found = Found::Absent;
        converge(&mut found, Source::Offered(Ok(&good(1))));
        converge(&mut found, Source::Offered(Err(&broken())));
        let record = record(&found);
        assert_eq!(record.publication, Some(good(1)));
        assert_eq!(record.labels.draft, None);
        let message = record.loaded.as_ref().map(|loaded| loaded.message.as_str());
        assert_eq!(
            message,
            Some("openapi/settings.yaml: no; what was published before stays in force")
        );
    }

    #[test]
    fn a_changed_source_is_published_again_and_an_equal_one_is_not() {
        let mut found = Found::Absent;
        converge(&mut found, Source::Offered(Ok(&good(1))));
        assert_eq!(converge(&mut found, Source::Offered(Ok(&good(2)))), 1);
        let Value::Object(as_stored) = json!({"type": "object", "maxProperties": 2.0}) else {
            panic!("an object");
        };
        let stored = Publication {
            settings: Some(as_stored),
            ..Publication::default()
        };
        assert_eq!(converge(&mut found, Source::Offered(Ok(&stored))), 0);
    }

    #[test]
    fn a_version_that_is_withdrawn_keeps_everything_but_says_so() {
        let mut found = Found::Absent;
        converge(&mut found, Source::Offered(Ok(&good(1))));
        assert_eq!(converge(&mut found, Source::Withdrawn), 1);
        assert_eq!(record(&found).labels.exists.as_deref(), Some("false"));
        assert_eq!(record(&found).publication, Some(good(1)));
        assert_eq!(converge(&mut found, Source::Offered(Ok(&good(1)))), 1);
        assert_eq!(record(&found).labels.exists.as_deref(), Some("true"));
        assert_eq!(converge(&mut Found::Absent, Source::Withdrawn), 0);
    }

    #[test]
    fn a_version_that_was_not_read_again_keeps_what_was_loaded_and_is_on_offer() {
        let mut found = Found::Absent;
        assert_eq!(converge(&mut found, Source::Unread), 1);
        assert_eq!(record(&found).labels.draft.as_deref(), Some("true"));
        converge(&mut found, Source::Offered(Ok(&good(1))));
        converge(&mut found, Source::Withdrawn);
        assert_eq!(converge(&mut found, Source::Unread), 1);
        assert_eq!(record(&found).labels, Labels::of(&id(), true, false));
        assert_eq!(record(&found).publication, Some(good(1)));
    }

    #[test]
    fn a_lost_draft_label_comes_back_before_anything_else() {
        let mut found = Found::Recorded(Box::default());
        let step = decide(&id(), &found, Source::Offered(Ok(&good(1))));
        assert_eq!(step, VersionStep::Label(Labels::of(&id(), true, true)));
        assert_eq!(converge(&mut found, Source::Offered(Ok(&good(1)))), 3);
    }

    #[test]
    fn s27_an_object_of_another_version_is_never_touched() {
        let (publication, refusal) = (good(1), broken());
        for source in [
            Source::Offered(Ok(&publication)),
            Source::Offered(Err(&refusal)),
            Source::Unread,
        ] {
            let step = decide(&id(), &Found::Another, source);
            assert_eq!(step, VersionStep::NameTaken);
        }
        let step = decide(&id(), &Found::Another, Source::Withdrawn);
        assert_eq!(step, VersionStep::Done);
        let step = decide(&id(), &Found::Deleting, Source::Offered(Ok(&good(1))));
        assert_eq!(step, VersionStep::Done);
    }
}
