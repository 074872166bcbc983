//! `ApplicationPackage` on the wire (settings contract, section 1.2): a package that some repository offers.
//!
//! It has no spec: existence is all that admission asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{free_form, without_spec};
use crate::wire::null_as_default;

/// Source of the CRD.
pub(crate) mod definition {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::ApplicationPackageStatus;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "deckhouse.io",
        version = "v1alpha1",
        kind = "ApplicationPackage",
        plural = "applicationpackages",
        singular = "applicationpackage",
        shortname = "ap",
        doc = "A package that one or more repositories offer.",
        status = "ApplicationPackageStatus",
        printcolumn = r#"{"name":"Repositories","type":"string","jsonPath":".status.availableRepositories"}"#,
        printcolumn = r#"{"name":"Installed","type":"integer","jsonPath":".status.installedOverall"}"#,
        printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
    )]
    pub struct None {}
}

without_spec! {
    /// A package that one or more repositories offer.
    ApplicationPackage of definition::ApplicationPackage, status ApplicationPackageStatus
}

/// Who offers the package and where it runs.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationPackageStatus {
    /// Names of the repositories that offer the package.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub available_repositories: Vec<String>,
    /// Instances per namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub installed: Option<Map<String, Value>>,
    /// Instances in all namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_overall: Option<i64>,
    /// Recommended version of each release channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub release_channels: Option<Map<String, Value>>,
}
