//! `PostgreSQLInstance`: from the objects of a review to the domain's verdict.
//!
//! Decides nothing: decodes, looks up what the domain asks for in the caches, and hands over.

use crds::PostgreSQLInstanceSpec;
use domain::tenancy::admission::{Change, review_instance};
use domain::tenancy::endpoint::AddressPolicy;
use domain::violation::Verdict;

use crate::object::Object;
use crate::ports::ClusterView;
use crate::unreadable::Unreadable;

/// The verdict on an Instance as it is wanted, and as it is stored if this is an edit (D2, D4, D11, D17).
///
/// # Errors
/// The stored object cannot be read.
pub(crate) fn judge(
    new: &Object<'_>,
    old: Option<&Object<'_>>,
    cluster: &dyn ClusterView,
    addresses: &AddressPolicy,
) -> Result<Verdict, Unreadable> {
    let wanted: PostgreSQLInstanceSpec = match new.spec() {
        Ok(spec) => spec,
        Err(violation) => return Ok(Verdict::refused(vec![violation])),
    };
    let claimed = if cluster.synced() {
        cluster.tenant_databases(&new.name)
    } else {
        Vec::new()
    };
    let Some(old) = old else {
        return Ok(review_instance(
            &Change::Create(wanted.draft()),
            addresses,
            &claimed,
        ));
    };
    let stored: PostgreSQLInstanceSpec = old.stored_spec()?;
    let change = Change::Update {
        old: stored.draft(),
        new: wanted.draft(),
        recorded: (),
        deleting: old.deleting || new.deleting,
    };
    Ok(review_instance(&change, addresses, &claimed))
}
