//! The calls: each with its own deadline, each write bound to the very object that was judged.

use std::time::Duration;

use domain::tenancy::facts::{ProjectionFact, SecretFact};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::Uid;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};

use super::super::kubernetes::failure::{Attempt, is_absent, is_unsupported};
use super::{FIELD_MANAGER, FORCE_SYNC, Intent, TENANT_UID, body, observe, ownership, resource};

/// A manager of its own, so that the annotation is not among the fields that we apply.
const FORCE_SYNC_MANAGER: &str = "tenantry-force-sync";
/// How often applying is tried while the object changes under it.
const ATTEMPTS: u32 = 3;
const EXTERNAL_SECRETS: &str = "externalsecrets.external-secrets.io";

fn attempt<'a>(verb: &'static str, namespace: &'a str, name: &'a str) -> Attempt<'a> {
    Attempt {
        verb,
        resource: EXTERNAL_SECRETS,
        namespace,
        name,
    }
}

/// An ExternalSecret as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// What rules read.
    pub fact: ProjectionFact,
    /// Its resourceVersion, if there is one.
    pub version: Option<String>,
}

/// Each ExternalSecret and Secret, of all namespaces.
#[derive(Clone)]
pub struct Projections {
    client: kube::Client,
    deadline: Duration,
}

impl Projections {
    /// `deadline` is that of each call; the client itself has none.
    #[must_use]
    pub fn new(client: kube::Client, deadline: Duration) -> Self {
        Self { client, deadline }
    }

    /// Reads an ExternalSecret and compares it with what is wanted; without that it counts as not wanted so.
    ///
    /// # Errors
    /// Why it could not be seen; [`Class::ProjectionUnsupported`] if the API is not served.
    pub async fn observe(
        &self,
        namespace: &str,
        name: &str,
        wanted: Option<&Intent>,
        now: Timestamp,
    ) -> Result<Observed, Failure> {
        let live = self.get(namespace, name).await?;
        Ok(Observed {
            version: live.as_ref().and_then(ResourceExt::resource_version),
            fact: live.map_or(ProjectionFact::Absent, |live| {
                observe::projection(&live, wanted, now)
            }),
        })
    }

    /// Makes the ExternalSecret, or makes ours as wanted again (H29).
    ///
    /// # Errors
    /// [`Class::Conflict`] if there is one that does not carry this Tenant's UID (T3), [`Class::Stale`] if it changed in the
    /// meantime; nothing was written then.
    pub async fn apply(&self, intent: &Intent) -> Result<(), Failure> {
        let mut applied = self.apply_once(intent).await;
        for _ in 1..ATTEMPTS {
            // ESO writes the status of the same object at any moment; what it is has to be read again then.
            if !applied
                .as_ref()
                .is_err_and(|failure| failure.class == Class::Stale)
            {
                break;
            }
            applied = self.apply_once(intent).await;
        }
        applied
    }

    async fn apply_once(&self, intent: &Intent) -> Result<(), Failure> {
        let (namespace, name) = (intent.namespace.as_str(), intent.name.as_str());
        match self.get(namespace, name).await? {
            None => self.create(intent).await,
            Some(live) if observe::owner_of(&live.metadata).as_ref() != Some(&intent.owner) => {
                let text =
                    format!("ExternalSecret {name} exists and does not carry this tenant's UID");
                Err(Failure::new(Class::Conflict, text))
            }
            Some(live) if live.metadata.deletion_timestamp.is_some() => {
                Err(attempt("patch", namespace, name).stale())
            }
            Some(live) => self.restore(live, intent).await,
        }
    }

    /// Asks ESO to sync now; `uid` is the ExternalSecret's (D8).
    ///
    /// # Errors
    /// [`Class::Stale`] if it is another one by now, or gone.
    pub async fn force_sync(
        &self,
        namespace: &str,
        name: &str,
        uid: &Uid,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let patch = json!({
            "metadata": { "uid": uid.as_str(), "annotations": { FORCE_SYNC: now.as_second().to_string() } },
        });
        let params = PatchParams {
            field_manager: Some(FORCE_SYNC_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.patch(namespace, name, &params, &Patch::Merge(&patch))
            .await
            .map(drop)
    }

    /// Gives an ExternalSecret that carries one of `from` to another Tenant UID (T4): its annotation and label alone. None of that
    /// name is no failure: the Tenant's own round makes it.
    ///
    /// # Errors
    /// [`Class::Conflict`] if it carries another UID or none, [`Class::Stale`] if it changed in the meantime.
    pub async fn hand_over(
        &self,
        namespace: &str,
        name: &str,
        from: &[Uid],
        to: &Uid,
    ) -> Result<(), Failure> {
        let Some(live) = self.get(namespace, name).await? else {
            return Ok(());
        };
        let owner = observe::owner_of(&live.metadata);
        if owner.as_ref() == Some(to) {
            return Ok(());
        }
        if !owner.is_some_and(|owner| from.contains(&owner)) {
            let text = format!("ExternalSecret {name} does not carry the UID that is given up");
            return Err(Failure::new(Class::Conflict, text));
        }
        let patch = json!({ "metadata": {
            "uid": live.metadata.uid, "resourceVersion": live.metadata.resource_version,
            "annotations": { TENANT_UID: to.as_str() }, "labels": { TENANT_UID: to.as_str() },
        } });
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.patch(namespace, name, &params, &Patch::Merge(&patch))
            .await
            .map(drop)
    }

    /// Deletes the ExternalSecret with this UID, without waiting for ESO (D5); one that is gone is deleted already.
    ///
    /// # Errors
    /// [`Class::Stale`] if there is another one of this name by now.
    pub async fn delete(&self, namespace: &str, name: &str, uid: &Uid) -> Result<(), Failure> {
        let attempt = attempt("delete", namespace, name);
        let preconditions = Preconditions {
            uid: Some(uid.as_str().to_owned()),
            resource_version: None,
        };
        let params = DeleteParams {
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        };
        let api = self.api(namespace);
        match self.in_time(&attempt, api.delete(name, &params)).await? {
            Ok(_) => Ok(()),
            Err(error) if is_absent(&error) || is_unsupported(&error) => Ok(()),
            Err(error) => Err(attempt.failed(&error)),
        }
    }

    /// Who owns the target Secret. Only its metadata are asked for, never its content (D6).
    ///
    /// # Errors
    /// Why it could not be seen.
    pub async fn secret(
        &self,
        namespace: &str,
        secret_name: &str,
        projection_name: &str,
    ) -> Result<SecretFact, Failure> {
        let attempt = Attempt {
            verb: "get",
            resource: "secrets",
            namespace,
            name: secret_name,
        };
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        match self
            .in_time(&attempt, api.get_metadata(secret_name))
            .await?
        {
            Ok(secret) => Ok(observe::secret(&secret.metadata, projection_name)),
            Err(error) if is_absent(&error) => Ok(SecretFact::Absent),
            Err(error) => Err(attempt.failed(&error)),
        }
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<DynamicObject>, Failure> {
        let attempt = attempt("get", namespace, name);
        let api = self.api(namespace);
        match self.in_time(&attempt, api.get(name)).await? {
            Ok(live) => Ok(Some(live)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(attempt.failed(&error)),
        }
    }

    /// A POST, because it alone fails if someone else was faster.
    async fn create(&self, intent: &Intent) -> Result<(), Failure> {
        let attempt = attempt("create", &intent.namespace, &intent.name);
        let object: DynamicObject =
            serde_json::from_value(body(intent)).map_err(|_| attempt.stale())?;
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let api = self.api(&intent.namespace);
        let created = self.in_time(&attempt, api.create(&params, &object)).await?;
        created.map(drop).map_err(|error| attempt.failed(&error))
    }

    /// Server-side apply, forced, on the very object that was judged to be ours: its UID is a precondition.
    async fn restore(&self, live: DynamicObject, intent: &Intent) -> Result<(), Failure> {
        let (namespace, name) = (intent.namespace.as_str(), intent.name.as_str());
        let live = match ownership::as_applied(&live) {
            None => live,
            Some(entries) => {
                let version = live.metadata.resource_version.as_deref();
                let patch =
                    json!({ "metadata": { "resourceVersion": version, "managedFields": entries } });
                let params = PatchParams {
                    field_manager: Some(FIELD_MANAGER.to_owned()),
                    ..PatchParams::default()
                };
                self.patch(namespace, name, &params, &Patch::Merge(&patch))
                    .await?
            }
        };
        let mut wanted = body(intent);
        if let Some(metadata) = wanted.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("uid".to_owned(), json!(live.metadata.uid));
        }
        let params = PatchParams::apply(FIELD_MANAGER).force();
        self.patch(namespace, name, &params, &Patch::Apply(&wanted))
            .await
            .map(drop)
    }

    async fn patch(
        &self,
        namespace: &str,
        name: &str,
        params: &PatchParams,
        patch: &Patch<&Value>,
    ) -> Result<DynamicObject, Failure> {
        let attempt = attempt("patch", namespace, name);
        let api = self.api(namespace);
        let patched = self
            .in_time(&attempt, api.patch(name, params, patch))
            .await?;
        patched.map_err(|error| attempt.failed(&error))
    }

    fn api(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource())
    }

    async fn in_time<T>(
        &self,
        attempt: &Attempt<'_>,
        call: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        tokio::time::timeout(self.deadline, call)
            .await
            .map_err(|_| attempt.late())
    }
}
