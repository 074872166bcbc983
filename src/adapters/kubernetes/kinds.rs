//! What the API server serves: its discovery, which every account may read.

use std::time::Duration;

use domain::releases::scope::Kinds;
use domain::settings::orphans::Served;
use domain::tenancy::failure::Failure;
use kube::Client;
use kube::discovery::{ApiCapabilities, ApiResource, Discovery, Scope, verbs};

use super::failure::{Attempt, within};

/// Verbs without which orphans of a kind can be neither found nor deleted.
const VERBS: [&str; 2] = [verbs::LIST, verbs::DELETE];

/// Every kind, and whether it is namespaced.
///
/// # Errors
/// The API server's failure, classified.
pub async fn kinds(client: &Client, deadline: Duration) -> Result<Kinds, Failure> {
    let found = discovered(client, deadline).await?;
    let named = found.into_iter().map(|(resource, capabilities)| {
        let key = Kinds::key(&resource.api_version, &resource.kind);
        (key, capabilities.scope == Scope::Namespaced)
    });
    Ok(Kinds(named.collect()))
}

/// Every resource as the rules of orphans ask for it, and as it is reached.
pub(super) async fn served(
    client: &Client,
    deadline: Duration,
) -> Result<Vec<(Served, ApiResource)>, Failure> {
    let found = discovered(client, deadline).await?;
    let told = found.into_iter().map(|(resource, capabilities)| {
        let can = VERBS
            .iter()
            .filter(|verb| capabilities.supports_operation(verb));
        let served = Served {
            group_version: resource.api_version.clone(),
            plural: resource.plural.clone(),
            kind: resource.kind.clone(),
            namespaced: capabilities.scope == Scope::Namespaced,
            verbs: can.map(ToString::to_string).collect(),
        };
        (served, resource)
    });
    Ok(told.collect())
}

async fn discovered(
    client: &Client,
    deadline: Duration,
) -> Result<Vec<(ApiResource, ApiCapabilities)>, Failure> {
    let attempt = Attempt {
        verb: "get",
        resource: "/apis",
        namespace: "",
        name: "",
    };
    let asked = Discovery::new(client.clone()).run_aggregated();
    let found = within(deadline, &attempt, asked).await?;
    let versions = found
        .groups()
        .flat_map(|group| group.versions().map(move |version| (group, version)));
    Ok(versions
        .flat_map(|(group, version)| group.versioned_resources(version))
        .collect())
}
