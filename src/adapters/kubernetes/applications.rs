//! Applications of the Kubernetes API: the object, its finalizer and its status.
//!
//! Every write carries the resourceVersion that was read. It decides nothing.

use std::time::Duration;

use crds::applications::application::{Application, ApplicationStatus, FINALIZER};
use domain::tenancy::failure::Failure;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::failure::{Attempt, within};
use super::served::is_served;
use super::{locked_patch, writer};

const APPLICATIONS: &str = "applications.deckhouse.io";

/// Access to Applications as this process.
#[derive(Clone)]
pub struct Applications {
    client: Client,
    deadline: Duration,
}

impl Applications {
    /// `deadline` bounds each call.
    #[must_use]
    pub const fn new(client: Client, deadline: Duration) -> Self {
        Self { client, deadline }
    }

    /// The client, for watches.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// True if the API server serves the kind.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn are_served(&self) -> Result<bool, Failure> {
        is_served::<Application>(&self.client, APPLICATIONS).await
    }

    /// The Application; `None` if there is none.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Option<Application>, Failure> {
        let attempt = attempt("get", APPLICATIONS, namespace, name);
        within(self.deadline, &attempt, self.api(namespace).get_opt(name)).await
    }

    /// True if the namespace is being deleted, or gone.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn namespace_goes(&self, name: &str) -> Result<bool, Failure> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let attempt = attempt("get", "namespaces", "", name);
        let found = within(self.deadline, &attempt, api.get_metadata_opt(name)).await?;
        Ok(found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()))
    }

    /// Puts our finalizer on an Application, or takes it off, if it is still the one that was read.
    ///
    /// # Errors
    /// `Stale` if it changed since; else the API server's failure, classified.
    pub async fn hold(&self, read: &Application, hold: bool) -> Result<(), Failure> {
        let mut finalizers: Vec<&str> = read.finalizers().iter().map(String::as_str).collect();
        finalizers.retain(|name| *name != FINALIZER);
        if hold {
            finalizers.push(FINALIZER);
        }
        let patch = locked_patch(read, "/metadata/finalizers", &json!(finalizers))?;
        let (namespace, name) = place(read);
        let api = self.api(&namespace);
        let attempt = attempt("patch", APPLICATIONS, &namespace, &name);
        let params = writer();
        within(self.deadline, &attempt, api.patch(&name, &params, &patch))
            .await
            .map(drop)
    }

    /// Writes an Application's status, if it is still the one that was read.
    ///
    /// # Errors
    /// As [`Applications::hold`].
    pub async fn save(
        &self,
        read: &Application,
        status: &ApplicationStatus,
    ) -> Result<(), Failure> {
        let patch = locked_patch(read, "/status", &json!(status))?;
        let (namespace, name) = place(read);
        let api = self.api(&namespace);
        let attempt = attempt(
            "patch",
            "applications.deckhouse.io/status",
            &namespace,
            &name,
        );
        let params = writer();
        let call = api.patch_status(&name, &params, &patch);
        within(self.deadline, &attempt, call).await.map(drop)
    }

    fn api(&self, namespace: &str) -> Api<Application> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

/// True if our finalizer is on the object.
#[must_use]
pub fn is_held(object: &Application) -> bool {
    object.finalizers().iter().any(|name| name == FINALIZER)
}

fn place(object: &Application) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

const fn attempt<'a>(
    verb: &'static str,
    resource: &'static str,
    namespace: &'a str,
    name: &'a str,
) -> Attempt<'a> {
    Attempt {
        verb,
        resource,
        namespace,
        name,
    }
}
