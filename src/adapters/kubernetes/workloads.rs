//! The workloads of an instance, as far as their rollout goes, read as the account of its namespace.

use std::time::Duration;

use domain::applications::workloads::Workload;
use domain::releases::Instance;
use domain::releases::marks::INSTANCE_LABEL;
use domain::tenancy::failure::Failure;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::PAGE;
use super::failure::{Attempt, within};

/// `Deployment`s and `StatefulSet`s with the instance's label; the first page of each.
///
/// # Errors
/// The API server's failure, classified.
pub async fn workloads(
    client: &Client,
    instance: &Instance,
    deadline: Duration,
) -> Result<Vec<Workload>, Failure> {
    let ours = ListParams::default()
        .labels(&format!("{INSTANCE_LABEL}={}", instance.name))
        .limit(PAGE);
    let attempt = |resource| Attempt {
        verb: "list",
        resource,
        namespace: &instance.namespace,
        name: "",
    };
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &instance.namespace);
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), &instance.namespace);
    let listing = attempt("deployments.apps");
    let deployments = within(deadline, &listing, deployments.list(&ours)).await?;
    let listing = attempt("statefulsets.apps");
    let sets = within(deadline, &listing, sets.list(&ours)).await?;
    Ok(deployments
        .iter()
        .map(of_deployment)
        .chain(sets.iter().map(of_set))
        .collect())
}

fn of_deployment(object: &Deployment) -> Workload {
    let status = object.status.clone().unwrap_or_default();
    let replicas = object.spec.as_ref().and_then(|spec| spec.replicas);
    let stuck = status.conditions.iter().flatten();
    let mut stuck =
        stuck.filter(|condition| condition.type_ == "Progressing" && condition.status == "False");
    Workload {
        name: format!("Deployment/{}", object.name_any()),
        wanted: replicas.unwrap_or(1).into(),
        updated: status.updated_replicas.unwrap_or_default().into(),
        ready: status.ready_replicas.unwrap_or_default().into(),
        observed: status.observed_generation >= object.metadata.generation,
        stuck: stuck.next().is_some(),
    }
}

fn of_set(object: &StatefulSet) -> Workload {
    let status = object.status.clone().unwrap_or_default();
    let replicas = object.spec.as_ref().and_then(|spec| spec.replicas);
    Workload {
        name: format!("StatefulSet/{}", object.name_any()),
        wanted: replicas.unwrap_or(1).into(),
        updated: status.updated_replicas.unwrap_or_default().into(),
        ready: status.ready_replicas.unwrap_or_default().into(),
        observed: status.observed_generation >= object.metadata.generation,
        stuck: false,
    }
}
