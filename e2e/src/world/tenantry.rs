//! The process under test, as the chart's ServiceAccount with only the chart's rights.
//!
//! Decides its flags in one place; it is the only way a story starts Tenantry.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use reqwest::StatusCode;
use serde::{Deserialize, Serialize};

use super::chart::{chart_folder, install_chart_from};
use crate::Bed;
use crate::bed::openbao::{MOUNT, TENANTRY};
use crate::bed::pki::Certificate;
use crate::bed::ports::free_port;
use crate::bed::process::{Process, Spawn};
use crate::bed::wait::until;
use crate::bed::{
    Description, RunFolder, SERVICE_ACCOUNT, STORE, SYSTEM_NAMESPACE, kube_client, kubeconfig,
    service_account_token, write_private,
};

/// The chart's webhook configuration.
pub const WEBHOOK_CONFIGURATION: &str = "tenantry";
const SELF_SIGNED: &str = "--self-signed";

/// With the shared process, packages whose name begins so have a settings check that answers what the settings say.
pub const CHECKED: &str = "checked-";

/// The package directory of the shared process.
#[must_use]
pub fn shared_packages(bed: &Bed) -> PathBuf {
    bed.folder().join("packages")
}

/// How Tenantry is started.
#[derive(Clone, Debug, Default)]
pub struct TenantryOptions {
    /// `FAILPOINTS`, in the syntax of the crate `fail`; needs a binary built with `--features failpoints`.
    pub failpoints: Option<String>,
    /// `RUST_LOG`; `info` if not set.
    pub log: Option<String>,
    chart: Option<PathBuf>,
    flags: BTreeMap<&'static str, String>,
}

impl TenantryOptions {
    /// Sets a flag such as `--openbao-mount` to another value than the usual one, or adds one.
    #[must_use]
    pub fn flag(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.flags.insert(name, value.into());
        self
    }

    /// Installs another chart than that of this workspace, a folder or an archive.
    #[must_use]
    pub fn chart(mut self, chart: PathBuf) -> Self {
        self.chart = Some(chart);
        self
    }

    /// Adds a flag that has no value.
    #[must_use]
    pub fn switch(self, name: &'static str) -> Self {
        self.flag(name, "")
    }

    /// The process makes its serving certificate itself.
    #[must_use]
    pub fn self_signed(self) -> Self {
        self.switch(SELF_SIGNED)
            .flag("--self-signed-name", "127.0.0.1")
            .flag("--webhook-configuration", WEBHOOK_CONFIGURATION)
    }

    fn is_self_signed(&self) -> bool {
        self.flags.contains_key(SELF_SIGNED)
    }

    /// Sets `FAILPOINTS`.
    #[must_use]
    pub fn failpoints(mut self, failpoints: impl Into<String>) -> Self {
        self.failpoints = Some(failpoints.into());
        self
    }
}

/// A process of Tenantry, running or stopped. One that `start` made is stopped when dropped.
pub struct Tenantry {
    /// How it is started by `restart`.
    pub options: TenantryOptions,
    /// `https://127.0.0.1:PORT`
    pub url: String,
    run: RunFolder,
    name: String,
    port: u16,
    description: Description,
    stop_on_drop: bool,
}

/// The shared process, as recorded in the run folder.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct Shared {
    port: u16,
    binary: PathBuf,
    modified: SystemTime,
}

impl Tenantry {
    /// Installs the chart, starts a process and waits until it is ready. For private beds: two processes in one bed
    /// would both reconcile everything.
    pub async fn start(bed: &Bed, options: TenantryOptions) -> Result<Self> {
        let mut tenantry = Self::prepare(bed, "tenantry", free_port()?, options).await?;
        tenantry.stop_on_drop = true;
        tenantry.restart().await?;
        Ok(tenantry)
    }

    /// The one process that all stories on the shared bed use; the first one starts it, `bed down` stops it. It is
    /// started anew when the binary was built anew. It serves Applications, and publishes what stories write into
    /// [`shared_packages`].
    pub async fn shared(bed: &Bed) -> Result<Self> {
        let record = bed.folder().join("tenantry-shared.json");
        let lock = File::create(bed.folder().join("tenantry-shared.lock"))?;
        lock.lock()?;
        let binary = binary();
        let modified = fs::metadata(&binary).and_then(|meta| meta.modified());
        let modified =
            modified.with_context(|| format!("{}: build Tenantry first", binary.display()))?;
        let packages = shared_packages(bed);
        fs::create_dir_all(&packages)?;
        let options = TenantryOptions::default()
            .switch("--applications")
            .flag("--package-dir", packages.display().to_string())
            .failpoints(format!("settings-check=return({CHECKED})"));
        let recorded: Option<Shared> = fs::read(&record)
            .ok()
            .and_then(|json| serde_json::from_slice(&json).ok());
        let alive = bed
            .process(SERVICE_ACCOUNT)
            .is_some_and(|process| process.is_alive());
        if let Some(shared) = recorded
            && alive
            && shared.binary == binary
            && shared.modified == modified
        {
            return Ok(Self::open(bed, "tenantry", shared.port, options));
        }
        let port = free_port()?;
        let tenantry = Self::prepare(bed, "tenantry", port, options).await?;
        tenantry.restart().await?;
        fs::write(
            &record,
            serde_json::to_string(&Shared {
                port,
                binary,
                modified,
            })?,
        )?;
        Ok(tenantry)
    }

    /// Stops the process (SIGTERM) if it runs, and starts it again on the same port with `self.options`.
    pub async fn restart(&self) -> Result<()> {
        self.stop();
        self.spawn()?;
        self.ready(Duration::from_secs(30)).await
    }

    /// Starts the process without waiting for it.
    pub fn spawn(&self) -> Result<()> {
        let mut spawn = Spawn::new(&self.name, binary())
            .args(self.arguments())
            .env("KUBECONFIG", self.file("kubeconfig"))
            .env("RUST_LOG", self.options.log.as_deref().unwrap_or("info"));
        match &self.options.failpoints {
            Some(failpoints) => spawn = spawn.env("FAILPOINTS", failpoints),
            None => drop(spawn.command.env_remove("FAILPOINTS")),
        }
        spawn.start(&self.run)?;
        Ok(())
    }

    /// Waits until `/readyz` says yes.
    pub async fn ready(&self, limit: Duration) -> Result<()> {
        until(limit, "Tenantry is ready", async || {
            if let Some(process) = self.process() {
                process.check(&self.run)?;
            }
            let (status, body) = self.get("/readyz").await?;
            ensure!(status.is_success(), "/readyz says {status}: {body}");
            Ok(())
        })
        .await
    }

    /// Another replica with the same options, not yet started.
    pub async fn another(&self, bed: &Bed, name: &str) -> Result<Self> {
        let mut tenantry = Self::open(bed, name, free_port()?, self.options.clone());
        tenantry.identify(bed).await?;
        tenantry.stop_on_drop = true;
        Ok(tenantry)
    }

    /// Asks it to end (SIGTERM) and waits.
    pub fn stop(&self) {
        if let Some(process) = self.process() {
            process.stop(&self.run);
        }
    }

    /// Kills it without a warning.
    pub fn kill9(&self) {
        if let Some(process) = self.process() {
            process.kill9(&self.run);
        }
    }

    /// Waits until it has ended by itself, as at a failpoint.
    pub async fn ended(&self, limit: Duration) -> Result<()> {
        until(limit, "Tenantry ends", async || {
            ensure!(
                !self.process().is_some_and(|process| process.is_alive()),
                "it runs"
            );
            Ok(())
        })
        .await
    }

    /// The process, if it was started and not stopped.
    #[must_use]
    pub fn process(&self) -> Option<Process> {
        Process::recorded(&self.run, &self.name)
    }

    /// Its log file, of all its starts.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.run.logs().join(format!("{}.log", self.name))
    }

    /// Status and body of a GET, such as of `/metrics`.
    pub async fn get(&self, path: &str) -> Result<(StatusCode, String)> {
        let http = if self.options.is_self_signed() {
            trusting(self.ca_bundle().await?.as_bytes())?
        } else {
            self.http()?
        };
        let answer = http.get(format!("{}{path}", self.url)).send().await?;
        Ok((answer.status(), answer.text().await?))
    }

    /// An HTTP client that trusts the bed's authority.
    pub fn http(&self) -> Result<reqwest::Client> {
        trusting(&fs::read(&self.description.ca_file)?)
    }

    /// The authorities that the API server verifies the webhook with, PEM.
    pub async fn ca_bundle(&self) -> Result<String> {
        let client = kube_client(&self.description.kubeconfig).await?;
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client);
        let found = configurations.get(WEBHOOK_CONFIGURATION).await?;
        let webhook = found.webhooks.unwrap_or_default().into_iter().next();
        let bundle = webhook.and_then(|webhook| webhook.client_config.ca_bundle);
        Ok(String::from_utf8(bundle.context("no caBundle")?.0)?)
    }

    /// The id that the API server's audit log has for this process's token.
    pub fn credential_id(&self) -> Result<String> {
        let token = fs::read_to_string(self.file("token"))?;
        let claims = token.split('.').nth(1).context("no JWT")?;
        let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims)?;
        let claims: serde_json::Value = serde_json::from_slice(&claims)?;
        let id = claims.get("jti").and_then(serde_json::Value::as_str);
        Ok(format!("JTI={}", id.context("the token has no id")?))
    }

    fn open(bed: &Bed, name: &str, port: u16, options: TenantryOptions) -> Self {
        Self {
            options,
            url: format!("https://127.0.0.1:{port}"),
            run: bed.folder().clone(),
            name: name.to_owned(),
            port,
            description: bed.description().clone(),
            stop_on_drop: false,
        }
    }

    /// The chart, and what the process needs of the bed.
    async fn prepare(bed: &Bed, name: &str, port: u16, options: TenantryOptions) -> Result<Self> {
        let tenantry = Self::open(bed, name, port, options);
        let chart = tenantry.options.chart.clone();
        let chart = chart.unwrap_or_else(chart_folder);
        let ca_file = &tenantry.description.ca_file;
        let mut values = Vec::new();
        if tenantry.options.flags.contains_key("--applications") {
            values.push(("applications.enabled", "true"));
        }
        install_chart_from(bed, &chart, &tenantry.url, ca_file, &values).await?;
        tenantry.identify(bed).await?;
        Ok(tenantry)
    }

    /// The token, the kubeconfig and the serving certificate.
    async fn identify(&self, bed: &Bed) -> Result<()> {
        let tenantry = self;
        bed.authority()?
            .serving(&format!("{}-serving", self.name), &[])?;
        let day = 24 * 60 * 60;
        let token =
            service_account_token(&bed.kube().await?, SYSTEM_NAMESPACE, SERVICE_ACCOUNT, day)
                .await?;
        let config = kubeconfig(
            &tenantry.description.kubernetes_url,
            &tenantry.description.ca_file,
            &token,
        );
        write_private(&tenantry.file("kubeconfig"), &config)?;
        write_private(&tenantry.file("token"), &token)?;
        Ok(())
    }

    /// The variables with which another command of the program reaches what this process reaches, with the same rights.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.display().to_string();
        vec![
            ("KUBECONFIG", text(&self.file("kubeconfig"))),
            ("POD_NAMESPACE", SYSTEM_NAMESPACE.to_owned()),
            ("TENANTRY_POSTGRES_CA_FILE", text(&self.description.ca_file)),
            (
                "TENANTRY_OPENBAO_ADDRESS",
                self.description.openbao.address.clone(),
            ),
            ("TENANTRY_OPENBAO_MOUNT", MOUNT.to_owned()),
            (
                "TENANTRY_OPENBAO_SERVICE_ACCOUNT_TOKEN_FILE",
                text(&self.file("token")),
            ),
        ]
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.run.join(format!("pki/{}-{kind}", self.name))
    }

    /// The command line, of which `options` may have changed some.
    fn arguments(&self) -> Vec<String> {
        let serving = Certificate::of(&self.run, &format!("{}-serving", self.name));
        let text = |path: &Path| path.display().to_string();
        let openbao = &self.description.openbao.address;
        let mut flags = BTreeMap::from([
            ("--bind-address", format!("127.0.0.1:{}", self.port)),
            ("--tls-cert-file", text(&serving.certificate)),
            ("--tls-key-file", text(&serving.key)),
            ("--namespace", SYSTEM_NAMESPACE.to_owned()),
            ("--postgres-ca-file", text(&self.description.ca_file)),
            ("--openbao-address", openbao.clone()),
            ("--openbao-consumer-address", openbao.clone()),
            ("--openbao-mount", MOUNT.to_owned()),
            ("--openbao-base-path", TENANTRY.to_owned()),
            ("--openbao-auth", "kubernetes".to_owned()),
            ("--openbao-role", TENANTRY.to_owned()),
            ("--openbao-auth-mount", "kubernetes".to_owned()),
            (
                "--openbao-service-account-token-file",
                text(&self.file("token")),
            ),
            ("--secret-store-name", STORE.to_owned()),
            ("--secret-store-kind", "ClusterSecretStore".to_owned()),
            ("--resync-interval", "10m".to_owned()),
            ("--log-format", "json".to_owned()),
        ]);
        if self.options.flags.contains_key("--applications") {
            flags.insert("--helm", text(&self.description.programs.helm.join("helm")));
            flags.insert("--bundle-dir", text(&self.file("packages")));
        }
        flags.extend(self.options.flags.clone());
        if self.options.is_self_signed() {
            flags.retain(|name, _| !name.starts_with("--tls-"));
        }
        let pairs = flags
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value])
            .filter(|word| !word.is_empty());
        std::iter::once("run".to_owned()).chain(pairs).collect()
    }
}

impl Drop for Tenantry {
    fn drop(&mut self) {
        if self.stop_on_drop {
            self.stop();
        }
    }
}

/// An HTTP client of one connection a request that trusts these authorities alone, and shows whom it met.
pub fn trusting(authorities: &[u8]) -> Result<reqwest::Client> {
    Ok(client(authorities)?
        .pool_max_idle_per_host(0)
        .tls_info(true)
        .build()?)
}

/// An HTTP client that trusts these authorities alone and keeps its connections, as the API server does.
pub fn reusing(authorities: &[u8]) -> Result<reqwest::Client> {
    Ok(client(authorities)?.build()?)
}

fn client(authorities: &[u8]) -> Result<reqwest::ClientBuilder> {
    crate::bed::install_crypto_provider();
    let authorities = reqwest::Certificate::from_pem_bundle(authorities)?;
    Ok(reqwest::Client::builder()
        .tls_certs_only(authorities)
        .timeout(Duration::from_secs(30)))
}

/// The binary: `TENANTRY_BIN`, else the debug build of this workspace.
pub fn binary() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/tenantry");
    std::env::var_os("TENANTRY_BIN").map_or_else(built, PathBuf::from)
}
