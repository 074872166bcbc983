//! The packages' kinds ↔ domain. Borrows what it can, and invents nothing: what the wire does not hold is absent.

use std::collections::BTreeMap;

use domain::packages::names::VersionId;
use domain::packages::offer::PackageRecord;
use domain::packages::publication::{LoadReason, Publication};
use domain::packages::repository::{RepositoryStatus, SUCCEEDED};
use domain::packages::version::{Found, Labels, Loaded, VersionRecord, VersionStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};

use super::conditions::{Said, find, merge};
use super::package::ApplicationPackage;
use super::repository::{OfferedPackage, PackageRepository, PackageRepositoryStatus};
use super::version::{
    ApplicationPackageVersion, ApplicationPackageVersionSpec, ApplicationPackageVersionStatus,
    DRAFT_LABEL, EXISTS_LABEL, PACKAGE_LABEL, PackageSchemas, PublishedSchema, REPOSITORY_LABEL,
};

/// The condition that says whether a version is published.
pub const METADATA_LOADED: &str = "MetadataLoaded";
/// The condition that says whether a repository was read without leaving anything out.
pub const LAST_SCAN_SUCCEEDED: &str = "LastScanSucceeded";

impl ApplicationPackageVersion {
    /// A new object of this version, which goes with its repository unless it is used.
    #[must_use]
    pub fn named(id: &VersionId, labels: &Labels, owner: OwnerReference) -> Self {
        let spec = ApplicationPackageVersionSpec {
            package_name: Some(id.package.clone()),
            package_repository_name: Some(id.repository.clone()),
            package_version: Some(id.version.clone()),
        };
        let mut object = Self::new(&id.object_name(), spec);
        object.metadata.owner_references = Some(vec![owner]);
        object.metadata.labels = Some(
            on_wire(labels)
                .into_iter()
                .filter_map(|(label, value)| Some((label.to_owned(), value?)))
                .collect(),
        );
        object
    }

    /// Which version it is, by its spec (S27); `None` for one that does not say.
    #[must_use]
    pub fn id(&self) -> Option<VersionId> {
        let spec = &self.spec;
        Some(VersionId {
            repository: spec.package_repository_name.clone()?,
            package: spec.package_name.clone()?,
            version: spec.package_version.clone()?,
        })
    }

    /// What is recorded, if it is of this version.
    #[must_use]
    pub fn found(object: Option<&Self>, id: &VersionId) -> Found {
        match object {
            None => Found::Absent,
            Some(object) if object.id().as_ref() != Some(id) => Found::Another,
            Some(object) if object.metadata.deletion_timestamp.is_some() => Found::Deleting,
            Some(object) => Found::Recorded(Box::new(object.record())),
        }
    }

    fn record(&self) -> VersionRecord {
        let label = |name: &str| self.labels().get(name).cloned();
        let status = self.status.as_ref();
        let conditions = status.map_or(&[][..], |status| &status.conditions);
        VersionRecord {
            labels: Labels {
                package: label(PACKAGE_LABEL),
                repository: label(REPOSITORY_LABEL),
                exists: label(EXISTS_LABEL),
                draft: label(DRAFT_LABEL),
            },
            loaded: find(conditions, METADATA_LOADED).and_then(|(condition, is_true)| {
                let reason = LoadReason::parse(&condition.reason)?;
                let loaded = Loaded {
                    reason,
                    message: condition.message.clone(),
                };
                (loaded.is_true() == is_true).then_some(loaded)
            }),
            publication: status.and_then(publication),
        }
    }

    /// The status to write: conditions and fields of others as they were.
    #[must_use]
    pub fn status_to_write(
        &self,
        status: &VersionStatus,
        now: &Time,
    ) -> ApplicationPackageVersionStatus {
        let mut next = self.status.clone().unwrap_or_default();
        let said = Said {
            type_: METADATA_LOADED,
            is_true: status.loaded.is_true(),
            reason: status.loaded.reason.as_str(),
            message: &status.loaded.message,
        };
        next.conditions = merge(&next.conditions, &said, self.metadata.generation, now);
        if let Some(publication) = &status.publication {
            next.package_metadata = Some(publication.metadata.clone());
            next.package_schemas = schemas(publication);
        }
        next
    }
}

/// The labels as a patch sets them: one that is `None` is removed.
#[must_use]
pub fn on_wire(labels: &Labels) -> BTreeMap<&'static str, Option<String>> {
    BTreeMap::from([
        (PACKAGE_LABEL, labels.package.clone()),
        (REPOSITORY_LABEL, labels.repository.clone()),
        (EXISTS_LABEL, labels.exists.clone()),
        (DRAFT_LABEL, labels.draft.clone()),
    ])
}

/// Metadata are written with every publication, also empty ones: without them nothing was published yet.
fn publication(status: &ApplicationPackageVersionStatus) -> Option<Publication> {
    let metadata = status.package_metadata.clone()?;
    let schemas = status.package_schemas.clone().unwrap_or_default();
    let settings = schemas.settings_schema.unwrap_or_default();
    Some(Publication {
        metadata,
        settings: settings.open_api_v3_schema,
        descriptions: settings.descriptions,
        values: schemas
            .values_schema
            .and_then(|published| published.open_api_v3_schema),
    })
}

fn schemas(publication: &Publication) -> Option<PackageSchemas> {
    let schemas = PackageSchemas {
        settings_schema: publication.settings.clone().map(|schema| PublishedSchema {
            open_api_v3_schema: Some(schema),
            descriptions: publication.descriptions.clone(),
        }),
        values_schema: publication.values.clone().map(|schema| PublishedSchema {
            open_api_v3_schema: Some(schema),
            ..PublishedSchema::default()
        }),
    };
    (schemas != PackageSchemas::default()).then_some(schemas)
}

impl ApplicationPackage {
    /// A new object that this repository owns.
    #[must_use]
    pub fn named(name: &str, owner: OwnerReference) -> Self {
        Self {
            types: Some(kube::core::TypeMeta::resource::<Self>()),
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                owner_references: Some(vec![owner]),
                ..ObjectMeta::default()
            },
            status: None,
        }
    }

    /// What is recorded, seen by the repository of this UID.
    #[must_use]
    pub fn record(&self, repository_uid: &str) -> PackageRecord {
        let owners = self.metadata.owner_references.iter().flatten();
        PackageRecord {
            owned: owners.into_iter().any(|owner| owner.uid == repository_uid),
            repositories: self
                .status
                .as_ref()
                .map(|status| status.available_repositories.clone())
                .unwrap_or_default(),
        }
    }
}

impl PackageRepository {
    /// The reference by which it owns what it offers; it is no controller of it.
    #[must_use]
    pub fn as_owner(&self) -> Option<OwnerReference> {
        self.owner_ref(&())
    }

    /// What its status says; `None` if it says nothing.
    #[must_use]
    pub fn recorded(&self) -> Option<RepositoryStatus> {
        let status = self.status.as_ref()?;
        let (condition, is_true) = find(&status.conditions, LAST_SCAN_SUCCEEDED)?;
        if is_true != (condition.reason == SUCCEEDED) {
            return None;
        }
        let packages = status.packages.iter();
        Some(RepositoryStatus {
            packages: packages
                .map(|package| (package.name.clone(), package.type_.clone()))
                .collect(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        })
    }

    /// The status to write after a scan that found so many new versions.
    #[must_use]
    pub fn status_to_write(
        &self,
        status: &RepositoryStatus,
        new_versions: i64,
        now: &Time,
    ) -> PackageRepositoryStatus {
        let present = self.status.clone().unwrap_or_default();
        let said = Said {
            type_: LAST_SCAN_SUCCEEDED,
            is_true: status.succeeded(),
            reason: &status.reason,
            message: &status.message,
        };
        let packages: Vec<OfferedPackage> = status
            .packages
            .iter()
            .map(|(name, type_)| OfferedPackage {
                name: name.clone(),
                type_: type_.clone(),
            })
            .collect();
        PackageRepositoryStatus {
            phase: Some("Active".to_owned()),
            last_scan_time: Some(now.clone()),
            last_change_time: if new_versions > 0 {
                Some(now.clone())
            } else {
                present.last_change_time.clone()
            },
            last_new_versions: Some(new_versions),
            packages_count: i64::try_from(packages.len()).ok(),
            packages,
            message: Some(status.message.clone()).filter(|text| !text.is_empty()),
            conditions: merge(&present.conditions, &said, self.metadata.generation, now),
            ..present
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use domain::packages::version::Source;
    use domain::packages::version::{VersionStep, decide};
    use k8s_openapi::jiff::Timestamp;
    use serde_json::{Map, json};

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn id() -> VersionId {
        VersionId {
            repository: "local".to_owned(),
            package: "shop".to_owned(),
            version: "v1.0.0".to_owned(),
        }
    }

    fn owner() -> OwnerReference {
        OwnerReference::default()
    }

    fn published() -> Publication {
        let texts = BTreeMap::from([("/properties/a".to_owned(), "А".to_owned())]);
        Publication {
            metadata: Map::new(),
            settings: json!({"type": "object"}).as_object().cloned(),
            descriptions: BTreeMap::from([("ru".to_owned(), texts)]),
            values: Some(Map::new()),
        }
    }

    /// Through the wire and back, as an API server would keep it.
    fn stored(object: &ApplicationPackageVersion) -> ApplicationPackageVersion {
        serde_json::from_value(serde_json::to_value(object).unwrap()).unwrap()
    }

    #[test]
    fn what_is_written_of_a_version_is_read_back_and_nothing_is_left_to_do() {
        let publication = published();
        let source = Source::Offered(Ok(&publication));
        let step = decide(&id(), &Found::Absent, source);
        let VersionStep::Create(labels) = step else {
            unreachable!("{step:?}")
        };
        let mut object = stored(&ApplicationPackageVersion::named(&id(), &labels, owner()));
        assert_eq!(object.name_any(), "local-shop-v1.0.0");
        assert_eq!(
            object.labels().get(DRAFT_LABEL).map(String::as_str),
            Some("true")
        );
        let found = ApplicationPackageVersion::found(Some(&object), &id());
        let step = decide(&id(), &found, source);
        let VersionStep::Save(status) = step else {
            unreachable!("{step:?}")
        };
        object.status = Some(object.status_to_write(&status, &at(1)));
        object = stored(&object);
        let found = ApplicationPackageVersion::found(Some(&object), &id());
        let step = decide(&id(), &found, source);
        let VersionStep::Label(labels) = step else {
            unreachable!("{step:?}")
        };
        object.metadata.labels = ApplicationPackageVersion::named(&id(), &labels, owner())
            .metadata
            .labels;
        let found = ApplicationPackageVersion::found(Some(&object), &id());
        assert_eq!(decide(&id(), &found, source), VersionStep::Done);
    }

    #[test]
    fn s27_an_object_of_other_spec_fields_or_none_is_another() {
        let labels = Labels::default();
        let object = ApplicationPackageVersion::named(&id(), &labels, owner());
        let mut other = id();
        other.version = "v2.0.0".to_owned();
        assert_eq!(
            ApplicationPackageVersion::found(Some(&object), &other),
            Found::Another
        );
        let bare = ApplicationPackageVersion::new(
            "local-shop-v1.0.0",
            ApplicationPackageVersionSpec::default(),
        );
        assert_eq!(
            ApplicationPackageVersion::found(Some(&bare), &id()),
            Found::Another
        );
    }

    #[test]
    fn a_forged_condition_counts_as_absent_and_conditions_of_others_stay() {
        let mut object = ApplicationPackageVersion::named(&id(), &Labels::default(), owner());
        let status = VersionStatus {
            loaded: Loaded {
                reason: LoadReason::InvalidSchema,
                message: "no".to_owned(),
            },
            publication: None,
        };
        let mut written = object.status_to_write(&status, &at(1));
        written
            .conditions
            .push(k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition {
                last_transition_time: at(1),
                message: String::new(),
                observed_generation: None,
                reason: "X".to_owned(),
                status: "True".to_owned(),
                type_: "Other".to_owned(),
            });
        object.status = Some(written);
        let again = object.status_to_write(&status, &at(9));
        assert_eq!(again.conditions.len(), 2);
        assert_eq!(
            again.conditions.first().unwrap().last_transition_time,
            at(1)
        );
        let first = object
            .status
            .as_mut()
            .unwrap()
            .conditions
            .first_mut()
            .unwrap();
        first.status = "True".to_owned();
        assert_eq!(object.record().loaded, None);
    }

    #[test]
    fn what_is_written_of_a_repository_is_read_back() {
        let spec = super::super::repository::PackageRepositorySpec::default();
        let mut object = PackageRepository::new("local", spec);
        assert_eq!(object.recorded(), None);
        let packages = BTreeMap::from([("shop".to_owned(), Some("Application".to_owned()))]);
        let status = RepositoryStatus::of(packages, Vec::new());
        object.status = Some(object.status_to_write(&status, 2, &at(5)));
        assert_eq!(object.recorded(), Some(status.clone()));
        let again = object.status_to_write(&status, 0, &at(9));
        assert_eq!(again.last_change_time, Some(at(5)));
        assert_eq!(again.last_scan_time, Some(at(9)));
    }
}
