//! The same verdict without a cluster: a manifest that nobody has applied yet is judged as a create.
//!
//! Decides nothing of its own: object, rules and words are those of a review. It does not know what the API server would have
//! refused before it asks a webhook; that is the schema's ([`crds::unmet`]).

use domain::tenancy::endpoint::AddressPolicy;
use domain::violation::{Verdict, Violation};
use serde_json::value::RawValue;

use crate::answer::{CAUSE_MAX, Cause, cause, printable};
use crate::object::Object;
use crate::parts::Parts;
use crate::ports::{ClusterView, Route};
use crate::unreadable::Unreadable;
use crate::{instance, tenant};

/// The verdict on a manifest of PostgreSQL tenancy, as a create of it would get it.
///
/// # Errors
/// It is no object of the route's kind.
pub fn judge_manifest(
    route: Route,
    manifest: &RawValue,
    cluster: &dyn ClusterView,
    addresses: &AddressPolicy,
) -> Result<Verdict, Unreadable> {
    const FIELD: &str = "the manifest";
    let object = || Object::read(FIELD, Parts::read(FIELD, manifest, route)?, route);
    match route {
        Route::Instance => instance::judge(&object()?, None, cluster, addresses),
        Route::Tenant => tenant::judge(&object()?, None, cluster),
        Route::Application => Err(Unreadable::new(FIELD, "is judged by its package, not here")),
    }
}

/// One violation in the API server's words, as kubectl prints it of a review's answer.
#[must_use]
pub fn field_error(violation: &Violation) -> Cause {
    cause(violation)
}

/// Text that someone else wrote, fit for a terminal (H20).
#[must_use]
pub fn for_terminal(text: &str) -> String {
    printable(text, CAUSE_MAX)
}
