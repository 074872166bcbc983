//! A namespace with the account that Applications are applied as, and a package of one story.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::Bed;
use e2e::bed::wait::until;
use e2e::world::command::{Output, output};
use e2e::world::objects::Namespace;
use e2e::world::tenantry::{Tenantry, binary, shared_packages};
use serde_json::Value;

/// Longer than any run takes on a busy machine.
pub const SOON: Duration = Duration::from_secs(90);
/// API version of the packages' kinds.
pub const API_VERSION: &str = "deckhouse.io/v1alpha1";
/// The account of a namespace.
pub const ACCOUNT: &str = "tenantry-applications";
/// A settings schema.
pub const SETTINGS: &str = "{type: object, properties: {size: {type: integer, default: 3, maximum: 100}, class: {type: string}}}";
/// A template that prints what it sees.
pub const PRINTER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d8a-{{ .Application.Instance.Name }}-seen}\ndata:\n  settings: {{ \
     .Application.Settings | toJson | quote }}\n  values: {{ .Values | toJson | quote }}\n  version: {{ .Application.Package.Version }}\n";

/// See the module text.
pub struct Stand {
    pub bed: Bed,
    pub namespace: Namespace,
    pub package: String,
    repository: PathBuf,
}

impl Stand {
    /// On the shared bed, with the account and version v1.0.0 of the package.
    pub async fn shared(story: &str) -> Self {
        let stand = Self::shared_without_account(story).await;
        stand.make_account().await;
        stand
    }

    pub async fn shared_without_account(story: &str) -> Self {
        let bed = Bed::shared().unwrap();
        Tenantry::shared(&bed).await.unwrap();
        let repository = shared_packages(&bed);
        Self::on(bed, repository, story).await
    }

    /// On a bed whose process publishes from `repository`.
    pub async fn on(bed: Bed, repository: PathBuf, story: &str) -> Self {
        let namespace = Namespace::create(&bed, story).await.unwrap();
        let package = namespace.name.clone();
        let stand = Self {
            bed,
            namespace,
            package,
            repository,
        };
        stand.publish("v1.0.0", &[]).await;
        stand
    }

    pub async fn make_account(&self) {
        let namespace = &self.namespace.name;
        let subject = format!("--serviceaccount={namespace}:{ACCOUNT}");
        for arguments in [
            &["-n", namespace, "create", "serviceaccount", ACCOUNT][..],
            &[
                "-n",
                namespace,
                "create",
                "rolebinding",
                ACCOUNT,
                "--clusterrole=edit",
                &subject,
            ],
        ] {
            self.kubectl(arguments).await.success().unwrap();
        }
    }

    pub async fn kubectl(&self, arguments: &[&str]) -> Output {
        self.bed.kubectl().run(arguments).await.unwrap()
    }

    /// Publishes a version with the usual schema and printer, and these further files; waits until it is published.
    pub async fn publish(&self, version: &str, files: &[(&str, &str)]) {
        let folder = self.repository.join(&self.package).join(version);
        let usual = [
            ("openapi/settings.yaml", SETTINGS),
            ("templates/seen.yaml", PRINTER),
        ];
        for (path, text) in usual.iter().chain(files) {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let name = format!("local-{}-{version}", self.package);
        until(SOON, &format!("{name} is published"), async || {
            let arguments = [
                "get",
                "apv",
                &name,
                "-o",
                "jsonpath={.status.conditions[0].status}",
            ];
            let said = self.kubectl(&arguments).await;
            ensure!(said.stdout == "True", "{}{}", said.stdout, said.stderr);
            Ok(())
        })
        .await
        .unwrap();
    }

    /// Pushes a version of the story's package to a registry without TLS.
    pub async fn push(&self, repo: &str, version: &str, files: &[(&str, &str)]) {
        let folder = tempfile::tempdir().unwrap();
        let about = format!(
            "apiVersion: v1\nname: {}\ntype: Application\nversion: {version}\n",
            self.package
        );
        let usual = [
            ("package.yaml", about.as_str()),
            ("openapi/doc-ru-settings.yaml", "{}"),
        ];
        for (path, text) in usual.iter().chain(files) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut command = Command::new(binary());
        command
            .args(["package", "push"])
            .arg(folder.path())
            .args([repo, "--plain-http"]);
        output(command, "").await.unwrap().success().unwrap();
    }

    /// Makes a file of a version a program.
    pub fn executable(&self, version: &str, path: &str) {
        let path = self.repository.join(&self.package).join(version).join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The story's Application; `more` is more of its spec in flow style, beginning with a comma.
    pub fn manifest(&self, version: &str, settings: &str, more: &str) -> String {
        format!(
            "apiVersion: {API_VERSION}\nkind: Application\nmetadata: {{name: shop, namespace: {}}}\nspec: {{packageName: {}, \
             packageRepositoryName: local, packageVersion: {version}, settings: {settings}{more}}}\n",
            self.namespace.name, self.package
        )
    }

    /// Applies the Application once the webhook knows the version.
    pub async fn apply(&self, version: &str, settings: &str, more: &str) {
        let manifest = self.manifest(version, settings, more);
        until(SOON, "the Application is accepted", async || {
            let said = self.bed.kubectl().apply(&manifest).await?;
            said.success().map(drop)
        })
        .await
        .unwrap();
    }

    /// Deletes the Application, and waits until it is gone.
    pub async fn remove(&self) {
        let namespace = self.namespace.name.as_str();
        let delete = [
            "-n",
            namespace,
            "delete",
            "application",
            "shop",
            "--timeout=60s",
        ];
        self.kubectl(&delete).await.success().unwrap();
    }

    pub async fn application(&self) -> Value {
        self.get("application", "shop").await
    }

    /// An object of the namespace; null if there is none.
    pub async fn get(&self, kind: &str, name: &str) -> Value {
        let arguments = [
            "-n",
            &self.namespace.name,
            "get",
            kind,
            name,
            "-o",
            "json",
            "--ignore-not-found",
        ];
        let said = self.kubectl(&arguments).await.success().unwrap();
        serde_json::from_str(&said.stdout).unwrap_or_default()
    }

    /// Waits until the Application is so, and gives it.
    pub async fn awaited(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        until(SOON, what, async || {
            let object = self.application().await;
            ensure!(is_so(&object), "it says {}", object["status"]);
            Ok(object)
        })
        .await
        .unwrap()
    }

    /// Waits until it is Ready with these settings applied.
    pub async fn ready(&self, settings: &Value) -> Value {
        self.awaited(&format!("Ready with {settings}"), |object| {
            let status = &object["status"];
            status["summary"]["state"] == "Ready" && status["lastAppliedConfiguration"] == *settings
        })
        .await
    }

    /// What the printer saw.
    pub async fn seen(&self) -> Result<Value> {
        let seen = self.get("configmap", "d8a-shop-seen").await;
        ensure!(seen != Value::Null, "there is no ConfigMap");
        Ok(seen["data"].clone())
    }

    /// Names of the release's Secrets.
    pub async fn revisions(&self) -> Vec<String> {
        let arguments = [
            "-n",
            &self.namespace.name,
            "get",
            "secret",
            "-l",
            "owner=helm",
            "-o",
            "name",
        ];
        let said = self.kubectl(&arguments).await.success().unwrap();
        said.stdout.lines().map(str::to_owned).collect()
    }
}

/// Reason of a condition of the Application.
pub fn reason<'a>(object: &'a Value, type_: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|found| found["type"] == type_)?;
    Some((
        found["status"].as_str()?,
        found["reason"].as_str()?,
        found["message"].as_str()?,
    ))
}
