//! One operation of a repository from its start to its end, with what is recorded of it on the way.

use std::collections::BTreeMap;
use std::time::Duration;

use crds::applications::convert_scan::{Ended, UPDATE};
use crds::applications::operation::PackageRepositoryOperation;
use crds::applications::repository::PackageRepository;
use domain::packages::effect::{PublicationEffect, ScanEffect};
use domain::packages::repository::{Problem, RepositoryStatus};
use domain::packages::scan::{DEFAULT_TIMEOUT, Phase, duration};
use domain::tenancy::failure::Failure;
use kube::{Resource, ResourceExt};

use super::Repositories;
use super::scan::{Scan, Scanned};
use crate::controllers::offering::{Seen, now};
use crate::effects;

/// Runs it; what cannot be read of the registry ends it as failed, and is no failure here.
pub(super) async fn run(
    repositories: &Repositories,
    repository: &PackageRepository,
    operation: &PackageRepositoryOperation,
) -> Result<(), Failure> {
    let operation = begin(repositories, operation).await?;
    let limit = match timeout(&operation) {
        Ok(limit) => limit,
        // It says nothing of the repository.
        Err(message) => {
            let ended = Ended {
                phase: Phase::Failed,
                message,
                packages: BTreeMap::new(),
            };
            return end(repositories, &operation, &ended).await;
        }
    };
    let scanned = scanned(repositories, repository, &operation, limit).await?;
    let mut packages = scanned.kinds.clone();
    // Of a package whose versions were not read again, the type that is known stands.
    let known = repository.recorded().unwrap_or_default().packages;
    for (name, kind) in &mut packages {
        if kind.is_none() {
            *kind = known.get(name).cloned().flatten();
        }
    }
    let phase = if scanned.complete {
        Phase::Completed
    } else {
        // What could not be listed was not taken away.
        packages.extend(known);
        Phase::Failed
    };
    let status = RepositoryStatus::of(packages, scanned.problems);
    record(repositories, repository, &status, scanned.created).await?;
    let ended = Ended {
        phase,
        message: status.message,
        packages: scanned.counted,
    };
    end(repositories, &operation, &ended).await
}

fn timeout(operation: &PackageRepositoryOperation) -> Result<Duration, String> {
    if operation.spec.type_ != UPDATE {
        return Err(format!(
            "spec.type is {:?}: only {UPDATE} is known",
            operation.spec.type_
        ));
    }
    let update = operation.spec.update.as_ref();
    let Some(text) = update.and_then(|update| update.timeout.as_deref()) else {
        return Ok(DEFAULT_TIMEOUT);
    };
    match duration(text) {
        Ok(none) if none.is_zero() => Ok(DEFAULT_TIMEOUT),
        Ok(limit) => Ok(limit),
        Err(error) => Err(format!("spec.update.timeout: {error}")),
    }
}

async fn begin(
    repositories: &Repositories,
    operation: &PackageRepositoryOperation,
) -> Result<PackageRepositoryOperation, Failure> {
    let status = operation.begun(&now());
    if operation.status.as_ref() != Some(&status) {
        let save = repositories.packages.save_operation(operation, &status);
        effects::perform(&repositories.metrics, ScanEffect::SaveOperation.id(), save).await?;
    }
    fresh(repositories, operation).await
}

/// The operation as it is now.
async fn fresh(
    repositories: &Repositories,
    operation: &PackageRepositoryOperation,
) -> Result<PackageRepositoryOperation, Failure> {
    let known = &operation.spec.package_repository;
    let found = repositories.packages.operations_of(known).await?;
    let mut same = found
        .into_iter()
        .filter(|found| found.metadata.uid == operation.metadata.uid);
    same.next()
        .ok_or_else(|| Failure::not_observed("an operation under way"))
}

async fn scanned(
    repositories: &Repositories,
    repository: &PackageRepository,
    operation: &PackageRepositoryOperation,
    limit: Duration,
) -> Result<Scanned, Failure> {
    let owner = repository
        .as_owner()
        .ok_or_else(|| Failure::not_observed("the repository's UID"))?;
    let seen = Seen::default();
    let mut scan = Scan::new(
        repositories,
        repository,
        (owner, &seen),
        operation.is_full(),
    );
    let ended = tokio::time::timeout(limit, scan.run()).await.is_ok();
    let mut scanned = scan.end();
    if !ended {
        scanned.complete = false;
        scanned.problems.push(Problem::Unreadable {
            place: "the registry".to_owned(),
            why: format!(
                "was not read in {} s: raise spec.update.timeout of a PackageRepositoryOperation, or look why it is slow",
                limit.as_secs()
            ),
        });
    }
    Ok(scanned)
}

/// Saves what the scan found of the repository as it was specified then.
async fn record(
    repositories: &Repositories,
    scanned: &PackageRepository,
    status: &RepositoryStatus,
    created: i64,
) -> Result<(), Failure> {
    let api = &repositories.packages;
    let Some(mut present) = api.repository(&scanned.name_any()).await? else {
        return Ok(());
    };
    if present.metadata.uid != scanned.metadata.uid {
        return Ok(());
    }
    let before = present.recorded().map(|recorded| recorded.reason);
    present.metadata.generation = scanned.metadata.generation;
    let written = present.status_to_write(status, created, &now());
    let save = api.save_repository(&present, &written);
    effects::perform(
        &repositories.metrics,
        PublicationEffect::SaveRepository.id(),
        save,
    )
    .await?;
    if before.as_ref() != Some(&status.reason) && (before.is_some() || !status.succeeded()) {
        let about = present.object_ref(&());
        repositories
            .events
            .reason_changed(&about, status.succeeded(), &status.reason, &status.message)
            .await;
    }
    Ok(())
}

async fn end(
    repositories: &Repositories,
    operation: &PackageRepositoryOperation,
    ended: &Ended,
) -> Result<(), Failure> {
    let status = operation.ended(ended, &now());
    let save = repositories.packages.save_operation(operation, &status);
    effects::perform(&repositories.metrics, ScanEffect::SaveOperation.id(), save).await
}
