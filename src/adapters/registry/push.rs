//! Images for a registry: built so that the same layers give the same digest, and sent so that what is there is not sent again.
//!
//! Decides the form of the manifest. Which tag may be replaced is decided by whoever asks.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderValue;
use oci_client::Reference;
use oci_client::client::ImageLayer;
use oci_client::manifest::{
    IMAGE_CONFIG_MEDIA_TYPE, IMAGE_LAYER_GZIP_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciDescriptor,
    OciImageManifest,
};
use serde_json::json;

use super::client::Registry;
use super::failure::{Ask, RegistryError};

/// An image of one layer, ready to be sent.
#[derive(Clone, Debug)]
pub struct Sendable {
    /// The digest of its manifest.
    pub digest: String,
    manifest: Bytes,
    blobs: Vec<(String, Bytes)>,
}

impl Sendable {
    /// An image of a `tar` in gzip; `unpacked` is the digest of the `tar` itself. Nothing of it depends on time or place.
    ///
    /// # Errors
    /// The image has no JSON form.
    pub fn of(layer: Bytes, unpacked: &str) -> Result<Self, serde_json::Error> {
        let config = Bytes::from(serde_json::to_vec(&json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [unpacked]},
        }))?);
        let layer_descriptor = descriptor(IMAGE_LAYER_GZIP_MEDIA_TYPE, &layer);
        let config_descriptor = descriptor(IMAGE_CONFIG_MEDIA_TYPE, &config);
        let blobs = vec![
            (layer_descriptor.digest.clone(), layer),
            (config_descriptor.digest.clone(), config),
        ];
        let manifest = OciImageManifest {
            schema_version: 2,
            media_type: Some(OCI_IMAGE_MEDIA_TYPE.to_owned()),
            config: config_descriptor,
            layers: vec![layer_descriptor],
            ..OciImageManifest::default()
        };
        let manifest = Bytes::from(serde_json::to_vec(&manifest)?);
        Ok(Self {
            digest: digest_of(&manifest),
            manifest,
            blobs,
        })
    }
}

impl Registry {
    /// Sends an image under a tag, which is replaced if it is there.
    ///
    /// # Errors
    /// What the registry answers.
    pub async fn push(&self, path: &str, tag: &str, image: &Sendable) -> Result<(), RegistryError> {
        let to = self.access.image(path, tag)?;
        let ask = self.ask(format!("pushing {to}"));
        self.within(&ask, self.send(&to, image, &ask)).await
    }

    async fn send(
        &self,
        to: &Reference,
        image: &Sendable,
        ask: &Ask<'_>,
    ) -> Result<(), RegistryError> {
        let client = &self.client;
        client
            .store_auth_if_needed(to.resolve_registry(), &self.access.auth)
            .await;
        for (digest, blob) in &image.blobs {
            let there = client.blob_exists(to, digest).await;
            if !there.map_err(|error| ask.failed(&error))? {
                let sent = client.push_blob(to, blob.clone(), digest).await;
                sent.map_err(|error| ask.failed(&error))?;
            }
        }
        let content_type = HeaderValue::from_static(OCI_IMAGE_MEDIA_TYPE);
        let sent = client
            .push_manifest_raw(to, image.manifest.clone(), content_type)
            .await;
        sent.map(drop).map_err(|error| ask.failed(&error))
    }
}

fn descriptor(media_type: &str, bytes: &Bytes) -> OciDescriptor {
    OciDescriptor {
        media_type: media_type.to_owned(),
        digest: digest_of(bytes),
        size: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        ..OciDescriptor::default()
    }
}

fn digest_of(bytes: &Bytes) -> String {
    ImageLayer::new(bytes.clone(), String::new(), Some(BTreeMap::new())).sha256_digest()
}
