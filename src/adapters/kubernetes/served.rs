//! What the API server is: its version, and whether it serves a kind at all. It decides nothing about what an absence means.

use std::fmt::Debug;

use domain::tenancy::failure::Failure;
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::DEADLINE;
use super::failure::{Attempt, is_unsupported, within};

/// True if the API server serves the kind.
///
/// # Errors
/// The API server's failure, classified.
pub async fn is_served<K>(client: &Client, resource: &'static str) -> Result<bool, Failure>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
{
    let attempt = Attempt {
        verb: "list",
        resource,
        namespace: "",
        name: "",
    };
    let api: Api<PartialObjectMeta<K>> = Api::all(client.clone());
    let one = ListParams::default().limit(1);
    let call = async {
        match api.list(&one).await {
            Err(error) if is_unsupported(&error) => Ok(false),
            listed => listed.map(|_| true),
        }
    };
    within(DEADLINE, &attempt, call).await
}

/// The version that the API server reports, as `v1.37.2`.
///
/// # Errors
/// The API server's failure, classified.
pub async fn server_version(client: &Client) -> Result<String, Failure> {
    let attempt = Attempt {
        verb: "get",
        resource: "/version",
        namespace: "",
        name: "",
    };
    let info = within(DEADLINE, &attempt, client.apiserver_version()).await?;
    Ok(info.git_version)
}

/// True if a watch failed because its kind is not served any more.
#[must_use]
pub fn is_unserved(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            is_unsupported(error)
        }
        _ => false,
    }
}
