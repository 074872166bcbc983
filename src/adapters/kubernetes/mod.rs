//! The Kubernetes API: our two kinds, their status and finalizers, admin Secrets, events.
//!
//! Every write carries the resourceVersion that was read, so a stale view never overwrites a newer one. It decides nothing;
//! ExternalSecrets and target Secrets are in [`super::projection`].

pub mod applications;
pub mod events;
pub(in crate::adapters) mod failure;
pub mod identity;
pub mod kinds;
pub mod lease;
pub mod orphans;
pub mod packages;
pub mod served;
pub mod workloads;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::Uid;
use domain::tenancy::registration::CredentialReference;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::{Api, Client, Resource, ResourceExt};
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use self::failure::{Attempt, within};
use super::postgres::AdminCredential;

/// The finalizer on both kinds.
pub const FINALIZER: &str = "database.ddupan.top/finalizer";
/// Who our writes are attributed to.
pub const FIELD_MANAGER: &str = "tenantry";
/// No call to the API server may take longer.
pub const DEADLINE: Duration = Duration::from_secs(10);
const TENANTS: &str = "postgresqltenants";
const INSTANCES: &str = "postgresqlinstances";
/// Objects a page when a list is read.
const PAGE: u32 = 500;

/// Access to the API server as this process.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    namespace: String,
    deadline: Duration,
}

impl Cluster {
    /// `namespace` is where admin Secrets are; `deadline` bounds each call, because the client has no read timeout.
    #[must_use]
    pub fn new(client: Client, namespace: String, deadline: Duration) -> Self {
        Self {
            client,
            namespace,
            deadline,
        }
    }

    /// The client, for watches.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The namespace of admin Secrets.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// UID of the `kube-system` namespace, by which registry rows of several clusters are told apart.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn uid(&self) -> Result<Uid, Failure> {
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.client.clone());
        let namespace = self
            .within(
                "get",
                "namespaces",
                "",
                "kube-system",
                api.get("kube-system"),
            )
            .await?;
        namespace
            .uid()
            .map(Uid::new)
            .ok_or_else(|| Failure::new(Class::Unavailable, "namespace kube-system has no UID"))
    }

    /// The Tenant as the API server has it now; `None` if it is gone.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn tenant(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<PostgreSQLTenant>, Failure> {
        self.within(
            "get",
            TENANTS,
            namespace,
            name,
            self.tenants(namespace).get_opt(name),
        )
        .await
    }

    /// The Instance as the API server has it now; `None` if it is gone.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn instance(&self, name: &str) -> Result<Option<PostgreSQLInstance>, Failure> {
        let api: Api<PostgreSQLInstance> = Api::all(self.client.clone());
        self.within("get", INSTANCES, "", name, api.get_opt(name))
            .await
    }

    /// True if the Tenant of that name still has that UID.
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn tenant_is_alive(
        &self,
        namespace: &str,
        name: &str,
        uid: &Uid,
    ) -> Result<bool, Failure> {
        let api: Api<PartialObjectMeta<PostgreSQLTenant>> =
            Api::namespaced(self.client.clone(), namespace);
        let found = self
            .within("get", TENANTS, namespace, name, api.get_opt(name))
            .await?;
        Ok(found.is_some_and(|tenant| tenant.uid().as_deref() == Some(uid.as_str())))
    }

    /// How many Tenants name this Instance, those being deleted included, and one of them as `namespace/name`. Read from the
    /// API server, not from a cache: the finalizer depends on it (I8).
    ///
    /// # Errors
    /// The API server's failure, classified.
    pub async fn tenants_of(&self, instance: &str) -> Result<(usize, Option<String>), Failure> {
        let api: Api<DeserializeGuard<PostgreSQLTenant>> = Api::all(self.client.clone());
        let (mut count, mut example) = (0, None);
        let mut page = ListParams::default().limit(PAGE);
        loop {
            let list = self
                .within("list", TENANTS, "", "", api.list(&page))
                .await?;
            // One that cannot be read may name it, so it counts.
            let refers = |tenant: &&DeserializeGuard<PostgreSQLTenant>| {
                tenant
                    .0
                    .as_ref()
                    .map_or(true, |tenant| tenant.spec.instance_ref == instance)
            };
            for tenant in list.items.iter().filter(refers) {
                count += 1;
                example.get_or_insert_with(|| {
                    format!(
                        "{}/{}",
                        tenant.namespace().unwrap_or_default(),
                        tenant.name_any()
                    )
                });
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = ListParams::default().limit(PAGE).continue_token(&token),
                None => return Ok((count, example)),
            }
        }
    }

    /// Writes a Tenant's status under the resourceVersion of `read`.
    ///
    /// # Errors
    /// [`Class::Stale`] if the object changed since; else the API server's failure, classified.
    pub async fn save_tenant(
        &self,
        read: &PostgreSQLTenant,
        status: &crds::PostgreSQLTenantStatus,
    ) -> Result<PostgreSQLTenant, Failure> {
        let api = self.tenants(&read.namespace().unwrap_or_default());
        self.save_status(&api, read, status, "postgresqltenants/status")
            .await
    }

    /// Writes an Instance's status under the resourceVersion of `read`.
    ///
    /// # Errors
    /// [`Class::Stale`] if the object changed since; else the API server's failure, classified.
    pub async fn save_instance(
        &self,
        read: &PostgreSQLInstance,
        status: &crds::PostgreSQLInstanceStatus,
    ) -> Result<PostgreSQLInstance, Failure> {
        let api = Api::all(self.client.clone());
        self.save_status(&api, read, status, "postgresqlinstances/status")
            .await
    }

    /// Puts our finalizer on a Tenant, or takes it off.
    ///
    /// # Errors
    /// As [`Cluster::save_tenant`].
    pub async fn hold_tenant(
        &self,
        read: &PostgreSQLTenant,
        hold: bool,
    ) -> Result<PostgreSQLTenant, Failure> {
        let api = self.tenants(&read.namespace().unwrap_or_default());
        self.set_finalizer(&api, read, hold, TENANTS).await
    }

    /// Puts our finalizer on an Instance, or takes it off.
    ///
    /// # Errors
    /// As [`Cluster::save_instance`].
    pub async fn hold_instance(
        &self,
        read: &PostgreSQLInstance,
        hold: bool,
    ) -> Result<PostgreSQLInstance, Failure> {
        let api = Api::all(self.client.clone());
        self.set_finalizer(&api, read, hold, INSTANCES).await
    }

    /// The admin's login from the Secret that the Instance names.
    ///
    /// # Errors
    /// [`Class::Authentication`] if Secret or key is missing or empty; else the API server's failure, classified.
    pub async fn admin_credential(
        &self,
        reference: &CredentialReference,
    ) -> Result<AdminCredential, Failure> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let name = reference.name.as_str();
        let missing = |what: String| Failure::new(Class::Authentication, what);
        let secret = self
            .within("get", "secrets", &self.namespace, name, api.get_opt(name))
            .await?
            .ok_or_else(|| {
                missing(format!(
                    "the admin Secret {}/{name} does not exist",
                    self.namespace
                ))
            })?;
        let mut data = secret.data.unwrap_or_default();
        let mut take = |key: &str| {
            take_key(&mut data, key)
                .map_err(|why| missing(format!("the admin Secret {}/{name} {why}", self.namespace)))
        };
        let username = take(reference.username_key.as_str())?;
        let password = take(reference.password_key.as_str())?;
        Ok(AdminCredential::new(username, password))
    }

    /// One call, ended at the deadline and classified.
    async fn within<T>(
        &self,
        verb: &'static str,
        resource: &'static str,
        namespace: &str,
        name: &str,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Failure> {
        let attempt = Attempt {
            verb,
            resource,
            namespace,
            name,
        };
        within(self.deadline, &attempt, call).await
    }

    fn tenants(&self, namespace: &str) -> Api<PostgreSQLTenant> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn save_status<K, S>(
        &self,
        api: &Api<K>,
        read: &K,
        status: &S,
        resource: &'static str,
    ) -> Result<K, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
        S: Serialize,
    {
        let patch = locked_patch(read, "/status", &json!(status))?;
        let name = read.name_any();
        self.within(
            "patch",
            resource,
            &read.namespace().unwrap_or_default(),
            &name,
            api.patch_status(&name, &writer(), &patch),
        )
        .await
    }

    async fn set_finalizer<K>(
        &self,
        api: &Api<K>,
        read: &K,
        hold: bool,
        resource: &'static str,
    ) -> Result<K, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        let mut finalizers: Vec<&str> = read
            .finalizers()
            .iter()
            .map(String::as_str)
            .filter(|name| *name != FINALIZER)
            .collect();
        if hold {
            finalizers.push(FINALIZER);
        }
        let patch = locked_patch(read, "/metadata/finalizers", &json!(finalizers))?;
        let name = read.name_any();
        self.within(
            "patch",
            resource,
            &read.namespace().unwrap_or_default(),
            &name,
            api.patch(&name, &writer(), &patch),
        )
        .await
    }
}

/// True if our finalizer is on the object.
pub fn is_held<K: ResourceExt>(object: &K) -> bool {
    object.finalizers().iter().any(|name| name == FINALIZER)
}

pub(in crate::adapters) fn writer() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Sets one path whole, only if the object is still the one that was read: writing its own resourceVersion makes the API
/// server compare it, and answer 409 otherwise.
fn locked_patch<K: Resource>(
    read: &K,
    path: &str,
    value: &serde_json::Value,
) -> Result<Patch<()>, Failure> {
    let version = read.meta().resource_version.clone();
    let operations = json!([
        {"op": "add", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": path, "value": value},
    ]);
    serde_json::from_value(operations)
        .map(Patch::Json)
        .map_err(|_| Failure::new(Class::Rejected, "the status could not be encoded"))
}

fn take_key(
    data: &mut BTreeMap<String, k8s_openapi::ByteString>,
    key: &str,
) -> Result<SecretString, String> {
    let bytes = data
        .remove(key)
        .ok_or_else(|| format!("has no key {key}"))?
        .0;
    let text = String::from_utf8(bytes).map_err(|_| format!("key {key} is not UTF-8"))?;
    if text.is_empty() {
        return Err(format!("key {key} is empty"));
    }
    Ok(SecretString::from(text))
}
