//! The revisions of a release, by the labels of its Secrets: what they hold is never read.

use std::time::Duration;

use domain::releases::Instance;
use domain::releases::revisions::{Revision, Status};
use domain::tenancy::failure::Failure;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
use kube::{Api, Client, ResourceExt};

use super::DIGEST_LABEL;
use crate::adapters::kubernetes::failure::{Attempt, within};

/// More than are ever kept.
const MOST: u32 = 50;

/// The revisions of the instance's release, in any order.
///
/// # Errors
/// The API server's failure, classified.
pub async fn revisions(
    client: &Client,
    instance: &Instance,
    deadline: Duration,
) -> Result<Vec<Revision>, Failure> {
    let api: Api<PartialObjectMeta<Secret>> = Api::namespaced(client.clone(), &instance.namespace);
    let name = instance.release_name();
    let attempt = Attempt {
        verb: "list",
        resource: "secrets",
        namespace: &instance.namespace,
        name: "",
    };
    let ours = ListParams::default()
        .labels(&format!("owner=helm,name={name}"))
        .limit(MOST);
    let listed = within(deadline, &attempt, api.list(&ours)).await?;
    Ok(listed.iter().filter_map(revision).collect())
}

fn revision(secret: &PartialObjectMeta<Secret>) -> Option<Revision> {
    let label = |name: &str| secret.labels().get(name).map(String::as_str);
    Some(Revision {
        number: label("version")?.parse().ok()?,
        status: Status::parse(label("status")?),
        digest: label(DIGEST_LABEL).map(str::to_owned),
    })
}
