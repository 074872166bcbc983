//! `ApplicationPackageVersion` on the wire (settings contract, section 1.3): one version with its published schemas.
//!
//! Schemas are free-form here: the domain publishes and reads them. An object is matched by its spec, never by its name (S27).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{by_type, free_form};
use crate::wire::null_as_default;

/// Kept while an Application uses the version.
pub const FINALIZER: &str = "applicationpackageversion.deckhouse.io/used-by-application";
/// Label with the package's name.
pub const PACKAGE_LABEL: &str = "packages.deckhouse.io/package";
/// Label with the repository's name.
pub const REPOSITORY_LABEL: &str = "packages.deckhouse.io/repository";
/// Label that says whether the registry still has the version.
pub const EXISTS_LABEL: &str = "packages.deckhouse.io/exist-in-registry";
/// Label whose value "true" marks a version whose metadata has not been loaded: it cannot be installed.
pub const DRAFT_LABEL: &str = "packages.deckhouse.io/draft";

/// One version of a package in one repository.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[kube(
    group = "deckhouse.io",
    version = "v1alpha1",
    kind = "ApplicationPackageVersion",
    plural = "applicationpackageversions",
    singular = "applicationpackageversion",
    shortname = "apv",
    doc = "One version of a package in one repository, with its metadata and its published schemas.",
    status = "ApplicationPackageVersionStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Package","type":"string","jsonPath":".spec.packageName"}"#,
    printcolumn = r#"{"name":"Repository","type":"string","jsonPath":".spec.packageRepositoryName"}"#,
    printcolumn = r#"{"name":"TransitionTime","type":"date","jsonPath":".status.conditions[?(@.type==\"MetadataLoaded\")].lastTransitionTime","priority":1}"#,
    printcolumn = r#"{"name":"MetadataLoaded","type":"string","jsonPath":".status.conditions[?(@.type==\"MetadataLoaded\")].status"}"#,
    printcolumn = r#"{"name":"UsedBy","type":"integer","jsonPath":".status.usedByCount"}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.conditions[?(@.type==\"MetadataLoaded\")].message","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationPackageVersionSpec {
    /// Name of the package. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_name: Option<String>,
    /// Name of the repository that offers the version. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_repository_name: Option<String>,
    /// The version. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_version: Option<String>,
}

/// What was loaded of the version, and who uses it.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationPackageVersionStatus {
    /// What package.yaml and changelog.yaml say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub package_metadata: Option<Map<String, Value>>,
    /// The published schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_schemas: Option<PackageSchemas>,
    /// The Applications that use this version.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub used_by: Vec<UsedBy>,
    /// How many Applications use this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_by_count: Option<i64>,
    /// Conditions; `MetadataLoaded` says whether the version can be installed.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = by_type)]
    pub conditions: Vec<Condition>,
}

/// The published schemas.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageSchemas {
    /// Schema of an Application's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_schema: Option<PublishedSchema>,
    /// Schema of the values that templates and hooks see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_schema: Option<PublishedSchema>,
}

/// One published schema.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedSchema {
    /// The schema.
    #[serde(rename = "openAPIV3Schema", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub open_api_v3_schema: Option<Map<String, Value>>,
    /// Descriptions by language, each by JSON pointer into the schema.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub descriptions: BTreeMap<String, BTreeMap<String, String>>,
}

/// An Application that uses the version.
#[derive(
    Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct UsedBy {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}
