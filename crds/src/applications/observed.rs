//! What admission reads of packages and grants: the same kinds, with the fields that it needs and no other.
//!
//! A whole version has up to 1.3 MB; a watch that keeps less must not decode more.

use kube::Resource;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use domain::packages::names::VersionId;
use domain::settings::grants::Catalog;

use super::grants::{AvailableClusterResource, AvailableClusterResourceStatus};
use super::version::{ApplicationPackageVersion, ApplicationPackageVersionSpec, DRAFT_LABEL};

/// An `ApplicationPackageVersion` without its values schema and its descriptions.
#[derive(Clone, Debug, Deserialize, Serialize, Resource)]
#[resource(inherit = ApplicationPackageVersion)]
pub struct ObservedVersion {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// Which version it is.
    #[serde(default)]
    pub spec: ApplicationPackageVersionSpec,
    /// What was loaded of it.
    #[serde(default)]
    pub status: Option<ObservedStatus>,
}

/// What was loaded of a version.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedStatus {
    /// What package.yaml says, as far as it is judged.
    #[serde(default)]
    pub package_metadata: Option<ObservedMetadata>,
    /// The published schemas.
    #[serde(default)]
    pub package_schemas: Option<ObservedSchemas>,
}

/// What package.yaml says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct ObservedMetadata {
    /// What the package requires of its cluster.
    #[serde(default)]
    pub requirements: Value,
}

/// The published schemas.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedSchemas {
    /// Schema of an Application's settings.
    #[serde(default)]
    pub settings_schema: Option<ObservedSchema>,
}

/// One published schema.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct ObservedSchema {
    /// The schema.
    #[serde(default, rename = "openAPIV3Schema")]
    pub open_api_v3_schema: Option<Map<String, Value>>,
}

impl ObservedVersion {
    /// Which version it is, by its spec (S27); `None` for one that does not say, or whose name is not that of its spec.
    #[must_use]
    pub fn id(&self) -> Option<VersionId> {
        let spec = &self.spec;
        let id = VersionId {
            repository: spec.package_repository_name.clone()?,
            package: spec.package_name.clone()?,
            version: spec.package_version.clone()?,
        };
        (self.metadata.name.as_deref() == Some(id.object_name().as_str())).then_some(id)
    }

    /// True while its metadata has not been loaded.
    #[must_use]
    pub fn is_draft(&self) -> bool {
        let labels = self.metadata.labels.as_ref();
        labels.is_some_and(|labels| labels.get(DRAFT_LABEL).is_some_and(|value| value == "true"))
    }

    /// Its requirements and its settings schema, `null` where there is none.
    #[must_use]
    pub fn into_published(self) -> (Value, Value) {
        let status = self.status.unwrap_or_default();
        let requirements = status.package_metadata.unwrap_or_default().requirements;
        let schema = status
            .package_schemas
            .and_then(|schemas| schemas.settings_schema?.open_api_v3_schema);
        (requirements, schema.map_or(Value::Null, Value::Object))
    }
}

impl AvailableClusterResource {
    /// The catalogue.
    #[must_use]
    pub fn catalog(&self) -> Catalog {
        let nothing = AvailableClusterResourceStatus::default();
        let status = self.status.as_ref().unwrap_or(&nothing);
        Catalog {
            default: status.default.clone().unwrap_or_default(),
            available: status
                .available
                .iter()
                .map(|entry| entry.name.clone())
                .filter(|name| !name.is_empty())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn s27_a_version_whose_name_is_not_that_of_its_spec_is_none() {
        let named = |name: &str| -> ObservedVersion {
            serde_json::from_value(json!({
                "apiVersion": "deckhouse.io/v1alpha1", "kind": "ApplicationPackageVersion",
                "metadata": {"name": name, "labels": {DRAFT_LABEL: "true"}},
                "spec": {"packageName": "shop", "packageRepositoryName": "local", "packageVersion": "v1.0.0"},
                "status": {
                    "packageMetadata": {"requirements": {"kubernetes": {"constraint": ">=1.30"}}, "stage": "GA"},
                    "packageSchemas": {
                        "settingsSchema": {"openAPIV3Schema": {"type": "object"}, "descriptions": {"ru": {}}},
                        "valuesSchema": {"openAPIV3Schema": {"type": "object"}},
                    },
                },
            }))
            .unwrap()
        };
        let version = named("local-shop-v1.0.0");
        assert_eq!(version.id().unwrap().package, "shop");
        assert!(version.is_draft());
        let (requirements, schema) = version.into_published();
        assert_eq!(
            requirements,
            json!({"kubernetes": {"constraint": ">=1.30"}})
        );
        assert_eq!(schema, json!({"type": "object"}));
        assert_eq!(named("other").id(), None);
    }

    #[test]
    fn a_catalogue_is_read_as_the_domain_reads_a_status() {
        let status = json!({"default": "fast", "available": [{"name": "fast", "default": true}, {"name": ""}, {"name": "slow"}], "availableCount": 2});
        let object: AvailableClusterResource = serde_json::from_value(json!({
            "apiVersion": "multitenancy.deckhouse.io/v1alpha1", "kind": "AvailableClusterResource",
            "metadata": {"name": "storageclasses", "namespace": "team"}, "status": status,
        }))
        .unwrap();
        assert_eq!(object.catalog(), Catalog::from_status(&status));
    }
}
