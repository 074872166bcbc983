//! Operations of repositories: scans that were asked for, and how far they are.

use crds::applications::operation::{PackageRepositoryOperation, PackageRepositoryOperationStatus};
use domain::tenancy::failure::Failure;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Preconditions};

use super::super::failure::within;
use super::super::served::is_served;
use super::{Packages, attempt};

const OPERATIONS: &str = "packagerepositoryoperations.deckhouse.io";

impl Packages {
    /// True if the API server serves the kind.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn operations_are_served(&self) -> Result<bool, Failure> {
        is_served::<PackageRepositoryOperation>(&self.client, OPERATIONS).await
    }

    /// The operations of this repository, whoever made them.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn operations_of(
        &self,
        repository: &str,
    ) -> Result<Vec<PackageRepositoryOperation>, Failure> {
        let api: Api<PackageRepositoryOperation> = Api::all(self.client.clone());
        let page_of = |page: ListParams| {
            let api = api.clone();
            async move { api.list(&page).await }
        };
        let mut found = self.paged(OPERATIONS, "", page_of).await?;
        found.retain(|operation| operation.spec.package_repository == repository);
        Ok(found)
    }

    /// As [`Packages::create_repository`].
    ///
    /// # Errors
    /// As there.
    pub async fn create_operation(
        &self,
        object: &PackageRepositoryOperation,
    ) -> Result<(), Failure> {
        self.create(OPERATIONS, object).await
    }

    /// Writes how far an operation is, if it is still the one that was read.
    ///
    /// # Errors
    /// As [`Packages::own_package`].
    pub async fn save_operation(
        &self,
        read: &PackageRepositoryOperation,
        status: &PackageRepositoryOperationStatus,
    ) -> Result<(), Failure> {
        let resource = "packagerepositoryoperations.deckhouse.io/status";
        self.save(resource, read, status).await
    }

    /// Deletes this very operation; one that is gone is fine.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn delete_operation(&self, read: &PackageRepositoryOperation) -> Result<(), Failure> {
        let api: Api<PackageRepositoryOperation> = Api::all(self.client.clone());
        let name = read.metadata.name.clone().unwrap_or_default();
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: read.metadata.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let call = async {
            match api.delete(&name, &params).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                deleted => deleted.map(drop),
            }
        };
        within(self.deadline, &attempt("delete", OPERATIONS, &name), call).await
    }
}
