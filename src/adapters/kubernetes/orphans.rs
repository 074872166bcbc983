//! Orphan resources of an instance, listed and deleted as the account of its namespace. Which they are is the domain's
//! (`domain::settings::orphans`).

use std::time::Duration;

use domain::releases::Instance;
use domain::settings::orphans::{
    Answer, Declared, INSTANCE_LABEL, Listed, Served, is_deleted, is_label_value, resolve,
};
use domain::tenancy::failure::{Class, Failure};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Preconditions};
use kube::core::PartialObjectMeta;
use kube::{Api, Client, ResourceExt};

use super::PAGE;
use super::failure::{Attempt, within};
use super::kinds::served;

/// Deletes what the declared kinds have with the instance's label. One that cannot be listed or deleted stops no other.
///
/// # Errors
/// The first failure, once everything was tried.
pub async fn purge(
    client: &Client,
    instance: &Instance,
    declared: &[Declared],
    deadline: Duration,
) -> Result<(), Failure> {
    if declared.is_empty() || !is_label_value(&instance.name) {
        return Ok(());
    }
    // Fresh each time: a kind that is missing was missing now.
    let (known, resources): (Vec<Served>, Vec<ApiResource>) =
        served(client, deadline).await?.into_iter().unzip();
    let resolved = resolve(declared, &known);
    for unknown in resolved.unknown.iter().chain(&resolved.cluster_scoped) {
        tracing::warn!(
            namespace = %instance.namespace, name = %instance.name, kind = %unknown.kind, version = %unknown.version,
            "a kind of orphanResources is not served, or is of cluster scope: it is skipped"
        );
    }
    let mut failed = None;
    for wanted in &resolved.resources {
        let known = resources.iter().find(|known| {
            known.api_version == wanted.group_version && known.plural == wanted.plural
        });
        if let Some(known) = known
            && let Err(failure) = purge_one(client, instance, known, deadline).await
        {
            failed.get_or_insert(failure);
        }
    }
    failed.map_or(Ok(()), Err)
}

async fn purge_one(
    client: &Client,
    instance: &Instance,
    resource: &ApiResource,
    deadline: Duration,
) -> Result<(), Failure> {
    let api: Api<PartialObjectMeta<DynamicObject>> =
        Api::namespaced_with(client.clone(), &instance.namespace, resource);
    let attempt = |verb| Attempt {
        verb,
        resource: "orphan resources",
        namespace: &instance.namespace,
        name: &resource.plural,
    };
    let ours = ListParams::default()
        .labels(&format!("{INSTANCE_LABEL}={}", instance.name))
        .limit(PAGE);
    let listed = within(deadline, &attempt("list"), api.list(&ours)).await?;
    let more = listed
        .metadata
        .continue_
        .as_ref()
        .is_some_and(|token| !token.is_empty());
    let mut failed = None;
    for object in &listed {
        let known = Listed {
            labels: object.labels().clone(),
            annotations: object.annotations().clone(),
            deleting: object.metadata.deletion_timestamp.is_some(),
        };
        if !is_deleted(&known, &instance.name) {
            continue;
        }
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: object.uid(),
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        let name = object.name_any();
        let call = async { Ok(answer(&api.delete(&name, &params).await)) };
        match within(deadline, &attempt("delete"), call).await {
            Ok(answer) if answer.is_fine() => {}
            Ok(_) => {
                let text = format!(
                    "{} {name} of namespace {} could not be deleted",
                    resource.kind, instance.namespace
                );
                failed.get_or_insert_with(|| Failure::new(Class::Unavailable, text));
            }
            Err(failure) => drop(failed.get_or_insert(failure)),
        }
    }
    if more {
        let text = format!("more {} are left to delete", resource.plural);
        failed.get_or_insert_with(|| Failure::new(Class::Unavailable, text));
    }
    failed.map_or(Ok(()), Err)
}

fn answer<T>(answer: &Result<T, kube::Error>) -> Answer {
    match answer {
        Ok(_) => Answer::Accepted,
        Err(kube::Error::Api(status)) if status.code == 404 => Answer::NotFound,
        Err(kube::Error::Api(status)) if status.code == 409 => Answer::Conflict,
        Err(_) => Answer::Failed,
    }
}
