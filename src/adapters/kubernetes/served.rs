//! Whether the API server serves a kind at all. It decides nothing about what its absence means.

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
