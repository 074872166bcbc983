//! Applications and their packages on the wire (settings contract, section 1), and the multitenancy kinds that are read.
//!
//! Decides field names and shapes alone: they are those of the Deckhouse Platform, so that its packages and manifests work
//! here. What settings mean is judged by the domain, never by these schemas.

pub mod application;
mod conditions;
pub mod convert;
pub mod convert_application;
pub mod convert_scan;
pub mod grants;
pub mod observed;
pub mod operation;
pub mod package;
pub mod repository;
pub mod version;

use schemars::{Schema, SchemaGenerator, json_schema};

/// API group of the packages' kinds.
pub const GROUP: &str = "deckhouse.io";
/// API group of the multitenancy kinds.
pub const MULTITENANCY_GROUP: &str = "multitenancy.deckhouse.io";
/// The one served and stored version of both groups.
pub const VERSION: &str = "v1alpha1";

/// An object whose keys are unknown to the API server, which keeps them.
pub(crate) fn free_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// The same, written as a whole: the API server notes who wrote it once, and not for each of its keys.
pub(crate) fn one_value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-map-type": "atomic"
    })
}

/// A list of objects whose keys are unknown to the API server, which keeps them.
pub(crate) fn free_form_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
    })
}

/// Attributes of a list that has at most one entry per value of `key`.
pub(crate) fn list_map(schema: &mut Schema, key: &str) {
    schema.insert("x-kubernetes-list-type".to_owned(), "map".into());
    schema.insert(
        "x-kubernetes-list-map-keys".to_owned(),
        vec![key.to_owned()].into(),
    );
}

/// The list-map of standard conditions.
pub(crate) fn by_type(schema: &mut Schema) {
    list_map(schema, "type");
}

/// A wire type without a spec. The derive of kube insists on one, so the CRD comes from a definition and the type that is read
/// and written is this one.
macro_rules! without_spec {
    ($(#[$meta:meta])* $name:ident of $definition:path, status $status:ty) => {
        $(#[$meta])*
        #[derive(Clone, Debug, serde::Deserialize, serde::Serialize, kube::Resource)]
        #[resource(inherit = $definition)]
        pub struct $name {
            /// `apiVersion` and `kind`.
            #[serde(flatten, default)]
            pub types: Option<kube::core::TypeMeta>,
            /// Standard metadata.
            pub metadata: kube::core::ObjectMeta,
            /// What was seen.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub status: Option<$status>,
        }
    };
}
pub(crate) use without_spec;
