//! `Application` on the wire (settings contract, section 1.1).
//!
//! Doc comments on fields are the descriptions that `kubectl explain` shows. `settings` is free-form here: the webhook and the
//! reconciler judge it by the package's schema.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{by_type, free_form, free_form_list};
use crate::wire::null_as_default;

/// The finalizer that is kept until teardown is complete.
pub const FINALIZER: &str = "application.deckhouse.io/statistic-registered";
/// Annotation with the acknowledged destructive switches (S8).
pub const ALLOW_DESTRUCTIVE_SWITCH: &str =
    "applications.deckhouse.io/allow-destructive-settings-switch";

/// An instance of a package, configured by its team.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[kube(
    group = "deckhouse.io",
    version = "v1alpha1",
    kind = "Application",
    plural = "applications",
    singular = "application",
    shortname = "app",
    doc = "An instance of a package in this namespace, configured through settings that the package's schema describes.",
    namespaced,
    status = "ApplicationStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Package","type":"string","jsonPath":".spec.packageName"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".spec.packageVersion"}"#,
    printcolumn = r#"{"name":"Repository","type":"string","jsonPath":".spec.packageRepositoryName","priority":1}"#,
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.summary.state"}"#,
    printcolumn = r#"{"name":"Installed","type":"string","jsonPath":".status.conditions[?(@.type==\"Installed\")].status","priority":1}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status","priority":1}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.summary.message"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSpec {
    /// Name of the ApplicationPackage to install.
    pub package_name: String,
    /// Name of the PackageRepository that offers the package; empty means the default repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_repository_name: Option<String>,
    /// Version of the package, normally vMAJOR.MINOR.PATCH.
    pub package_version: String,
    /// Release channel, for information: versions are changed by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_channel: Option<String>,
    /// The package's settings, as its schema describes them. Left out settings get the schema's and the project's defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub settings: Option<Map<String, Value>>,
    /// NoResourceReconciliation stops applying manifests; hooks go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["NoResourceReconciliation"]))]
    pub maintenance: Option<String>,
    /// Replicas and resources per workload; without effect on settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form_list")]
    pub resource_requests: Option<Vec<Map<String, Value>>>,
}

/// What the controller last saw; written by the controller alone.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationStatus {
    /// The state in one word, with what to know and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The version that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_version: Option<CurrentVersion>,
    /// Effective settings of the most recent successful apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub last_applied_configuration: Option<Map<String, Value>>,
    /// Conditions; until Installed is True it is the only one.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = by_type)]
    pub conditions: Vec<Condition>,
    /// Endpoints of the application.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub urls: Vec<Endpoint>,
    /// Progress of the current apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub tracking: Option<Map<String, Value>>,
}

/// The state in one word, with what to know and what to do.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Pending, Failed, Updating, Ready, Degraded, Suspended or Deleting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// What to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<String>,
}

/// The version that is installed.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentVersion {
    /// The package's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The release channel that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// An endpoint of the application.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
