//! The multitenancy kinds (settings contract, section 1.5). They belong to another system; only AvailableClusterResource is read.
//!
//! Decides shapes alone. What a catalogue grants is the domain's (section 7).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{free_form, free_form_list, list_map, without_spec};
use crate::wire::null_as_default;

/// Source of the CRD.
pub(crate) mod definition {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::AvailableClusterResourceStatus;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "multitenancy.deckhouse.io",
        version = "v1alpha1",
        kind = "AvailableClusterResource",
        plural = "availableclusterresources",
        singular = "availableclusterresource",
        shortname = "available",
        doc = "What a project may use of a kind of cluster-wide resources; named like the definition.",
        namespaced,
        status = "AvailableClusterResourceStatus",
        printcolumn = r#"{"name":"Default","type":"string","jsonPath":".status.default"}"#,
        printcolumn = r#"{"name":"Available","type":"integer","jsonPath":".status.availableCount"}"#,
        printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
    )]
    pub struct None {}
}

without_spec! {
    /// What a project may use of a kind of cluster-wide resources; named like the definition.
    AvailableClusterResource of definition::AvailableClusterResource, status AvailableClusterResourceStatus
}

/// The catalogue of a project.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AvailableClusterResourceStatus {
    /// The project's default; empty means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// What may be used.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(transform = by_name)]
    pub available: Vec<AvailableName>,
    /// How many may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_count: Option<i64>,
    /// The kind of the resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub granted_resource_kind: Option<Value>,
    /// Generation that was last looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Something that may be used.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
pub struct AvailableName {
    /// Its name.
    pub name: String,
    /// Whether it is the default; informational, the field beside the list counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}

fn by_name(schema: &mut schemars::Schema) {
    list_map(schema, "name");
}

/// What may be granted.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[kube(
    group = "multitenancy.deckhouse.io",
    version = "v1alpha1",
    kind = "GrantableClusterResourceDefinition",
    plural = "grantableclusterresourcedefinitions",
    singular = "grantableclusterresourcedefinition",
    shortname = "gcrd",
    doc = "A kind of cluster-wide resources that projects may be granted."
)]
#[serde(rename_all = "camelCase")]
pub struct GrantableClusterResourceDefinitionSpec {
    /// The kind; absent means plain values without a Kubernetes object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_resource: Option<GrantedResource>,
    /// What a project may use without a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["All", "None"], "default" = "All"))]
    pub default_availability: Option<String>,
    /// Where the default comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_from: Option<DefaultFrom>,
    /// Who enforces the grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Managed", "External"], "default" = "Managed"))]
    pub enforcement: Option<String>,
    /// What is never offered: filters by names, matchLabels, matchExpressions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form_list")]
    pub excluded: Option<Vec<Map<String, Value>>>,
}

/// A kind of Kubernetes objects.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantedResource {
    /// API group.
    #[serde(default)]
    pub api_group: String,
    /// Kind.
    pub kind: String,
}

/// Where the default comes from.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefaultFrom {
    /// Key of the annotation that marks the default object; two objects with it mean no default.
    pub annotation_key: String,
}

/// Who may use what.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[kube(
    group = "multitenancy.deckhouse.io",
    version = "v1alpha1",
    kind = "ClusterResourceGrantPolicy",
    plural = "clusterresourcegrantpolicies",
    singular = "clusterresourcegrantpolicy",
    shortname = "crgp",
    doc = "Grants of cluster-wide resources to projects; deny beats allow."
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterResourceGrantPolicySpec {
    /// Which projects: absent means none, empty means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub project_selector: Option<Map<String, Value>>,
    /// What is granted.
    pub resources: Vec<Grant>,
}

/// What is granted of one definition.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Name of the GrantableClusterResourceDefinition.
    pub resource_name: String,
    /// Names that may be used; turns everything else off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// Label selector of what may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub allowed_selector: Option<Map<String, Value>>,
    /// Names that may not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<Vec<String>>,
    /// Label selector of what may not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_form")]
    pub denied_selector: Option<Map<String, Value>>,
    /// The project's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Availability for these projects, in place of the definition's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_default: Option<String>,
}
