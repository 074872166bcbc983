//! A namespace with the account that releases are applied as, and a bundle of one story.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use domain::releases::Instance;
use domain::releases::context::Context;
use domain::releases::revisions::{Revision, Status};
use e2e::Bed;
use e2e::world::objects::Namespace;
use e2e::world::tenantry::binary;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;
use tenantry::adapters::helm::revisions::revisions;
use tenantry::adapters::helm::{Helm, Identity, Release, ReleaseError};
use tenantry::adapters::kubernetes::identity::Accounts;
use tenantry::adapters::kubernetes::kinds::kinds;

/// No call to the API server may take longer.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// The account of a namespace.
pub const ACCOUNT: &str = "tenantry-applications";

/// See the module text.
pub struct Stand {
    pub bed: Bed,
    pub namespace: Namespace,
    pub instance: Instance,
    pub helm: Helm,
    pub accounts: Accounts,
    folder: TempDir,
}

impl Stand {
    /// With the account, which has this cluster role in the namespace.
    pub async fn new(story: &str, role: &str) -> Self {
        let stand = Self::without_account(story).await;
        let kubectl = stand.bed.kubectl();
        let namespace = &stand.namespace.name;
        let account = ["-n", namespace, "create", "serviceaccount", ACCOUNT];
        kubectl.run(&account).await.unwrap().success().unwrap();
        let (role, subject) = (
            format!("--clusterrole={role}"),
            format!("--serviceaccount={namespace}:{ACCOUNT}"),
        );
        let binding = [
            "-n",
            namespace,
            "create",
            "rolebinding",
            ACCOUNT,
            &role,
            &subject,
        ];
        kubectl.run(&binding).await.unwrap().success().unwrap();
        stand
    }

    pub async fn without_account(story: &str) -> Self {
        let bed = Bed::shared().unwrap();
        let namespace = Namespace::create(&bed, story).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let program = bed.description().programs.helm.join("helm");
        let own = fs::canonicalize(binary()).unwrap();
        let kubeconfig = Kubeconfig::read_from(&bed.description().kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .unwrap();
        let client = Client::try_from(config.clone()).unwrap();
        Self {
            instance: Instance {
                namespace: namespace.name.clone(),
                name: "shop".to_owned(),
            },
            helm: Helm::new(program, own, folder.path().to_owned()),
            accounts: Accounts::new(client, config, ACCOUNT.to_owned(), DEADLINE),
            bed,
            namespace,
            folder,
        }
    }

    /// The bundle's folder.
    pub fn bundle(&self) -> PathBuf {
        self.folder.path().join("bundle")
    }

    /// Writes a file of the bundle.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.bundle().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A template that prints what it sees into a `ConfigMap`.
    pub fn write_printer(&self) {
        self.write(
            "templates/_part.tpl",
            "{{ define \"part\" }}{{ .Application.Settings.size }}{{ end }}",
        );
        self.write(
            "templates/seen.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d8a-{{ .Application.Instance.Name }}-seen\ndata:\n  settings: {{ \
             .Application.Settings | toJson | quote }}\n  values: {{ .Values | toJson | quote }}\n  part: {{ include \"part\" . | quote }}\n  \
             image: {{ .Application.Package.Images.app }}\n  version: {{ .Application.Package.Version }}\n  platform: {{ .Platform.domain | \
             quote }}\n  big: \"{{ .Application.Settings.big }}\"\n",
        );
        self.write("images_digests.json", "{\"app\": \"sha256:ab\"}");
    }

    pub async fn identity(&self) -> Identity {
        self.accounts.identity(&self.namespace.name).await.unwrap()
    }

    /// Applies the bundle with these settings, which are the values too.
    pub async fn apply(&self, settings: Value) -> Result<(), ReleaseError> {
        let identity = self.identity().await;
        self.apply_as(settings, &identity).await
    }

    pub async fn apply_as(&self, settings: Value, identity: &Identity) -> Result<(), ReleaseError> {
        let images = BTreeMap::from([("app".to_owned(), "sha256:ab".to_owned())]);
        let platform = json!({"domain": "example.org"});
        let client = self.accounts.client(&self.namespace.name).await.unwrap();
        let bundle = self.bundle();
        let release = Release {
            context: Context {
                instance: &self.instance,
                package: "online-shop",
                version: "v1.0.0",
                repository: "registry.example.org/packages/online-shop",
                docker_config: "",
                images: &images,
                settings: &settings,
                platform: &platform,
            },
            bundle: &bundle,
            values: &settings,
            digest: "d1",
            kinds: Some(kinds(&client, DEADLINE).await.unwrap()),
        };
        self.helm.apply(&release, identity).await
    }

    pub async fn revisions(&self) -> Vec<Revision> {
        let client = self.accounts.client(&self.namespace.name).await.unwrap();
        let mut found = revisions(&client, &self.instance, DEADLINE).await.unwrap();
        found.sort_by_key(|revision| revision.number);
        found
    }

    pub async fn statuses(&self) -> Vec<Status> {
        self.revisions()
            .await
            .iter()
            .map(|revision| revision.status)
            .collect()
    }

    /// `kubectl get` as JSON; null if there is none.
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
        let said = self
            .bed
            .kubectl()
            .run(&arguments)
            .await
            .unwrap()
            .success()
            .unwrap();
        serde_json::from_str(&said.stdout).unwrap_or_default()
    }

    /// What the printer saw.
    pub async fn seen(&self) -> Value {
        self.get("configmap", "d8a-shop-seen").await["data"].clone()
    }
}
