//! `PostgreSQLInstance` on the wire (contract, section 3).
//!
//! Doc comments on fields are the descriptions that `kubectl explain` shows. Rules are in `src/rules`.

use domain::tenancy::endpoint::SslMode;
use domain::tenancy::instance::Checkpoint;
use domain::tenancy::names::{IDENTIFIER_MAX, SUBDOMAIN_MAX};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::CONDITIONS_MAX;
use crate::wire::{null_as_default, shared_default};

/// The longest text form of an IP address.
pub(crate) const ADDRESS_MAX: usize = 45;
/// The longest version text that is kept.
const VERSION_TEXT_MAX: usize = 256;

shared_default!(port: i64 = 5432);
shared_default!(management_database: String = "postgres".to_owned());
shared_default!(ssl_mode: String = domain::tenancy::endpoint::SslMode::VerifyFull.as_str().to_owned());
shared_default!(username_key: String = "username".to_owned());
shared_default!(password_key: String = "password".to_owned());

/// A PostgreSQL server that tenants may be provisioned on.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, PartialEq, JsonSchema)]
#[kube(
    group = "database.ddupan.top",
    version = "v1alpha1",
    kind = "PostgreSQLInstance",
    plural = "postgresqlinstances",
    singular = "postgresqlinstance",
    shortname = "pginstance",
    doc = "A PostgreSQL server, registered once by an administrator, that tenants may be provisioned on.",
    status = "PostgreSQLInstanceStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Endpoint","type":"string","jsonPath":".spec.endpoint.host"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct PostgreSQLInstanceSpec {
    /// Where the server is and how its identity is checked.
    pub endpoint: InstanceEndpoint,
    /// The Secret with the administrator's login, in the controller's own namespace.
    pub admin_credential_ref: AdminCredentialRef,
}

/// Where the server is and how its identity is checked.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceEndpoint {
    /// DNS name of the server, in lower case. It is not resolved: under verify-full the server's certificate must cover it.
    #[schemars(length(max = SUBDOMAIN_MAX))]
    pub host: String,
    /// IPv4 or IPv6 address that is dialled. Under verify-full the server's certificate must cover it as an IP SAN.
    /// Link-local, multicast and unspecified addresses are refused.
    #[schemars(length(max = ADDRESS_MAX))]
    pub hostaddr: String,
    /// TCP port.
    #[serde(default = "port::value", deserialize_with = "port::deserialize")]
    #[schemars(range(min = 1, max = 65535), extend("format" = "int32"))]
    pub port: i64,
    /// Management database: it holds the registry of tenants and is no tenant's database.
    #[serde(
        default = "management_database::value",
        deserialize_with = "management_database::deserialize"
    )]
    #[schemars(length(max = IDENTIFIER_MAX))]
    pub database: String,
    /// TLS mode, never silently downgraded. verify-full checks the certificate's chain and both names, verify-ca its chain
    /// only, require encrypts without any check, disable does not encrypt.
    #[serde(
        default = "ssl_mode::value",
        deserialize_with = "ssl_mode::deserialize"
    )]
    #[schemars(extend("enum" = SslMode::ALL.iter().map(|mode| mode.as_str()).collect::<Vec<_>>()))]
    pub ssl_mode: String,
}

/// The Secret with the administrator's login, in the controller's own namespace.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdminCredentialRef {
    /// Name of the Secret in the controller's own namespace.
    #[schemars(length(max = SUBDOMAIN_MAX))]
    pub name: String,
    /// Key of the user name in the Secret's data.
    #[serde(
        default = "username_key::value",
        deserialize_with = "username_key::deserialize"
    )]
    #[schemars(length(max = SUBDOMAIN_MAX))]
    pub username_key: String,
    /// Key of the password in the Secret's data.
    #[serde(
        default = "password_key::value",
        deserialize_with = "password_key::deserialize"
    )]
    #[schemars(length(max = SUBDOMAIN_MAX))]
    pub password_key: String,
}

/// What the controller last saw; written by the controller alone.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostgreSQLInstanceStatus {
    /// Generation of the spec that the last concluded round judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The controller's checkpoint. Automation reads the Ready condition instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = Checkpoint::ALL.iter().map(|phase| phase.as_str()).collect::<Vec<_>>()))]
    pub phase: Option<String>,
    /// Version that the server reported, for display.
    #[serde(rename = "postgresqlVersion", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VERSION_TEXT_MAX))]
    pub postgresql_version: Option<String>,
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
