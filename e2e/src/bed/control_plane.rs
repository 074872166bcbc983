//! etcd, the Kubernetes API server and the controller manager.
//!
//! Decides their flags and order: the controller manager starts last, because its garbage collector looks for new
//! kinds only every 30 s. No admission plugin is turned off, so that stories meet what users meet.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::header::AUTHORIZATION;

use super::address::{self, has_node};
use super::binaries::Binaries;
use super::folder::RunFolder;
use super::node::NAME;
use super::pki::{Authority, service_account_keys};
use super::ports::free_port;
use super::process::{Process, Spawn};
use super::wait::until;
use super::{SERVICE_ACCOUNT, SYSTEM_NAMESPACE};

/// Controllers that stories need; no nodes, so nothing about pods on nodes.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,serviceaccount-controller,\
    serviceaccount-token-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller,\
    deployment-controller,replicaset-controller,statefulset-controller,job-controller,cronjob-controller,\
    ttl-after-finished-controller,resourcequota-controller";

/// Those that pods on a node need beside them.
const NODE_CONTROLLERS: &str = "disruption-controller,endpoints-controller,endpointslice-controller,\
    daemonset-controller,node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller";
/// The API server is called without a proxy where it serves on the port that in-cluster configuration names.
const NODE_PORT: u16 = 443;

/// The API server with its etcd, starting or started.
pub struct ControlPlane {
    run: RunFolder,
    programs: PathBuf,
    /// URL of the API server.
    pub url: String,
    ca_file: PathBuf,
    admin_token: String,
    api_server: Process,
}

impl ControlPlane {
    /// Starts etcd and the API server; does not wait for them.
    pub fn spawn(run: &RunFolder, authority: &Authority, binaries: &Binaries) -> Result<Self> {
        spawn_etcd(run, &binaries.etcd)?;
        service_account_keys(run)?;
        let serving = authority.serving("apiserver", &["localhost", "kubernetes.default.svc"])?;
        let token = || {
            format!(
                "{:016x}{:016x}",
                rand::random::<u64>(),
                rand::random::<u64>()
            )
        };
        let (admin_token, manager, operator) = (token(), token(), token());
        let (scheduler, node) = (token(), token());
        let tokens = format!(
            "{admin_token},admin,admin,\"system:masters\"\n{manager},system:kube-controller-manager,manager\n\
             {operator},external-secrets,external-secrets,\"bed:external-secrets\"\n\
             {scheduler},system:kube-scheduler,scheduler\n{node},system:node:{NAME},node,\"system:nodes\"\n",
        );
        let tokens = run.write_private("pki/tokens.csv", &tokens)?;
        let address = address::of(run);
        let port = if has_node(run) {
            NODE_PORT
        } else {
            free_port()?
        };
        let url = format!("https://{address}:{port}");
        for (name, token) in [
            ("admin", &admin_token),
            ("manager", &manager),
            ("external-secrets", &operator),
            ("scheduler", &scheduler),
            ("node", &node),
        ] {
            run.write_private(
                format!("{name}.kubeconfig"),
                &kubeconfig(&url, &authority.file(), token),
            )?;
        }
        let pki = |name: &str| run.join("pki").join(name).display().to_string();
        let api_server = Spawn::new("kube-apiserver", binaries.kubernetes.join("kube-apiserver"))
            .args([
                format!("--etcd-servers=unix://{}", run.join("etcd.sock").display()),
                format!("--secure-port={port}"),
                format!("--cert-dir={}", run.join("pki").display()),
                format!("--tls-cert-file={}", serving.certificate.display()),
                format!("--tls-private-key-file={}", serving.key.display()),
                format!("--token-auth-file={}", tokens.display()),
                format!("--client-ca-file={}", authority.file().display()),
                format!("--service-account-key-file={}", pki("sa.pub")),
                format!("--service-account-signing-key-file={}", pki("sa.key")),
                format!("--audit-policy-file={}", audit_policy(run)?.display()),
                format!("--audit-log-path={}", run.audit_log().display()),
            ])
            .args(reachability(run))
            .args([
                "--authorization-mode=Node,RBAC",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--allow-privileged=true",
                "--profiling=false",
            ])
            .start(run)?;
        let (run, programs) = (run.clone(), binaries.kubernetes.clone());
        Ok(Self {
            run,
            programs,
            url,
            ca_file: authority.file(),
            admin_token,
            api_server,
        })
    }

    /// Waits until the API server says that it is ready.
    pub async fn ready(&self) -> Result<()> {
        super::install_crypto_provider();
        let ca = reqwest::Certificate::from_pem(&std::fs::read(&self.ca_file)?)?;
        let client = reqwest::Client::builder().tls_certs_only([ca]).build()?;
        until(
            Duration::from_secs(60),
            "the API server is ready",
            async || {
                self.api_server.check(&self.run)?;
                let request = client.get(format!("{}/readyz", self.url));
                let answer = request
                    .header(AUTHORIZATION, format!("Bearer {}", self.admin_token))
                    .send()
                    .await?;
                let status = answer.status();
                ensure!(
                    status.is_success(),
                    "/readyz says {status}: {}",
                    answer.text().await?
                );
                Ok(())
            },
        )
        .await
    }

    /// Starts the controller manager; to be called after all CRDs are there.
    pub fn spawn_controller_manager(&self) -> Result<()> {
        let config = self.run.join("manager.kubeconfig").display().to_string();
        let pki = self.run.join("pki");
        let mut controllers = CONTROLLERS.to_owned();
        if has_node(&self.run) {
            controllers = format!("{controllers},{NODE_CONTROLLERS}");
        }
        Spawn::new(
            "kube-controller-manager",
            self.programs.join("kube-controller-manager"),
        )
        .args(
            [
                "--kubeconfig",
                "--authentication-kubeconfig",
                "--authorization-kubeconfig",
            ]
            .map(|f| format!("{f}={config}")),
        )
        .args([
            format!("--secure-port={}", free_port()?),
            format!("--cert-dir={}", pki.display()),
            format!(
                "--service-account-private-key-file={}",
                pki.join("sa.key").display()
            ),
            format!("--root-ca-file={}", self.ca_file.display()),
            format!("--controllers={controllers}"),
        ])
        .args([
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            "--profiling=false",
        ])
        .start(&self.run)?;
        Ok(())
    }
}

/// Where the API server listens, what it says of itself, and how it finds pods.
fn reachability(run: &RunFolder) -> Vec<String> {
    let address = address::of(run);
    let mut flags = vec![format!("--advertise-address={address}")];
    if has_node(run) {
        // Its namespace has no other interfaces than the bridge and loopback.
        flags.extend([
            "--bind-address=0.0.0.0".to_owned(),
            "--endpoint-reconciler-type=lease".to_owned(),
            // Webhooks by Service are called at the pods' addresses, which needs no proxy.
            "--enable-aggregator-routing=true".to_owned(),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
        ]);
    } else {
        flags.extend([
            format!("--bind-address={address}"),
            "--endpoint-reconciler-type=none".to_owned(),
        ]);
    }
    flags
}

/// Only what Tenantry writes: reads and everyone else's writes would drown it.
fn audit_policy(run: &RunFolder) -> Result<PathBuf> {
    let policy = format!(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n\
         - {{level: Metadata, users: [\"system:serviceaccount:{SYSTEM_NAMESPACE}:{SERVICE_ACCOUNT}\"], \
         verbs: [create, update, patch, delete, deletecollection]}}\n- {{level: None}}\n"
    );
    run.write_private("audit-policy.yaml", &policy)
}

fn spawn_etcd(run: &RunFolder, programs: &Path) -> Result<()> {
    let client = format!("unix://{}", run.join("etcd.sock").display());
    let peer = format!("unix://{}", run.join("etcd-peer.sock").display());
    Spawn::new("etcd", programs.join("etcd"))
        .args(["--name=bed", "--unsafe-no-fsync", "--log-level=warn"])
        .args([
            format!("--data-dir={}", run.join("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=bed={peer}"),
        ])
        .start(run)
        .context("etcd")?;
    Ok(())
}

/// A kubeconfig for a bearer token.
#[must_use]
pub fn kubeconfig(url: &str, ca_file: &Path, token: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: bed\n\
         clusters: [{{name: bed, cluster: {{server: \"{url}\", certificate-authority: \"{}\"}}}}]\n\
         users: [{{name: bed, user: {{token: \"{token}\"}}}}]\n\
         contexts: [{{name: bed, context: {{cluster: bed, user: bed}}}}]\n",
        ca_file.display(),
    )
}
