//! The packages' kinds of the Kubernetes API: repositories, packages, versions, and their status.
//!
//! Every write carries the resourceVersion that was read. It decides nothing.

mod operations;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use crds::applications::convert::on_wire;
use crds::applications::package::ApplicationPackage;
use crds::applications::repository::{PackageRepository, PackageRepositoryStatus};
use crds::applications::version::{
    ApplicationPackageVersion, ApplicationPackageVersionStatus, REPOSITORY_LABEL,
};
use domain::packages::version::Labels;
use domain::tenancy::failure::Failure;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ListParams, Patch, PostParams};
use kube::core::{ObjectList, PartialObjectMeta};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::failure::{Attempt, within};
use super::served::is_served;
use super::{FIELD_MANAGER, PAGE, locked_patch, writer};

const REPOSITORIES: &str = "packagerepositories.deckhouse.io";
const PACKAGES: &str = "applicationpackages.deckhouse.io";
const VERSIONS: &str = "applicationpackageversions.deckhouse.io";

/// Access to the packages' kinds as this process.
#[derive(Clone)]
pub struct Packages {
    client: Client,
    deadline: Duration,
}

impl Packages {
    /// `deadline` bounds each call.
    #[must_use]
    pub fn new(client: Client, deadline: Duration) -> Self {
        Self { client, deadline }
    }

    /// The client, for watches.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// True if the API server serves all three kinds: an installation for PostgreSQL alone has none of them.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn are_served(&self) -> Result<bool, Failure> {
        let client = &self.client;
        Ok(is_served::<PackageRepository>(client, REPOSITORIES).await?
            && is_served::<ApplicationPackage>(client, PACKAGES).await?
            && is_served::<ApplicationPackageVersion>(client, VERSIONS).await?)
    }

    /// The repository; `None` if there is none.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn repository(&self, name: &str) -> Result<Option<PackageRepository>, Failure> {
        self.get(REPOSITORIES, name).await
    }

    /// The package; `None` if there is none.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn package(&self, name: &str) -> Result<Option<ApplicationPackage>, Failure> {
        self.get(PACKAGES, name).await
    }

    /// The version's object of this name; `None` if there is none.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn version(&self, name: &str) -> Result<Option<ApplicationPackageVersion>, Failure> {
        self.get(VERSIONS, name).await
    }

    /// Names of the versions' objects that carry the label of this repository.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn versions_of(&self, repository: &str) -> Result<Vec<String>, Failure> {
        let api: Api<PartialObjectMeta<ApplicationPackageVersion>> = Api::all(self.client.clone());
        let page_of = |page: ListParams| {
            let api = api.clone();
            async move { api.list(&page).await }
        };
        let selector = format!("{REPOSITORY_LABEL}={repository}");
        let found = self.paged(VERSIONS, &selector, page_of).await?;
        Ok(found.iter().map(ResourceExt::name_any).collect())
    }

    /// Names of the packages that say to be offered by this repository.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn packages_of(&self, repository: &str) -> Result<Vec<String>, Failure> {
        let api: Api<ApplicationPackage> = Api::all(self.client.clone());
        let page_of = |page: ListParams| {
            let api = api.clone();
            async move { api.list(&page).await }
        };
        let found = self.paged(PACKAGES, "", page_of).await?;
        let offers = |package: &&ApplicationPackage| {
            let status = package.status.iter();
            status
                .flat_map(|status| &status.available_repositories)
                .any(|name| name == repository)
        };
        Ok(found
            .iter()
            .filter(offers)
            .map(ResourceExt::name_any)
            .collect())
    }

    /// Creates an object of one of the kinds.
    ///
    /// # Errors
    /// `Stale` if there is one already; else the API server's failure, classified.
    pub async fn create_repository(&self, object: &PackageRepository) -> Result<(), Failure> {
        self.create(REPOSITORIES, object).await
    }

    /// As [`Packages::create_repository`].
    ///
    /// # Errors
    /// As there.
    pub async fn create_package(&self, object: &ApplicationPackage) -> Result<(), Failure> {
        self.create(PACKAGES, object).await
    }

    /// As [`Packages::create_repository`].
    ///
    /// # Errors
    /// As there.
    pub async fn create_version(&self, object: &ApplicationPackageVersion) -> Result<(), Failure> {
        self.create(VERSIONS, object).await
    }

    /// Adds an owner to a package, if it is still the one that was read.
    ///
    /// # Errors
    /// `Stale` if it changed since; else the API server's failure, classified.
    pub async fn own_package(
        &self,
        read: &ApplicationPackage,
        owner: OwnerReference,
    ) -> Result<(), Failure> {
        let mut owners = read.metadata.owner_references.clone().unwrap_or_default();
        owners.push(owner);
        self.change(PACKAGES, read, &json!({ "ownerReferences": owners }))
            .await
    }

    /// Sets labels of a version, if it is still the one that was read.
    ///
    /// # Errors
    /// As [`Packages::own_package`].
    pub async fn label_version(
        &self,
        read: &ApplicationPackageVersion,
        labels: &Labels,
    ) -> Result<(), Failure> {
        let labels: BTreeMap<&str, Option<String>> = on_wire(labels);
        self.change(VERSIONS, read, &json!({ "labels": labels }))
            .await
    }

    /// Writes a repository's status, if it is still the one that was read.
    ///
    /// # Errors
    /// As [`Packages::own_package`].
    pub async fn save_repository(
        &self,
        read: &PackageRepository,
        status: &PackageRepositoryStatus,
    ) -> Result<(), Failure> {
        self.save("packagerepositories.deckhouse.io/status", read, status)
            .await
    }

    /// Writes the repositories of a package, if it is still the one that was read.
    ///
    /// # Errors
    /// As [`Packages::own_package`].
    pub async fn offer_package(
        &self,
        read: &ApplicationPackage,
        repositories: Vec<String>,
    ) -> Result<(), Failure> {
        let mut status = read.status.clone().unwrap_or_default();
        status.available_repositories = repositories;
        self.save("applicationpackages.deckhouse.io/status", read, &status)
            .await
    }

    /// Writes a version's status, if it is still the one that was read.
    ///
    /// # Errors
    /// As [`Packages::own_package`].
    pub async fn save_version(
        &self,
        read: &ApplicationPackageVersion,
        status: &ApplicationPackageVersionStatus,
    ) -> Result<(), Failure> {
        self.save(
            "applicationpackageversions.deckhouse.io/status",
            read,
            status,
        )
        .await
    }

    async fn get<K>(&self, resource: &'static str, name: &str) -> Result<Option<K>, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let attempt = attempt("get", resource, name);
        within(self.deadline, &attempt, api.get_opt(name)).await
    }

    async fn paged<T, F>(
        &self,
        resource: &'static str,
        selector: &str,
        page_of: impl Fn(ListParams) -> F,
    ) -> Result<Vec<T>, Failure>
    where
        T: Clone,
        F: Future<Output = Result<ObjectList<T>, kube::Error>>,
    {
        let attempt = attempt("list", resource, "");
        let all = ListParams::default().limit(PAGE).labels(selector);
        let (mut found, mut page) = (Vec::new(), all.clone());
        loop {
            let list = within(self.deadline, &attempt, page_of(page)).await?;
            found.extend(list.items);
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = all.clone().continue_token(&token),
                None => return Ok(found),
            }
        }
    }

    async fn create<K>(&self, resource: &'static str, object: &K) -> Result<(), Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Clone + Debug,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let name = object.meta().name.clone().unwrap_or_default();
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let attempt = attempt("create", resource, &name);
        within(self.deadline, &attempt, api.create(&params, object))
            .await
            .map(drop)
    }

    /// A merge patch of metadata under the resourceVersion that was read.
    async fn change<K>(
        &self,
        resource: &'static str,
        read: &K,
        metadata: &Value,
    ) -> Result<(), Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        let api: Api<PartialObjectMeta<K>> = Api::all(self.client.clone());
        let mut metadata = metadata.clone();
        if let Some(fields) = metadata.as_object_mut() {
            let version = json!(read.meta().resource_version);
            fields.insert("resourceVersion".to_owned(), version);
        }
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let name = read.name_any();
        let attempt = attempt("patch", resource, &name);
        within(self.deadline, &attempt, api.patch(&name, &writer(), &patch))
            .await
            .map(drop)
    }

    async fn save<K, S>(&self, resource: &'static str, read: &K, status: &S) -> Result<(), Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
        S: Serialize,
    {
        let api: Api<PartialObjectMeta<K>> = Api::all(self.client.clone());
        let patch = locked_patch(read, "/status", &json!(status))?;
        let name = read.name_any();
        let attempt = attempt("patch", resource, &name);
        let params = writer();
        let call = api.patch_status(&name, &params, &patch);
        within(self.deadline, &attempt, call).await.map(drop)
    }
}

const fn attempt<'a>(verb: &'static str, resource: &'static str, name: &'a str) -> Attempt<'a> {
    Attempt {
        verb,
        resource,
        namespace: "",
        name,
    }
}
