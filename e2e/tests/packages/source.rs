//! A registry of one story, and the `PackageRepository` that names it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::Bed;
use e2e::bed::registry::{Access, PASSWORD, Registry, USER};
use e2e::bed::wait::until;
use e2e::world::command::{Output, output};
use e2e::world::objects::all;
use e2e::world::tenantry::{Tenantry, binary};
use kube::api::{Api, DynamicObject};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any scan takes on a busy machine.
pub const SOON: Duration = Duration::from_secs(60);
/// API version of the packages' kinds.
pub const API_VERSION: &str = "deckhouse.io/v1alpha1";
/// A settings schema.
pub const SCHEMA: &str = "{type: object, properties: {size: {type: integer, default: 3}}}";

/// See the module text.
pub struct Source {
    pub bed: Bed,
    /// Name of the PackageRepository, which no other story has.
    pub name: String,
    pub registry: Registry,
    access: Access,
    folder: TempDir,
}

impl Source {
    /// An empty registry beside the shared process; nothing names it yet.
    pub async fn shared(story: &str, access: Access) -> Self {
        let bed = Bed::shared().unwrap();
        Tenantry::shared(&bed).await.unwrap();
        Self::on(bed, story, access).await
    }

    pub async fn on(bed: Bed, story: &str, access: Access) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let unique = folder.path().file_name().unwrap().to_str().unwrap();
        let unique = unique.trim_start_matches('.').to_lowercase();
        let name = format!("{story}-{unique}");
        Self {
            registry: bed.registry(&name, access).await.unwrap(),
            bed,
            name,
            access,
            folder,
        }
    }

    /// The repository's path in the registry.
    pub fn repo(&self) -> String {
        format!("{}/packages", self.registry.address())
    }

    /// Makes the sources of a version, and gives their folder.
    pub fn sources(&self, package: &str, version: &str, schema: &str) -> PathBuf {
        let folder = self.folder.path().join(package).join(version);
        fs::create_dir_all(folder.join("openapi")).unwrap();
        let described =
            format!("apiVersion: v1\nname: {package}\ntype: Application\nversion: {version}\n");
        fs::write(folder.join("package.yaml"), described).unwrap();
        fs::write(folder.join("openapi/settings.yaml"), schema).unwrap();
        fs::write(folder.join("openapi/doc-ru-settings.yaml"), "{}").unwrap();
        folder
    }

    /// `tenantry package push`.
    pub async fn push_folder(&self, folder: &Path, more: &[&str]) -> Output {
        let folder = folder.display().to_string();
        let repo = self.repo();
        let mut arguments = vec!["package", "push", &folder, &repo];
        if !self.access.tls {
            arguments.push("--plain-http");
        }
        arguments.extend(more);
        let mut command = Command::new(binary());
        command.args(arguments);
        output(command, "").await.unwrap()
    }

    /// Pushes a version with this settings schema.
    pub async fn push(&self, package: &str, version: &str, schema: &str) {
        let folder = self.sources(package, version, schema);
        self.push_folder(&folder, &[]).await.success().unwrap();
    }

    /// The repository's manifest; `registry` is more of `spec.registry` in flow style, beginning with a comma.
    pub fn manifest(&self, interval: &str, registry: &str) -> String {
        let scheme = if self.access.tls { "HTTPS" } else { "HTTP" };
        format!(
            "apiVersion: {API_VERSION}\nkind: PackageRepository\nmetadata: {{name: {}}}\nspec: {{scanInterval: {interval}, registry: \
             {{repo: '{}', scheme: {scheme}{registry}}}}}\n",
            self.name,
            self.repo()
        )
    }

    /// The login that the registry wants, for [`Source::manifest`].
    pub fn login() -> String {
        format!(", login: {USER}, password: {PASSWORD}")
    }

    pub async fn apply(&self, manifest: &str) {
        let applied = self.bed.kubectl().apply(manifest).await.unwrap();
        applied.success().unwrap();
    }

    /// Asks for a scan now, and gives the operation's name.
    pub async fn ask(&self, number: usize, update: &str) -> String {
        let name = format!("{}-asked-{number}", self.name);
        self.apply(&format!(
            "apiVersion: {API_VERSION}\nkind: PackageRepositoryOperation\nmetadata: {{name: {name}}}\nspec: {{packageRepository: {}, \
             type: Update, update: {update}}}\n",
            self.name
        ))
        .await;
        name
    }

    pub async fn objects(&self, kind: &str) -> Api<DynamicObject> {
        all(&self.bed.kube().await.unwrap(), API_VERSION, kind)
    }

    /// Waits until the object is so, and gives its status.
    pub async fn await_status(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Value {
        let objects = self.objects(kind).await;
        until(SOON, &format!("{kind} {name}: {what}"), async || {
            let found = objects.get_opt(name).await?;
            let status = found.map(|object| object.data["status"].clone());
            let status = status.unwrap_or_default();
            ensure!(is_so(&status), "it says {status}");
            Ok(status)
        })
        .await
        .unwrap()
    }

    /// Waits until an operation ended, and gives its status.
    pub async fn ended(&self, operation: &str) -> Value {
        let kind = "PackageRepositoryOperation";
        self.await_status(kind, operation, "it ended", |status| {
            ["Completed", "Failed"]
                .iter()
                .any(|phase| status["phase"] == *phase)
        })
        .await
    }

    /// Waits until `MetadataLoaded` of the version has this reason.
    pub async fn await_loaded(&self, package: &str, version: &str, reason: &str) -> Value {
        let name = format!("{}-{package}-{version}", self.name);
        self.await_status("ApplicationPackageVersion", &name, reason, |status| {
            condition(status).is_some_and(|(_, found, _)| found == reason)
        })
        .await
    }

    /// Labels of the version's object.
    pub async fn labels(&self, package: &str, version: &str) -> Result<Value> {
        let name = format!("{}-{package}-{version}", self.name);
        let object = self
            .objects("ApplicationPackageVersion")
            .await
            .get(&name)
            .await?;
        Ok(serde_json::to_value(object.metadata.labels)?)
    }

    /// Waits until the last scan says so.
    pub async fn await_scan(&self, reason: &str, text: &str) -> Value {
        let what = format!("LastScanSucceeded with reason {reason} and {text:?}");
        self.await_status("PackageRepository", &self.name, &what, |status| {
            condition(status)
                .is_some_and(|(_, found, message)| found == reason && message.contains(text))
        })
        .await
    }
}

/// The first condition's status, reason and message.
pub fn condition(status: &Value) -> Option<(&str, &str, &str)> {
    let condition = status["conditions"].get(0)?;
    Some((
        condition["status"].as_str()?,
        condition["reason"].as_str()?,
        condition["message"].as_str()?,
    ))
}
