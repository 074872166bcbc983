//! `PostgreSQLTenant` on the wire (contract, section 4).
//!
//! Doc comments on fields are the descriptions that `kubectl explain` shows. Rules are in `src/rules`.

use domain::tenancy::names::{EXTENSIONS_MAX, IDENTIFIER_MAX, REFERENCE_SUM_MAX, SUBDOMAIN_MAX};
use domain::tenancy::tenant::{DeletionPolicy, TenantPhase};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::CONDITIONS_MAX;
use crate::wire::{null_as_default, shared_default};

/// The longest `openBaoURL` that is kept.
const URL_MAX: usize = 2048;

shared_default!(deletion_policy: String = domain::tenancy::tenant::DeletionPolicy::default().as_str().to_owned());

/// A database with its login role, extensions and password on a registered server.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, PartialEq, JsonSchema)]
#[kube(
    group = "database.ddupan.top",
    version = "v1alpha1",
    kind = "PostgreSQLTenant",
    plural = "postgresqltenants",
    singular = "postgresqltenant",
    shortname = "pgtenant",
    namespaced,
    doc = "A database with its login role, extensions and password on a registered PostgreSQL server; the password arrives as a Secret in this namespace.",
    status = "PostgreSQLTenantStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Instance","type":"string","jsonPath":".spec.instanceRef"}"#,
    printcolumn = r#"{"name":"Database","type":"string","jsonPath":".status.database"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Secret","type":"string","jsonPath":".status.credential.secretRef.name"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct PostgreSQLTenantSpec {
    /// Name of the PostgreSQLInstance. Immutable once created.
    #[schemars(length(max = REFERENCE_SUM_MAX - 1))]
    pub instance_ref: String,
    /// Name of the database; by default metadata.name. Immutable once created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IDENTIFIER_MAX))]
    pub database: Option<String>,
    /// Name of the role that owns the database and logs in; by default metadata.name. Immutable once created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IDENTIFIER_MAX))]
    pub login_role: Option<String>,
    /// Extensions, each of which must be installable on the server. Once created, names may be added but not removed.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        length(max = EXTENSIONS_MAX),
        inner(length(max = IDENTIFIER_MAX)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub extensions: Vec<String>,
    /// How the password is delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<TenantCredential>,
    /// What becomes of database, role and password when this object is deleted: Retain keeps them, Delete destroys them.
    #[serde(
        default = "deletion_policy::value",
        deserialize_with = "deletion_policy::deserialize"
    )]
    #[schemars(extend("enum" = [DeletionPolicy::Retain.as_str(), DeletionPolicy::Delete.as_str()]))]
    pub deletion_policy: String,
}

/// How the password is delivered.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantCredential {
    /// Name of the Secret in this namespace; by default `<instanceRef>-<name>-postgresql`. Immutable once created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = SUBDOMAIN_MAX))]
    pub secret_name: Option<String>,
}

/// What the controller last saw; written by the controller alone.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostgreSQLTenantStatus {
    /// Generation of the spec that the last concluded round judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The controller's checkpoint. Automation reads the Ready condition instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = TenantPhase::ALL.iter().map(|phase| phase.as_str()).collect::<Vec<_>>()))]
    pub phase: Option<String>,
    /// The database in effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IDENTIFIER_MAX))]
    pub database: Option<String>,
    /// The login role in effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IDENTIFIER_MAX))]
    pub login_role: Option<String>,
    /// OID of the database as the server reported it, for diagnostics.
    #[serde(rename = "databaseOID", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = u32::MAX))]
    pub database_oid: Option<i64>,
    /// Where the password is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialStatus>,
    /// Conditions; `Ready` is the controller's.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(
        length(max = CONDITIONS_MAX),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,
}

/// Where the password is.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialStatus {
    /// The Secret in this namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// The OpenBao entry, as consumers reach it; without any credential.
    #[serde(rename = "openBaoURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = URL_MAX))]
    pub openbao_url: Option<String>,
}

/// The Secret in this namespace.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretReference {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = SUBDOMAIN_MAX))]
    pub name: Option<String>,
}
