//! `PostgreSQLTenant`: from the objects of a review to the domain's verdict.
//!
//! Decides nothing: decodes, looks up what the domain asks for in the caches, and hands over.

use crds::{PostgreSQLTenantSpec, PostgreSQLTenantStatus};
use domain::tenancy::admission::{Change, review_tenant};
use domain::violation::Verdict;

use crate::object::Object;
use crate::ports::ClusterView;
use crate::unreadable::Unreadable;

/// The verdict on a Tenant as it is wanted, and as it is stored if this is an edit (M1–M4, D2–D4).
///
/// # Errors
/// The stored object cannot be read.
pub(crate) fn judge(
    new: &Object<'_>,
    old: Option<&Object<'_>>,
    cluster: &dyn ClusterView,
) -> Result<Verdict, Unreadable> {
    let wanted: PostgreSQLTenantSpec = match new.spec() {
        Ok(spec) => spec,
        Err(violation) => return Ok(Verdict::refused(vec![violation])),
    };
    let management = cluster
        .synced()
        .then(|| cluster.management_database(&wanted.instance_ref))
        .flatten();
    let wanted = wanted.draft(&new.name);
    let Some(old) = old else {
        return Ok(review_tenant(
            &Change::Create(wanted),
            management.as_deref(),
        ));
    };
    let stored: PostgreSQLTenantSpec = old.stored_spec()?;
    let status: PostgreSQLTenantStatus = old.stored_status()?;
    let change = Change::Update {
        old: stored.draft(&old.name),
        new: wanted,
        recorded: status.recorded(),
        deleting: old.deleting || new.deleting,
    };
    Ok(review_tenant(&change, management.as_deref()))
}
