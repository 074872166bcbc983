//! Which kinds the API server serves, and which of them are namespaced: its discovery, which every account may read.

use std::time::Duration;

use domain::releases::scope::Kinds;
use domain::tenancy::failure::Failure;
use kube::Client;
use kube::discovery::{Discovery, Scope};

use super::failure::{Attempt, within};

/// Everything that is served now.
///
/// # Errors
/// The API server's failure, classified.
pub async fn kinds(client: &Client, deadline: Duration) -> Result<Kinds, Failure> {
    let attempt = Attempt {
        verb: "get",
        resource: "/apis",
        namespace: "",
        name: "",
    };
    let found = within(
        deadline,
        &attempt,
        Discovery::new(client.clone()).run_aggregated(),
    )
    .await?;
    let mut kinds = Kinds::default();
    for group in found.groups() {
        for version in group.versions() {
            for (resource, capabilities) in group.versioned_resources(version) {
                let key = Kinds::key(&resource.api_version, &resource.kind);
                kinds.0.insert(key, capabilities.scope == Scope::Namespaced);
            }
        }
    }
    Ok(kinds)
}
