//! `PackageRepositoryOperation` on the wire (settings contract, section 1.4): one scan that was asked for.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{by_type, free_form_list};
use crate::wire::null_as_default;

/// A scan of a repository.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[kube(
    group = "deckhouse.io",
    version = "v1alpha1",
    kind = "PackageRepositoryOperation",
    plural = "packagerepositoryoperations",
    singular = "packagerepositoryoperation",
    shortname = "pro",
    doc = "One scan of a repository.",
    status = "PackageRepositoryOperationStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Repository","type":"string","jsonPath":".spec.packageRepository"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct PackageRepositoryOperationSpec {
    /// Name of the PackageRepository.
    pub package_repository: String,
    /// What to do: Update.
    #[serde(rename = "type")]
    pub type_: String,
    /// How to scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
}

/// How to scan.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// Look at every tag, not at new ones alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_scan: Option<bool>,
    /// How long the scan may take, such as 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

/// How far the scan is.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageRepositoryOperationStatus {
    /// The scan's phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// What was found of each package.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form_list")]
    pub packages: Option<Vec<Map<String, Value>>>,
    /// Packages that are still to be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form_list")]
    pub packages_to_process: Option<Vec<Map<String, Value>>>,
    /// Conditions.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = by_type)]
    pub conditions: Vec<Condition>,
}
