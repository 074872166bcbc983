//! The self-signed serving pair where replicas share it: in a Secret, trusted by the `caBundle` of our webhook configuration.
//!
//! It reads, writes under the resourceVersion that was read, and reads again when it lost. What is due is decided in
//! [`certs::upkeep`]; a Secret that holds something else than our pair is left alone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use certs::upkeep::{self, Material, Why, Wishes};
use domain::tenancy::failure::{Class, Failure};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::api::{ObjectMeta, Patch, PostParams};
use kube::{Api, Client, Resource as _};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::kubernetes::failure::{Attempt, within};
use super::kubernetes::{FIELD_MANAGER, writer};

/// Marks a Secret that holds our pair, so that no other Secret is ever overwritten.
const MARK: (&str, &str) = ("database.ddupan.top/serving-certificate", "self-signed");
const CONFIGURATIONS: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";
/// Replicas that start at once lose a race or two.
const ATTEMPTS: usize = 20;

/// Why the pair or its trust could not be kept up.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// The webhook configuration could not be read.
    #[error("the webhook configuration could not be read: {0}")]
    ReadConfiguration(#[source] Failure),
    /// The Secret could not be read.
    #[error("the serving Secret could not be read: {0}")]
    ReadSecret(#[source] Failure),
    /// The Secret could not be written.
    #[error("the serving Secret could not be written: {0}")]
    WriteSecret(#[source] Failure),
    /// `caBundle` could not be written.
    #[error("caBundle could not be written: {0}")]
    Publish(#[source] Failure),
    /// A certificate could not be made.
    #[error("no certificate could be made: {0}")]
    Issue(#[from] certs::IssueError),
    /// The Secret is somebody else's.
    #[error(
        "Secret {0} holds something that Tenantry did not make; name another one by --self-signed-secret, or remove it"
    )]
    NotOurs(String),
    /// Others kept writing.
    #[error("other replicas kept changing the serving Secret or the webhook configuration")]
    Contended,
}

impl ServingError {
    fn is_lost_race(&self) -> bool {
        matches!(self, Self::WriteSecret(failure) | Self::Publish(failure) if failure.class == Class::Stale)
    }
}

/// What one pass found and did.
#[derive(Debug)]
pub struct Pass {
    /// What is to be served.
    pub material: Material,
    /// Why the Secret was written, if it was.
    pub changed: Option<Why>,
    /// How the webhook configuration is.
    pub trust: Trust,
}

/// Whether the API server trusts what is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// `caBundle` was right, or there is no configuration of ours to write.
    InForce,
    /// `caBundle` was written just now.
    Published,
    /// The configuration does not exist yet.
    Absent,
}

/// Where pair and trust are kept.
pub struct SelfSigned {
    secrets: Api<Secret>,
    configurations: Api<ValidatingWebhookConfiguration>,
    namespace: String,
    secret: String,
    configuration: Option<String>,
    wishes: Wishes,
    deadline: Duration,
}

impl SelfSigned {
    /// In this Secret, for this webhook configuration, if any.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: &str,
        (secret, configuration): (&str, Option<&str>),
        wishes: Wishes,
        deadline: Duration,
    ) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), namespace),
            configurations: Api::all(client),
            namespace: namespace.to_owned(),
            secret: secret.to_owned(),
            configuration: configuration.map(str::to_owned),
            wishes,
            deadline,
        }
    }

    /// What errors of the serving pair are about.
    #[must_use]
    pub fn names(&self) -> certs::PairFiles {
        let part = |key| PathBuf::from(format!("Secret {}/{} {key}", self.namespace, self.secret));
        certs::PairFiles {
            certificate: part(upkeep::CERTIFICATE),
            key: part(upkeep::KEY),
        }
    }

    /// The Secret, for events.
    #[must_use]
    pub fn about(&self) -> ObjectReference {
        Secret {
            metadata: ObjectMeta {
                name: Some(self.secret.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        }
        .object_ref(&())
    }

    /// Makes, renews and publishes what is due; `held` is what this process serves with.
    ///
    /// # Errors
    /// The step that failed. What is served stays as it is.
    pub async fn pass(&self, held: Option<&Material>) -> Result<Pass, ServingError> {
        let mut changed = None;
        for _ in 0..ATTEMPTS {
            match self.once(held, &mut changed).await {
                Ok((material, trust)) => {
                    return Ok(Pass {
                        material,
                        changed,
                        trust,
                    });
                }
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error),
            }
        }
        Err(ServingError::Contended)
    }

    /// The configuration is read before the Secret: whoever published a newer Secret in between then refuses our older bundle.
    async fn once(
        &self,
        held: Option<&Material>,
        changed: &mut Option<Why>,
    ) -> Result<(Material, Trust), ServingError> {
        let configuration = self.configuration().await?;
        let secret = self.stored().await?;
        let in_force = configuration.as_ref().and_then(bundle).unwrap_or_default();
        let stored = secret.as_ref().and_then(data);
        let (material, why) = upkeep::keep(
            stored.as_ref(),
            &in_force,
            held,
            &self.wishes,
            SystemTime::now(),
        )?;
        if let Some(why) = why {
            self.store(secret, &material).await?;
            *changed = Some(why);
        }
        let trust = match (&self.configuration, configuration) {
            (None, _) => Trust::InForce,
            (Some(_), None) => Trust::Absent,
            (Some(name), Some(found)) => self.publish(name, &found, &material.bundle()).await?,
        };
        Ok((material, trust))
    }

    async fn configuration(&self) -> Result<Option<ValidatingWebhookConfiguration>, ServingError> {
        let Some(name) = &self.configuration else {
            return Ok(None);
        };
        let attempt = Attempt {
            verb: "get",
            resource: CONFIGURATIONS,
            namespace: "",
            name,
        };
        within(self.deadline, &attempt, self.configurations.get_opt(name))
            .await
            .map_err(ServingError::ReadConfiguration)
    }

    async fn stored(&self) -> Result<Option<Secret>, ServingError> {
        let get = self.secrets.get_opt(&self.secret);
        let found = within(self.deadline, &self.attempt("get"), get)
            .await
            .map_err(ServingError::ReadSecret)?;
        match found {
            Some(secret) if !is_ours(&secret) => Err(ServingError::NotOurs(format!(
                "{}/{}",
                self.namespace, self.secret
            ))),
            found => Ok(found),
        }
    }

    async fn store(&self, before: Option<Secret>, material: &Material) -> Result<(), ServingError> {
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let exists = before.is_some();
        let mut secret = before.unwrap_or_else(|| Secret {
            metadata: ObjectMeta {
                name: Some(self.secret.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/tls".to_owned()),
            ..Secret::default()
        });
        let annotations = secret.metadata.annotations.get_or_insert_default();
        annotations.insert(MARK.0.to_owned(), MARK.1.to_owned());
        let data = secret.data.get_or_insert_default();
        for (key, text) in material.to_store() {
            let bytes = ByteString(text.expose_secret().as_bytes().to_vec());
            data.insert(key.to_owned(), bytes);
        }
        let written = if exists {
            let replace = self.secrets.replace(&self.secret, &params, &secret);
            within(self.deadline, &self.attempt("update"), replace).await
        } else {
            let create = self.secrets.create(&params, &secret);
            within(self.deadline, &self.attempt("create"), create).await
        };
        written.map(drop).map_err(ServingError::WriteSecret)
    }

    async fn publish(
        &self,
        name: &str,
        found: &ValidatingWebhookConfiguration,
        bundle: &str,
    ) -> Result<Trust, ServingError> {
        let wanted = ByteString(bundle.as_bytes().to_vec());
        let version = found.metadata.resource_version.clone();
        let mut operations =
            vec![json!({"op": "add", "path": "/metadata/resourceVersion", "value": version})];
        for (at, webhook) in found.webhooks.iter().flatten().enumerate() {
            if webhook.client_config.ca_bundle.as_ref() != Some(&wanted) {
                let path = format!("/webhooks/{at}/clientConfig/caBundle");
                operations.push(json!({"op": "add", "path": path, "value": wanted}));
            }
        }
        if operations.len() == 1 {
            return Ok(Trust::InForce);
        }
        let attempt = Attempt {
            verb: "patch",
            resource: CONFIGURATIONS,
            namespace: "",
            name,
        };
        let patch = serde_json::from_value(json!(operations))
            .map(Patch::<()>::Json)
            .map_err(|_| {
                let text = "caBundle could not be encoded";
                ServingError::Publish(Failure::new(Class::Rejected, text))
            })?;
        let params = writer();
        let patch = self.configurations.patch(name, &params, &patch);
        within(self.deadline, &attempt, patch)
            .await
            .map_err(ServingError::Publish)?;
        Ok(Trust::Published)
    }

    fn attempt(&self, verb: &'static str) -> Attempt<'_> {
        Attempt {
            verb,
            resource: "secrets",
            namespace: &self.namespace,
            name: &self.secret,
        }
    }
}

/// Marked by us, or still empty, as a chart may make it.
fn is_ours(secret: &Secret) -> bool {
    let marked = secret
        .metadata
        .annotations
        .iter()
        .flatten()
        .any(|(key, value)| (key.as_str(), value.as_str()) == MARK);
    marked || data(secret).is_none()
}

/// What the Secret holds; `None` if that is nothing.
fn data(secret: &Secret) -> Option<BTreeMap<String, Vec<u8>>> {
    let data: BTreeMap<String, Vec<u8>> = secret
        .data
        .iter()
        .flatten()
        .map(|(key, bytes)| (key.clone(), bytes.0.clone()))
        .collect();
    data.values().any(|bytes| !bytes.is_empty()).then_some(data)
}

/// The first `caBundle` of the configuration.
fn bundle(configuration: &ValidatingWebhookConfiguration) -> Option<Vec<u8>> {
    let mut webhooks = configuration.webhooks.iter().flatten();
    webhooks.find_map(|webhook| Some(webhook.client_config.ca_bundle.clone()?.0))
}
