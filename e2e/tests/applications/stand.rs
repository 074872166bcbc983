//! A package of one story, published from the shared directory, and Applications of it in the story's namespace.
//!
//! The namespace has no account to apply anything with, so nothing is installed here: where a story needs what is installed, it writes the
//! status through the subresource, as the controller does after a success.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use e2e::Bed;
use e2e::bed::wait::until;
use e2e::world::command::Output;
use e2e::world::objects::Namespace;
use e2e::world::tenantry::{CHECKED, Tenantry, shared_packages};
use serde_json::{Value, json};

use super::directory::{API_VERSION, SOON, await_loaded};

/// The name of the Application that a story is about.
pub const NAME: &str = "shop";
/// The version that a story begins with.
pub const FIRST: &str = "v1.0.0";

/// See the module text.
pub struct Stand {
    pub bed: Bed,
    pub namespace: Namespace,
    pub package: String,
    repository: PathBuf,
}

impl Stand {
    /// On the shared bed; version v1.0.0 of the package has this settings schema.
    pub async fn shared(story: &str, schema: &str) -> Self {
        Self::named(story, "", schema).await
    }

    /// The same, and the package has a settings check that answers `settings.check`.
    pub async fn checked(story: &str, schema: &str) -> Self {
        Self::named(story, CHECKED, schema).await
    }

    async fn named(story: &str, prefix: &str, schema: &str) -> Self {
        let bed = Bed::shared().unwrap();
        Tenantry::shared(&bed).await.unwrap();
        let repository = shared_packages(&bed);
        Self::on(bed, repository, (story, prefix), schema).await
    }

    /// On a bed whose process publishes from `repository`.
    pub async fn on(
        bed: Bed,
        repository: PathBuf,
        (story, prefix): (&str, &str),
        schema: &str,
    ) -> Self {
        let namespace = Namespace::create(&bed, story).await.unwrap();
        let package = format!("{prefix}{}", namespace.name);
        let stand = Self {
            bed,
            namespace,
            package,
            repository,
        };
        stand.publish(FIRST, schema).await;
        stand
    }

    /// Publishes a version with this settings schema, and waits until the webhook knows it.
    pub async fn publish(&self, version: &str, schema: &str) {
        self.write(version, "openapi/settings.yaml", schema);
        self.published(version).await;
    }

    /// Writes a file of a version, not yet waiting for anything.
    pub fn write(&self, version: &str, file: &str, text: &str) {
        let path = self.repository.join(&self.package).join(version).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Waits until the version is published and the webhook knows it.
    pub async fn published(&self, version: &str) {
        let name = format!("local-{}-{version}", self.package);
        await_loaded(&self.bed, &name, "MetadataLoaded")
            .await
            .unwrap();
        until(SOON, "the webhook knows the version", async || {
            let manifest = self.manifest("probe", version, "{}", "");
            let said = self.dry_run(&manifest).await?.stderr;
            for unknown in [
                "there is no ApplicationPackage",
                "ApplicationPackageVersion",
            ] {
                ensure!(!said.contains(unknown), "{said}");
            }
            Ok(())
        })
        .await
        .unwrap();
    }

    /// An Application of the package. `settings` is YAML in flow style; `annotation` acknowledges destructive switches.
    pub fn manifest(&self, name: &str, version: &str, settings: &str, annotation: &str) -> String {
        let annotations = if annotation.is_empty() {
            String::new()
        } else {
            format!(
                ", annotations: {{applications.deckhouse.io/allow-destructive-settings-switch: '{annotation}'}}"
            )
        };
        format!(
            "apiVersion: {API_VERSION}\nkind: Application\nmetadata: {{name: {name}, namespace: {}{annotations}}}\nspec: \
             {{packageName: {}, packageRepositoryName: local, packageVersion: {version}, settings: {settings}}}\n",
            self.namespace.name, self.package
        )
    }

    /// `kubectl apply` of the story's Application at v1.0.0; a refusal is in the output.
    pub async fn apply(&self, settings: &str) -> Output {
        self.apply_manifest(&self.manifest(NAME, FIRST, settings, ""))
            .await
    }

    /// The same at another version.
    pub async fn apply_at(&self, version: &str, settings: &str) -> Output {
        self.apply_manifest(&self.manifest(NAME, version, settings, ""))
            .await
    }

    pub async fn apply_manifest(&self, manifest: &str) -> Output {
        self.bed.kubectl().apply(manifest).await.unwrap()
    }

    pub async fn dry_run(&self, manifest: &str) -> Result<Output> {
        let arguments = ["apply", "--dry-run=server", "-f", "-"];
        self.bed
            .kubectl()
            .run_with_input(&arguments, manifest)
            .await
    }

    /// Asserts that the settings are refused, and that kubectl shows these lines and no other.
    #[track_caller]
    pub fn refused(output: &Output, lines: &[&str]) {
        assert_eq!(output.code, 1, "{}{}", output.stdout, output.stderr);
        let head = format!("The Application \"{NAME}\" is invalid: ");
        let expected = match lines {
            [only] => format!("{head}{only}\n"),
            many => {
                let listed: Vec<String> = many.iter().map(|line| format!("* {line}\n")).collect();
                format!("{head}\n{}", listed.concat())
            }
        };
        assert_eq!(output.stderr, expected, "{}", output.stdout);
    }

    /// Asserts that the settings are stored, and that kubectl shows these warnings and no other.
    #[track_caller]
    pub fn stored(output: &Output, warnings: &[&str]) {
        assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
        let expected: Vec<String> = warnings
            .iter()
            .map(|warning| format!("Warning: {warning}\n"))
            .collect();
        assert_eq!(output.stderr, expected.concat(), "{}", output.stdout);
    }

    /// As the controller records a successful apply of these effective settings.
    pub async fn installed(&self, version: &str, applied: &Value) {
        let status = json!({
            "currentVersion": {"version": version}, "lastAppliedConfiguration": applied,
        });
        self.record(&status).await;
    }

    /// Writes into the story's Application's status.
    pub async fn record(&self, status: &Value) {
        self.merge_status(("application", NAME), status).await;
    }

    /// What the project was granted of `resource`; the webhook knows it once `probe` says so.
    pub async fn grant(&self, resource: &str, default: &str, available: &[&str]) {
        let namespace = self.namespace.name.as_str();
        let manifest = format!(
            "apiVersion: multitenancy.deckhouse.io/v1alpha1\nkind: AvailableClusterResource\nmetadata: {{name: {resource}, namespace: {namespace}}}\n"
        );
        self.bed
            .kubectl()
            .apply(&manifest)
            .await
            .unwrap()
            .success()
            .unwrap();
        let listed: Vec<Value> = available
            .iter()
            .map(|name| json!({ "name": name }))
            .collect();
        let status = json!({"default": default, "available": listed});
        self.merge_status(("availableclusterresource", resource), &status)
            .await;
    }

    async fn merge_status(&self, (kind, name): (&str, &str), status: &Value) {
        let object = (kind, self.namespace.name.as_str(), name);
        let said = self.bed.kubectl().merge_status(object, status).await;
        said.unwrap().success().unwrap();
    }

    /// Runs kubectl, which must succeed.
    pub async fn kubectl(&self, arguments: &[&str]) -> Output {
        let said = self.bed.kubectl().run(arguments).await.unwrap();
        said.success().unwrap()
    }

    /// Asks without storing until the answer is as wanted: the webhook's caches follow the cluster.
    pub async fn eventually(&self, settings: &str, wanted: impl Fn(&Output) -> bool) -> Output {
        let manifest = self.manifest(NAME, FIRST, settings, "");
        until(SOON, "the webhook knows of the change", async || {
            let output = self.dry_run(&manifest).await?;
            ensure!(wanted(&output), "{}{}", output.stdout, output.stderr);
            Ok(output)
        })
        .await
        .unwrap()
    }
}
