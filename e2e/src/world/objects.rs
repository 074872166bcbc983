//! Objects of any kind in the cluster, and namespaces that isolate stories.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Namespace as KubeNamespace, Secret};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ObjectMeta, PostParams};

use crate::Bed;

/// A namespace of one story. It stays until the bed goes: its deletion takes 5 s that no story needs to wait for.
pub struct Namespace {
    /// Its unique name.
    pub name: String,
    client: Client,
}

impl Namespace {
    /// Makes a namespace called `STORY-` and random digits.
    pub async fn create(bed: &Bed, story: &str) -> Result<Self> {
        let client = bed.kube().await?;
        let name = format!("{story}-{:08x}", rand::random::<u32>());
        let metadata = ObjectMeta {
            name: Some(name.clone()),
            ..ObjectMeta::default()
        };
        let namespace = KubeNamespace {
            metadata,
            ..KubeNamespace::default()
        };
        Api::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .with_context(|| format!("creating namespace {name}"))?;
        Ok(Self { name, client })
    }

    /// The administrator's client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Objects of a kind in this namespace.
    #[must_use]
    pub fn objects(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(
            self.client.clone(),
            &self.name,
            &resource(api_version, kind),
        )
    }

    /// The values of a Secret as text.
    pub async fn secret(&self, name: &str) -> Result<BTreeMap<String, String>> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.name);
        let secret = secrets
            .get(name)
            .await
            .with_context(|| format!("Secret {}/{name}", self.name))?;
        let text = |(key, value): (String, k8s_openapi::ByteString)| {
            Ok((key, String::from_utf8(value.0)?))
        };
        secret
            .data
            .unwrap_or_default()
            .into_iter()
            .map(text)
            .collect()
    }

    /// Makes a Secret of text values.
    pub async fn create_secret(&self, name: &str, values: &[(&str, &str)]) -> Result<()> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.name);
        let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            string_data: Some(values.iter().map(text).collect()),
            ..Secret::default()
        };
        let created = secrets.create(&PostParams::default(), &secret).await;
        created
            .map(drop)
            .with_context(|| format!("creating Secret {}/{name}", self.name))
    }
}

/// Objects of a kind without a namespace, or of all namespaces; `api_version` as in a manifest.
#[must_use]
pub fn all(client: &Client, api_version: &str, kind: &str) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &resource(api_version, kind))
}

/// Objects of a kind in a namespace that a story did not make through [`Namespace`].
#[must_use]
pub fn namespaced(
    client: &Client,
    namespace: &str,
    api_version: &str,
    kind: &str,
) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource(api_version, kind))
}

fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}
