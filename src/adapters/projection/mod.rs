//! Delivery of a password by External Secrets Operator: one ExternalSecret a Tenant (D5–D8).
//!
//! Says how the object looks, compares it with the living one, and turns Kubernetes answers into facts or failures. It never
//! reads a Secret's content, never writes a Secret, and never alters an ExternalSecret that does not carry the Tenant's UID (T3).

mod body;
mod client;
mod compare;
mod observe;
mod ownership;
mod template;

#[cfg(test)]
mod example;

pub use body::{Intent, Store, StoreKind, body};
pub use client::{Observed, Projections};
pub use observe::owner_of;

use kube::api::{ApiResource, GroupVersionKind};

/// The field manager of everything that we apply.
pub const FIELD_MANAGER: &str = "tenantry";
/// The Tenant's UID, as a label for selection and as the annotation that proves ownership (D5).
pub const TENANT_UID: &str = "database.ddupan.top/tenant-uid";
/// Selects each ExternalSecret of ours, for a watch.
pub const MANAGED_BY_SELECTOR: &str = "app.kubernetes.io/managed-by=tenantry";
/// ESO syncs whenever an annotation changes; ours holds Unix seconds, so that its age can be told (D8).
pub const FORCE_SYNC: &str = "force-sync";

/// `ExternalSecret` of `external-secrets.io/v1`, the only version that current operators serve.
#[must_use]
pub fn resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("external-secrets.io", "v1", "ExternalSecret"),
        "externalsecrets",
    )
}
