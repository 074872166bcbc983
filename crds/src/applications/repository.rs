//! `PackageRepository` on the wire (settings contract, section 1.4): where packages come from.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::by_type;
use crate::wire::null_as_default;

/// How often a repository is scanned if its spec does not say.
pub const DEFAULT_SCAN_INTERVAL: &str = "6h";

/// A registry that offers packages.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[kube(
    group = "deckhouse.io",
    version = "v1alpha1",
    kind = "PackageRepository",
    plural = "packagerepositories",
    singular = "packagerepository",
    doc = "A registry that offers packages; it is scanned on an interval.",
    status = "PackageRepositoryStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Scan","type":"date","jsonPath":".status.lastScanTime"}"#,
    printcolumn = r#"{"name":"Repository","type":"string","jsonPath":".spec.registry.repo"}"#,
    printcolumn = r#"{"name":"Packages","type":"integer","jsonPath":".status.packagesCount"}"#,
    printcolumn = r#"{"name":"MSG","type":"string","jsonPath":".status.message"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct PackageRepositorySpec {
    /// The registry and how it is reached.
    pub registry: Registry,
    /// Time between scans, such as 6h or 1h30m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^(\d+h)?(\d+m)?(\d+s)?$"), extend("default" = DEFAULT_SCAN_INTERVAL))]
    pub scan_interval: Option<String>,
}

/// The registry and how it is reached.
#[derive(Clone, Deserialize, Serialize, PartialEq, Default, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Registry {
    /// Repository path, such as registry.example.org/packages.
    pub repo: String,
    /// HTTPS (default) or HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// Docker configuration with credentials, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker_cfg: Option<String>,
    /// Certificate of the authority that signed the registry's certificate, PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// User name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Credentials are left out.
        let mut shown = formatter.debug_struct("Registry");
        shown
            .field("repo", &self.repo)
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

/// What the last scan found.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageRepositoryStatus {
    /// Active or Terminating.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Active", "Terminating"]))]
    pub phase: Option<String>,
    /// When the last scan ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scan_time: Option<Time>,
    /// When a scan last found something new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change_time: Option<Time>,
    /// How many versions the last scan found that were unknown before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_new_versions: Option<i64>,
    /// The packages on offer.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub packages: Vec<OfferedPackage>,
    /// How many packages are on offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packages_count: Option<i64>,
    /// What to know about the last scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether a scan may look for new tags alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_scan_available: Option<bool>,
    /// Conditions; `LastScanSucceeded` is the controller's.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = by_type)]
    pub conditions: Vec<Condition>,
}

/// A package on offer.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfferedPackage {
    /// Its name.
    pub name: String,
    /// Application or Module.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}
