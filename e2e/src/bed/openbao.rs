//! The bed's OpenBao: initialised and unsealed by the bed, KV v2 at `secret/`, Kubernetes auth for Tenantry.
//!
//! Decides its configuration and policies. Keys and tokens stay in the run folder; the server is plain HTTP on loopback.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::StatusCode;
use vaultrs::api::auth::kubernetes::requests::CreateKubernetesRoleRequest;
use vaultrs::api::sys::requests::EnableEngineRequest;
use vaultrs::api::token::requests::CreateTokenRequest;
use vaultrs::client::{VaultClient, VaultClientSettingsBuilder};

use super::address;
use super::description::OpenBaoDescription;
use super::folder::RunFolder;
use super::ports::free_port;
use super::process::{Process, Spawn};
use super::wait::until;
use super::{SYSTEM_NAMESPACE, Storage};

const NAME: &str = "openbao";
/// Mount of the KV v2 engine.
pub const MOUNT: &str = "secret";
/// Folder inside the mount, policy and role of Tenantry.
pub const TENANTRY: &str = "tenantry";

/// What Tenantry may do in OpenBao: the policy that its documentation asks for.
const TENANTRY_POLICY: &str = r#"
path "secret/data/tenantry/*" { capabilities = ["create", "read", "update"] }
path "secret/metadata/tenantry/*" { capabilities = ["create", "read", "update", "delete", "list"] }
path "secret/undelete/tenantry/*" { capabilities = ["update"] }
path "secret/destroy/tenantry/*" { capabilities = ["update"] }
path "sys/internal/ui/mounts/secret" { capabilities = ["read"] }
"#;
/// What External Secrets Operator may do.
const CONSUMER_POLICY: &str = r#"path "secret/data/tenantry/*" { capabilities = ["read"] }"#;

/// OpenBao, running or stopped.
#[derive(Clone, Debug)]
pub struct OpenBao {
    run: RunFolder,
    program: PathBuf,
    description: OpenBaoDescription,
}

impl OpenBao {
    /// Makes, starts, initialises and unseals a server with KV v2 at `secret/`.
    pub async fn create(run: &RunFolder, programs: &Path, storage: Storage) -> Result<Self> {
        let folder = run.join(NAME);
        fs::create_dir(&folder)?;
        let port = free_port()?;
        let cluster = free_port()?;
        let address = address::of(run);
        let storage = match storage {
            Storage::Memory => "storage \"inmem\" {}".to_owned(),
            Storage::Files => {
                let path = folder.join("raft");
                fs::create_dir(&path)?;
                format!(
                    "storage \"raft\" {{\n  path = \"{}\"\n  node_id = \"bed\"\n}}",
                    path.display()
                )
            }
        };
        let config = format!(
            "{storage}\nlistener \"tcp\" {{\n  address = \"{address}:{port}\"\n  cluster_address = \"127.0.0.1:{cluster}\"\n  \
             tls_disable = true\n}}\napi_addr = \"http://{address}:{port}\"\ncluster_addr = \"https://127.0.0.1:{cluster}\"\n",
        );
        fs::write(folder.join("config.hcl"), config)?;
        let description = OpenBaoDescription {
            address: format!("http://{address}:{port}"),
            root_token_file: run.join("pki/openbao-root-token"),
            unseal_key_file: run.join("pki/openbao-unseal-key"),
        };
        let server = Self {
            run: run.clone(),
            program: programs.join("bao"),
            description,
        };
        server.start().await?;
        server.mount_kv(MOUNT, 2).await?;
        Ok(server)
    }

    /// Takes up the server of a bed.
    #[must_use]
    pub fn open(run: &RunFolder, programs: &Path, description: &OpenBaoDescription) -> Self {
        Self {
            run: run.clone(),
            program: programs.join("bao"),
            description: description.clone(),
        }
    }

    /// How it is reached.
    #[must_use]
    pub fn description(&self) -> &OpenBaoDescription {
        &self.description
    }

    /// A client with the root token.
    pub fn root(&self) -> Result<VaultClient> {
        client(
            &self.description.address,
            fs::read_to_string(&self.description.root_token_file)?.trim(),
        )
    }

    /// Starts the server (again), initialises it once, unseals it.
    pub async fn start(&self) -> Result<()> {
        self.start_sealed().await?;
        self.unseal().await
    }

    /// Starts the server (again); it stays sealed if it was initialised before.
    pub async fn start_sealed(&self) -> Result<()> {
        let config = self.run.join(NAME).join("config.hcl");
        let process = Spawn::new(NAME, &self.program)
            .args(["server", "-config"])
            .args([config])
            .start(&self.run)?;
        let health = until(Duration::from_secs(30), "OpenBao answers", async || {
            process.check(&self.run)?;
            self.health().await
        })
        .await?;
        if health == StatusCode::NOT_IMPLEMENTED {
            let client = client(&self.description.address, "")?;
            let keys = vaultrs::sys::start_initialization(&client, 1, 1, None)
                .await
                .context("initialising OpenBao")?;
            let key = keys.keys.first().context("OpenBao gave no unseal key")?;
            super::folder::write_private(&self.description.unseal_key_file, key)?;
            super::folder::write_private(&self.description.root_token_file, &keys.root_token)?;
        }
        Ok(())
    }

    /// Stops the server. With [`Storage::Memory`] it forgets everything.
    pub fn stop(&self) {
        if let Some(process) = Process::recorded(&self.run, NAME) {
            process.stop(&self.run);
        }
    }

    /// Seals the running server.
    pub async fn seal(&self) -> Result<()> {
        vaultrs::sys::seal(&self.root()?)
            .await
            .context("sealing OpenBao")
    }

    /// Unseals the running server and waits until it serves.
    pub async fn unseal(&self) -> Result<()> {
        let client = client(&self.description.address, "")?;
        let key = fs::read_to_string(&self.description.unseal_key_file)?;
        vaultrs::sys::unseal(&client, Some(key), None, None)
            .await
            .context("unsealing OpenBao")?;
        until(Duration::from_secs(30), "OpenBao is unsealed", async || {
            let health = self.health().await?;
            ensure!(health == StatusCode::OK, "its health is {health}");
            Ok(())
        })
        .await
    }

    /// The health as a status code: 200 serving, 501 not initialised, 503 sealed.
    ///
    /// Asked without vaultrs, which wants fields in the answer that OpenBao does not send.
    pub async fn health(&self) -> Result<StatusCode> {
        super::install_crypto_provider();
        let client = reqwest::Client::builder()
            .tls_certs_only([])
            .timeout(Duration::from_secs(5))
            .build()?;
        Ok(client
            .get(format!("{}/v1/sys/health", self.description.address))
            .send()
            .await?
            .status())
    }

    /// Mounts a KV engine of version 1 or 2 at `path` and waits until it takes writes.
    pub async fn mount_kv(&self, path: &str, version: u8) -> Result<()> {
        let root = self.root()?;
        let options = HashMap::from([("version".to_owned(), version.to_string())]);
        vaultrs::sys::mount::enable(
            &root,
            path,
            "kv",
            Some(EnableEngineRequest::builder().options(options)),
        )
        .await
        .with_context(|| format!("mounting KV v{version} at {path}"))?;
        // A new KV v2 mount refuses everything until its own upgrade from v1 is through.
        until(
            Duration::from_secs(10),
            "the KV mount takes writes",
            async || {
                let probe = HashMap::from([("probe", "probe")]);
                if version == 1 {
                    vaultrs::kv1::set(&root, path, "bed-probe", &probe).await?;
                    return Ok(vaultrs::kv1::delete(&root, path, "bed-probe").await?);
                }
                vaultrs::kv2::set(&root, path, "bed-probe", &probe).await?;
                Ok(vaultrs::kv2::delete_metadata(&root, path, "bed-probe").await?)
            },
        )
        .await
    }

    /// Policy and Kubernetes role of Tenantry: its ServiceAccount logs in at `auth/kubernetes`.
    ///
    /// `reviewer` is the token of a ServiceAccount that may review tokens.
    pub async fn enable_kubernetes_auth(
        &self,
        kubernetes_url: &str,
        ca_file: &Path,
        reviewer: &str,
    ) -> Result<()> {
        let root = self.root()?;
        vaultrs::sys::auth::enable(&root, "kubernetes", "kubernetes", None)
            .await
            .context("enabling Kubernetes auth")?;
        let reviewer_file = self
            .run
            .write_private("pki/openbao-reviewer-token", reviewer)?;
        // vaultrs cannot set token_reviewer_jwt, so the command does.
        self.command([
            "write".to_owned(),
            "auth/kubernetes/config".to_owned(),
            format!("kubernetes_host={kubernetes_url}"),
            format!("kubernetes_ca_cert=@{}", ca_file.display()),
            format!("token_reviewer_jwt=@{}", reviewer_file.display()),
            "disable_local_ca_jwt=true".to_owned(),
        ])
        .await?;
        vaultrs::sys::policy::set(&root, TENANTRY, TENANTRY_POLICY)
            .await
            .context("writing the policy of Tenantry")?;
        self.allow_service_account(TENANTRY, SYSTEM_NAMESPACE, TENANTRY, TENANTRY)
            .await
    }

    /// A Kubernetes auth role that gives `policy` to one ServiceAccount.
    pub async fn allow_service_account(
        &self,
        role: &str,
        namespace: &str,
        account: &str,
        policy: &str,
    ) -> Result<()> {
        let mut request = CreateKubernetesRoleRequest::builder();
        request
            .bound_service_account_names(vec![account.to_owned()])
            .bound_service_account_namespaces(vec![namespace.to_owned()])
            .token_policies(vec![policy.to_owned()])
            .token_ttl("1h");
        vaultrs::auth::kubernetes::role::create(
            &self.root()?,
            "kubernetes",
            role,
            Some(&mut request),
        )
        .await
        .with_context(|| format!("writing the Kubernetes auth role {role}"))
    }

    /// A token that can only read Tenantry's entries, for External Secrets Operator.
    pub async fn consumer_token(&self) -> Result<String> {
        let root = self.root()?;
        vaultrs::sys::policy::set(&root, "tenantry-consumer", CONSUMER_POLICY).await?;
        self.token(&["tenantry-consumer"], "720h").await
    }

    /// A token with the given policies, for `ttl` (such as `5s` or `720h`).
    pub async fn token(&self, policies: &[&str], ttl: &str) -> Result<String> {
        let policies: Vec<_> = policies.iter().map(ToString::to_string).collect();
        let mut request = CreateTokenRequest::builder();
        request.policies(policies).ttl(ttl).no_default_policy(false);
        let token = vaultrs::token::new(&self.root()?, Some(&mut request))
            .await
            .context("making a token")?;
        Ok(token.client_token)
    }

    /// Runs `bao` as root and gives its output.
    pub async fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String> {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env("BAO_ADDR", &self.description.address);
        command.env(
            "BAO_TOKEN",
            fs::read_to_string(&self.description.root_token_file)?.trim(),
        );
        let output = tokio::process::Command::from(command)
            .output()
            .await
            .context("running bao")?;
        ensure!(
            output.status.success(),
            "bao failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A client for `address` with `token`, with a deadline on every call.
pub fn client(address: &str, token: &str) -> Result<VaultClient> {
    super::install_crypto_provider();
    let settings = VaultClientSettingsBuilder::default()
        .address(address)
        .token(token)
        // A first start writes to a disk that may be busy with other beds.
        .timeout(Some(Duration::from_secs(60)))
        .build()
        .with_context(|| format!("settings for OpenBao at {address}"))?;
    VaultClient::new(settings).context("building the OpenBao client")
}
