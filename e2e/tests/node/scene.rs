//! A bed with a node and the chart installed on it, with values for what is around it and no others.

use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::bed::postgres::{ADMIN, MANAGEMENT_DATABASE};
use e2e::bed::{SYSTEM_NAMESPACE, wait};
use e2e::world::chart::{chart_folder, helm_in};
use e2e::world::command::Output;
use e2e::world::condition::await_condition;
use e2e::world::objects;
use e2e::world::tenancy::API_VERSION;
use e2e::{Bed, Options};

pub const SOON: Duration = Duration::from_secs(90);

/// See the module text.
pub struct Scene {
    pub bed: Bed,
}

impl Scene {
    /// A bed whose node has Tenantry's image; nothing is installed.
    pub async fn prepared() -> Self {
        let bed = Bed::private(Options::default().openbao_in_memory().with_node())
            .await
            .unwrap();
        let scene = Self { bed };
        scene.bed.import_image(&image()).await.unwrap();
        let ca_file = scene.bed.description().ca_file.display().to_string();
        scene
            .kubectl(&[
                "-n",
                SYSTEM_NAMESPACE,
                "create",
                "configmap",
                "authority",
                &format!("--from-file=ca.crt={ca_file}"),
            ])
            .await;
        // What the chart promises, the API server enforces.
        let restricted = "pod-security.kubernetes.io/enforce=restricted";
        scene
            .kubectl(&["label", "namespace", SYSTEM_NAMESPACE, restricted])
            .await;
        scene
    }

    /// `helm upgrade --install --wait`. The values say where OpenBao is and who signed PostgreSQL's certificate; there is no DNS on
    /// the node, so OpenBao has an address.
    pub async fn install(&self, values: &[&str]) {
        let chart = chart_folder().display().to_string();
        let openbao = format!("openbao.address={}", self.bed.description().openbao.address);
        let mut arguments = vec!["upgrade", "--install", "tenantry", &chart];
        arguments.extend([
            "--namespace",
            SYSTEM_NAMESPACE,
            "--wait",
            "--timeout",
            "120s",
        ]);
        // The bed made the CRDs.
        arguments.extend(["--take-ownership", "--force-conflicts"]);
        arguments.extend(["--set", &openbao]);
        arguments.extend(["--set", "postgresql.ca.configMapName=authority"]);
        arguments.extend(values.iter().flat_map(|value| ["--set", value]));
        let installed = helm_in(&self.bed, &arguments).await.unwrap().success();
        if let Err(error) = installed {
            panic!("{error}\n{}", self.pods_say().await);
        }
    }

    /// What a person would look at when an installation fails.
    async fn pods_say(&self) -> String {
        let mut said = String::new();
        for arguments in [
            &["-n", SYSTEM_NAMESPACE, "describe", "pods"][..],
            &[
                "-n",
                SYSTEM_NAMESPACE,
                "logs",
                "--prefix",
                "--tail=20",
                "-l",
                "app.kubernetes.io/name=tenantry",
            ],
        ] {
            let output = self.bed.kubectl().run(arguments).await.unwrap();
            said.push_str(&output.stdout);
            said.push_str(&output.stderr);
        }
        said
    }

    /// An Instance of the bed's server that is `Ready`, and a namespace for Tenants.
    pub async fn registered(&self) {
        let server = self.bed.postgres();
        let password = format!(
            "--from-literal=password={}",
            server.admin_password().unwrap()
        );
        let username = format!("--from-literal=username={ADMIN}");
        let secret = ["create", "secret", "generic", "admin", &username, &password];
        self.kubectl(&[&["-n", SYSTEM_NAMESPACE], &secret[..]].concat())
            .await;
        let at = server.description();
        self.apply(&format!(
            "apiVersion: {API_VERSION}\nkind: PostgreSQLInstance\nmetadata: {{name: shared}}\nspec:\n  endpoint: {{host: {}, \
             hostaddr: {}, port: {}, database: {}}}\n  adminCredentialRef: {{name: admin}}\n",
            at.host, at.host_address, at.port, at.management_database
        ))
        .await
        .success()
        .unwrap();
        let client = self.bed.kube().await.unwrap();
        let instances = objects::all(&client, API_VERSION, "PostgreSQLInstance");
        await_condition(&instances, "shared", "Ready", "True", SOON)
            .await
            .unwrap();
        self.kubectl(&["create", "namespace", "team"]).await;
    }

    /// Applies a Tenant and waits until it is `Ready`.
    pub async fn ready_tenant(&self, name: &str) {
        self.apply(&tenant(name, name)).await.success().unwrap();
        self.tenant_ready(name).await;
    }

    /// Waits until a Tenant is `Ready`.
    pub async fn tenant_ready(&self, name: &str) {
        let path = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
        let arguments = ["-n", "team", "get", "pgtenant", name, "-o", path];
        wait::until(SOON, "the Tenant is ready", async || {
            let seen = self.bed.kubectl().run(&arguments).await?;
            anyhow::ensure!(seen.stdout == "True", "{}{}", seen.stdout, seen.stderr);
            Ok(())
        })
        .await
        .unwrap();
    }

    /// A Tenant that only the webhook refuses is refused: its database is the management database of the Instance.
    pub async fn thief_is_refused(&self) -> anyhow::Result<()> {
        let refused = self.apply(&tenant("thief", MANAGEMENT_DATABASE)).await;
        anyhow::ensure!(
            refused.code != 0
                && refused
                    .stderr
                    .contains("is the management database of Instance"),
            "{}{}",
            refused.stdout,
            refused.stderr
        );
        Ok(())
    }

    /// `kubectl apply`; a refusal is in the output.
    pub async fn apply(&self, manifest: &str) -> Output {
        self.bed.kubectl().apply(manifest).await.unwrap()
    }

    /// `kubectl`, which must succeed.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.bed.kubectl().run(arguments).await.unwrap();
        output.success().unwrap().stdout
    }

    /// The names of the pods that are ready.
    pub async fn ready_pods(&self) -> Vec<String> {
        let path = r#"jsonpath={range .items[?(@.status.containerStatuses[0].ready==true)]}{.metadata.name}{"\n"}{end}"#;
        let selector = "app.kubernetes.io/name=tenantry";
        let pods = self
            .kubectl(&[
                "-n",
                SYSTEM_NAMESPACE,
                "get",
                "pods",
                "-l",
                selector,
                "-o",
                path,
            ])
            .await;
        pods.lines().map(str::to_owned).collect()
    }
}

/// A Tenant in the namespace `team`.
pub fn tenant(name: &str, database: &str) -> String {
    format!(
        "apiVersion: {API_VERSION}\nkind: PostgreSQLTenant\nmetadata: {{name: {name}, namespace: team}}\n\
         spec: {{instanceRef: shared, database: {database}, loginRole: {name}}}\n"
    )
}

/// The image of `make image`, or that of the variable `TENANTRY_IMAGE`.
fn image() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/image/tenantry.tar");
    std::env::var_os("TENANTRY_IMAGE").map_or_else(built, PathBuf::from)
}
