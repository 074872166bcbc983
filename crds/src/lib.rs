//! Kubernetes kinds of Tenantry: how they look on the wire, what their schema refuses, and how they become domain values.
//!
//! Decides field names, defaults, bounds and the CEL form of the domain's rules. It never judges an object itself: that is
//! the `domain` crate, and lists and texts that both need are read from there.

pub mod applications;
pub mod condition;
pub mod tenancy;

mod rules;
mod schema;
mod unmet;
mod wire;

pub use schema::{all, application_kinds, multitenancy_kinds, tenancy_kinds};
pub use tenancy::instance::{
    AdminCredentialRef, InstanceEndpoint, PostgreSQLInstance, PostgreSQLInstanceSpec,
    PostgreSQLInstanceStatus,
};
pub use tenancy::tenant::{
    CredentialStatus, PostgreSQLTenant, PostgreSQLTenantSpec, PostgreSQLTenantStatus,
    SecretReference, TenantCredential,
};
pub use unmet::unmet;

/// API group of the tenancy kinds.
pub const GROUP: &str = "database.ddupan.top";
/// The one served and stored version of the tenancy kinds.
pub const VERSION: &str = "v1alpha1";
