//! A package directory on the disk, and what is published of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::Bed;
use e2e::bed::wait::until;
use e2e::world::condition::{await_object, condition};
use e2e::world::objects::all;
use e2e::world::tenantry::TenantryOptions;
use kube::api::{Api, DynamicObject};
use tempfile::TempDir;

/// Longer than any look and its round take on a busy machine.
pub const SOON: Duration = Duration::from_secs(60);
/// API version of the packages' kinds.
pub const API_VERSION: &str = "deckhouse.io/v1alpha1";
/// The label of a version that was never loaded.
pub const DRAFT: &str = "packages.deckhouse.io/draft";

/// `DIR/<package>/<version>/`.
pub struct Directory(TempDir);

impl Directory {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn options(&self) -> TenantryOptions {
        TenantryOptions::default()
            .switch("--applications")
            .flag("--package-dir", self.path().display().to_string())
    }

    /// Writes a file, such as `shop/v1.0.0/openapi/settings.yaml`.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Copies a sample of the documentation as a version.
    pub fn copy_sample(&self, sample: &str, version: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../docs/packages")
            .join(sample);
        for folder in ["", "openapi"] {
            for entry in fs::read_dir(from.join(folder)).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    let name = entry.file_name().into_string().unwrap();
                    let text = fs::read_to_string(entry.path()).unwrap();
                    self.write(&format!("{sample}/{version}/{folder}/{name}"), &text);
                }
            }
        }
    }
}

pub async fn versions(bed: &Bed) -> Api<DynamicObject> {
    all(
        &bed.kube().await.unwrap(),
        API_VERSION,
        "ApplicationPackageVersion",
    )
}

/// Waits until `MetadataLoaded` has this reason, and gives the object.
pub async fn await_loaded(bed: &Bed, name: &str, reason: &str) -> Result<DynamicObject> {
    let versions = versions(bed).await;
    until(SOON, &format!("{name} is there"), async || {
        ensure!(versions.get_opt(name).await?.is_some(), "it is not");
        Ok(())
    })
    .await?;
    await_object(&versions, name, reason, SOON, |object| {
        let labels = object.metadata.labels.iter().flatten();
        let is_draft = labels
            .into_iter()
            .any(|(label, value)| label == DRAFT && value == "true");
        let loaded = reason == "MetadataLoaded";
        condition(object, "MetadataLoaded").is_some_and(|condition| condition.reason == reason)
            && (is_draft != loaded || !loaded)
    })
    .await
}
