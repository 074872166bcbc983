//! The layers of an image, read within bounds and against their digests.
//!
//! Decides how much is read. A size is judged twice: as the manifest names it, before a byte is asked for, and as it comes.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::StreamExt as _;
use oci_client::manifest::{ImageIndexEntry, OciDescriptor, OciImageManifest};
use oci_client::{Client, Reference};
use tokio::fs::File;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::failure::{Ask, Kind, RegistryError};

/// The most bytes of all layers of a version's metadata, as they come: they are held in memory.
pub const METADATA_MAX: u64 = 16 << 20;
/// The most bytes of all layers of a bundle, as they come: they go to a disk.
pub const BUNDLE_MAX: u64 = 512 << 20;
/// The most layers of an image.
pub const LAYERS_MAX: usize = 128;

/// A layer in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its digest, which was verified.
    pub digest: String,
    /// An archive, plain or in gzip.
    pub bytes: Bytes,
}

/// An image in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The digest of its manifest, which was verified.
    pub digest: String,
    /// From the lowest to the highest.
    pub layers: Vec<Layer>,
}

/// An image on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The digest of its manifest, which was verified.
    pub digest: String,
    /// Files with an archive each, from the lowest layer to the highest.
    pub layers: Vec<PathBuf>,
}

/// Which entry of an index is taken: that of linux/amd64, or the only image. Attestations that builders add are no images.
pub(super) fn entry_of(entries: &[ImageIndexEntry]) -> Option<String> {
    let platform = |entry: &ImageIndexEntry| {
        let platform = entry.platform.as_ref()?;
        Some((platform.os.to_string(), platform.architecture.to_string()))
    };
    let is = |entry: &ImageIndexEntry, os: &str, architecture: &str| {
        platform(entry).is_some_and(|found| found.0 == os && found.1 == architecture)
    };
    let images: Vec<&ImageIndexEntry> = entries
        .iter()
        .filter(|entry| !is(entry, "unknown", "unknown"))
        .collect();
    let fitting = images.iter().find(|entry| is(entry, "linux", "amd64"));
    match (fitting, images.as_slice()) {
        (Some(entry), _) => Some(entry.digest.clone()),
        (None, [only]) => Some(only.digest.clone()),
        _ => None,
    }
}

/// Judges the sizes that a manifest names.
pub(super) fn judge(
    manifest: &OciImageManifest,
    most: u64,
    ask: &Ask<'_>,
) -> Result<(), RegistryError> {
    if manifest.layers.len() > LAYERS_MAX {
        return Err(ask.too_large(&format!("it has more than {LAYERS_MAX} layers")));
    }
    let mut sum: u64 = 0;
    for layer in &manifest.layers {
        if !is_archive(&layer.media_type) {
            return Err(ask.damaged("a layer is neither tar nor tar in gzip"));
        }
        sum = sum.saturating_add(size(layer, ask)?);
    }
    if sum > most {
        let mib = most >> 20;
        return Err(ask.too_large(&format!("its layers have more than {mib} MiB")));
    }
    Ok(())
}

fn is_archive(media_type: &str) -> bool {
    use oci_client::manifest as known;
    [
        known::IMAGE_LAYER_MEDIA_TYPE,
        known::IMAGE_LAYER_GZIP_MEDIA_TYPE,
        known::IMAGE_DOCKER_LAYER_TAR_MEDIA_TYPE,
        known::IMAGE_DOCKER_LAYER_GZIP_MEDIA_TYPE,
    ]
    .contains(&media_type)
}

fn size(layer: &OciDescriptor, ask: &Ask<'_>) -> Result<u64, RegistryError> {
    u64::try_from(layer.size).map_err(|_| ask.damaged("its manifest names a size below zero"))
}

/// Reads a layer, which is as long as the manifest says and has the digest that it says.
pub(super) async fn read<W: AsyncWrite + Unpin>(
    client: &Client,
    image: &Reference,
    layer: &OciDescriptor,
    out: &mut W,
    ask: &Ask<'_>,
) -> Result<(), RegistryError> {
    let declared = size(layer, ask)?;
    // By digest alone: the foreign URLs that a manifest may name are not followed.
    let answer = client.pull_blob_stream(image, layer.digest.as_str()).await;
    let mut answer = answer.map_err(|error| ask.failed(&error))?;
    let mut received: u64 = 0;
    while let Some(part) = answer.stream.next().await {
        let part = match part {
            Ok(part) => part,
            // The digest is judged when the answer ends, so a short one shows as a wrong one.
            Err(error) if received < declared && ask.broken(&error).kind == Kind::Damaged => {
                return Err(ask.damaged("a layer was cut short"));
            }
            Err(error) => return Err(ask.broken(&error)),
        };
        received = received.saturating_add(part.len() as u64);
        if received > declared {
            return Err(ask.damaged("a layer is longer than its manifest says"));
        }
        out.write_all(&part).await.map_err(disk)?;
    }
    if received < declared {
        return Err(ask.damaged("a layer was cut short"));
    }
    out.flush().await.map_err(disk)
}

/// Reads the layers into memory.
pub(super) async fn into_memory(
    client: &Client,
    image: &Reference,
    manifest: &OciImageManifest,
    ask: &Ask<'_>,
) -> Result<Vec<Layer>, RegistryError> {
    let mut layers = Vec::new();
    for layer in &manifest.layers {
        let mut bytes = Vec::new();
        read(client, image, layer, &mut bytes, ask).await?;
        layers.push(Layer {
            digest: layer.digest.clone(),
            bytes: bytes.into(),
        });
    }
    Ok(layers)
}

/// Reads the layers into new files of a folder.
pub(super) async fn into_folder(
    client: &Client,
    image: &Reference,
    manifest: &OciImageManifest,
    folder: &Path,
    ask: &Ask<'_>,
) -> Result<Vec<PathBuf>, RegistryError> {
    let mut layers = Vec::new();
    for (position, layer) in manifest.layers.iter().enumerate() {
        let path = folder.join(format!("layer-{position}"));
        let mut file = File::create_new(&path).await.map_err(disk)?;
        read(client, image, layer, &mut file, ask).await?;
        layers.push(path);
    }
    Ok(layers)
}

#[expect(clippy::needless_pass_by_value, reason = "the form of map_err")]
fn disk(error: std::io::Error) -> RegistryError {
    RegistryError::new(
        Kind::Disk,
        format!("a layer cannot be kept: {}", error.kind()),
    )
}
