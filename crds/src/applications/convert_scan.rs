//! Repositories and their operations ↔ the facts and results of scans.

use std::collections::BTreeMap;

use domain::packages::scan::{self, Facts, Operation, Phase};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt};
use serde_json::{Map, Value, json};

use super::conditions::{Said, find, merge};
use super::convert::LAST_SCAN_SUCCEEDED;
use super::operation::{
    PackageRepositoryOperation, PackageRepositoryOperationSpec, PackageRepositoryOperationStatus,
    Update,
};
use super::repository::{DEFAULT_SCAN_INTERVAL, PackageRepository, PackageRepositoryStatus};

/// The one type of operation.
pub const UPDATE: &str = "Update";
/// The condition that says whether an operation ended, and how.
pub const COMPLETED: &str = "Completed";
/// The phase of a repository that is being deleted.
const TERMINATING: &str = "Terminating";
/// Room for the time behind the repository's name in an operation's.
const NAME_MAX: usize = 230;

impl PackageRepository {
    /// What decides when it is scanned.
    ///
    /// # Errors
    /// An interval that is none.
    pub fn scan_facts(
        &self,
        operations: &[PackageRepositoryOperation],
        now: &Time,
    ) -> Result<Facts, scan::NoDuration> {
        let interval = self.spec.scan_interval.as_deref();
        // Zero lengths match the pattern too; they count as not said.
        let interval = match scan::duration(interval.unwrap_or(DEFAULT_SCAN_INTERVAL))? {
            none if none.is_zero() => scan::DEFAULT_INTERVAL,
            interval => interval,
        };
        let status = self.status.as_ref();
        let conditions = status.map_or(&[][..], |status| &status.conditions);
        let scanned = find(conditions, LAST_SCAN_SUCCEEDED)
            .and_then(|(condition, _)| condition.observed_generation);
        Ok(Facts {
            deleting: self.metadata.deletion_timestamp.is_some(),
            terminating: status.and_then(|status| status.phase.as_deref()) == Some(TERMINATING),
            interval,
            last_scan: status.and_then(|status| Some(status.last_scan_time.as_ref()?.0)),
            scanned_as_specified: scanned.is_some() && scanned == self.metadata.generation,
            operations: operations
                .iter()
                .map(PackageRepositoryOperation::known)
                .collect(),
            now: now.0,
        })
    }

    /// The status of one that is being deleted.
    #[must_use]
    pub fn terminating(&self) -> PackageRepositoryStatus {
        PackageRepositoryStatus {
            phase: Some(TERMINATING.to_owned()),
            ..self.status.clone().unwrap_or_default()
        }
    }
}

/// What a scan found of one package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Versions on offer.
    pub versions: u64,
    /// Versions whose files were read.
    pub read: u64,
}

/// How a scan ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Completed, or failed.
    pub phase: Phase,
    /// What was left out; empty if nothing was.
    pub message: String,
    /// By package.
    pub packages: BTreeMap<String, Counted>,
}

impl PackageRepositoryOperation {
    /// A scan of this repository, which owns it.
    #[must_use]
    pub fn of(repository: &PackageRepository, full: bool, now: &Time) -> Self {
        let name: String = repository.name_any().chars().take(NAME_MAX).collect();
        let spec = PackageRepositoryOperationSpec {
            package_repository: repository.name_any(),
            type_: UPDATE.to_owned(),
            update: Some(Update {
                full_scan: Some(full),
                timeout: None,
            }),
        };
        let mut object = Self::new(&format!("{name}-{}", now.0.as_second()), spec);
        object.metadata.owner_references = repository.owner_ref(&()).map(|owner| vec![owner]);
        object
    }

    /// True if every version is looked at again.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let update = self.spec.update.as_ref();
        update
            .and_then(|update| update.full_scan)
            .unwrap_or_default()
    }

    fn known(&self) -> Operation {
        let status = self.status.as_ref();
        let created = self.metadata.creation_timestamp.as_ref();
        Operation {
            name: self.name_any(),
            created: created.map_or(k8s_openapi::jiff::Timestamp::UNIX_EPOCH, |time| time.0),
            phase: Phase::parse(status.and_then(|status| status.phase.as_deref())),
        }
    }

    /// The status of one that begins; one that was cut off keeps its first start.
    #[must_use]
    pub fn begun(&self, now: &Time) -> PackageRepositoryOperationStatus {
        let present = self.status.clone().unwrap_or_default();
        PackageRepositoryOperationStatus {
            phase: Some(Phase::Processing.as_str().to_owned()),
            start_time: present.start_time.clone().or_else(|| Some(now.clone())),
            ..present
        }
    }

    /// The status of one that ended.
    #[must_use]
    pub fn ended(&self, ended: &Ended, now: &Time) -> PackageRepositoryOperationStatus {
        let present = self.status.clone().unwrap_or_default();
        let said = Said {
            type_: COMPLETED,
            is_true: ended.phase == Phase::Completed,
            reason: ended.phase.as_str(),
            message: &ended.message,
        };
        let packages = ended.packages.iter().map(|(name, counted)| {
            let entries = [
                ("name", json!(name)),
                ("versions", json!(counted.versions)),
                ("read", json!(counted.read)),
            ];
            entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<String, Value>>()
        });
        PackageRepositoryOperationStatus {
            phase: Some(ended.phase.as_str().to_owned()),
            completion_time: Some(now.clone()),
            packages: Some(packages.collect()),
            packages_to_process: None,
            conditions: merge(&present.conditions, &said, self.metadata.generation, now),
            ..present
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use domain::packages::repository::RepositoryStatus;
    use domain::packages::scan::{ScanStep, decide};
    use k8s_openapi::jiff::Timestamp;

    use super::super::repository::PackageRepositorySpec;
    use super::*;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn repository(interval: Option<&str>) -> PackageRepository {
        let spec = PackageRepositorySpec {
            scan_interval: interval.map(str::to_owned),
            ..PackageRepositorySpec::default()
        };
        let mut object = PackageRepository::new("main", spec);
        object.metadata.generation = Some(1);
        object.metadata.uid = Some("uid".to_owned());
        object
    }

    #[test]
    fn what_is_written_of_a_scan_rests_the_repository_until_its_interval_has_passed() {
        let mut object = repository(Some("1h"));
        let facts = object.scan_facts(&[], &at(100)).unwrap();
        assert_eq!(decide(&facts), ScanStep::Begin { full: true });
        let mut operation = PackageRepositoryOperation::of(&object, true, &at(100));
        assert!(operation.is_full());
        assert_eq!(operation.name_any(), "main-100");
        operation.status = Some(operation.begun(&at(101)));
        let known = std::slice::from_ref(&operation);
        let facts = object.scan_facts(known, &at(102)).unwrap();
        assert_eq!(decide(&facts), ScanStep::Run("main-100".to_owned()));
        let status = RepositoryStatus::of(BTreeMap::new(), Vec::new());
        object.status = Some(object.status_to_write(&status, 0, &at(110)));
        let ended = Ended {
            phase: Phase::Completed,
            message: String::new(),
            packages: BTreeMap::from([("shop".to_owned(), Counted::default())]),
        };
        operation.status = Some(operation.ended(&ended, &at(110)));
        let written = operation.status.as_ref().unwrap();
        assert_eq!(written.start_time, Some(at(101)));
        assert_eq!(written.packages.as_ref().unwrap().len(), 1);
        let known = std::slice::from_ref(&operation);
        let facts = object.scan_facts(known, &at(110)).unwrap();
        assert_eq!(decide(&facts), ScanStep::Rest(Duration::from_secs(3_600)));
        object.metadata.generation = Some(2);
        let facts = object.scan_facts(known, &at(111)).unwrap();
        assert_eq!(decide(&facts), ScanStep::Begin { full: true });
    }

    #[test]
    fn an_interval_of_nothing_is_the_default_and_a_text_that_is_none_is_told() {
        for interval in [None, Some(""), Some("0s")] {
            let facts = repository(interval).scan_facts(&[], &at(1)).unwrap();
            assert_eq!(facts.interval, scan::DEFAULT_INTERVAL, "{interval:?}");
        }
        let told = repository(Some("soon"))
            .scan_facts(&[], &at(1))
            .unwrap_err();
        assert!(
            told.to_string().starts_with("\"soon\" is no length"),
            "{told}"
        );
    }
}
