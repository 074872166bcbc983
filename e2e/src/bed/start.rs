//! The order in which a bed starts: what can go at once goes at once, and what took long is said.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};

use super::binaries::Binaries;
use super::control_plane::ControlPlane;
use super::description::{Description, Programs};
use super::external_secrets;
use super::folder::RunFolder;
use super::logs::{Marks, keep};
use super::node::Node;
use super::openbao::OpenBao;
use super::pki::Authority;
use super::postgres::Postgres;
use super::wait::until;
use super::{Bed, Options, SYSTEM_NAMESPACE, kube_client};
use crate::world::kubectl::Kubectl;

/// The ServiceAccount with whose token OpenBao reviews tokens.
const REVIEWER: &str = "bed-openbao-reviewer";

/// Says on standard error what has been reached, with the seconds since the start.
struct Laps(Instant);

impl Laps {
    fn lap(&self, what: &str) {
        eprintln!("{:6.1} s  {what}", self.0.elapsed().as_secs_f32());
    }
}

/// Starts a private bed.
pub async fn start(options: Options) -> Result<Bed> {
    let binaries = Binaries::locate(options.postgres_major)?;
    let run = RunFolder::create()?;
    let stop_on_error = StopOnError(Some(run.clone()));
    let description = start_parts(&run, options, &binaries)
        .await
        .with_context(|| {
            format!(
                "the test bed did not start (PostgreSQL {})",
                options.postgres_major
            )
        })?;
    description.save(&run)?;
    stop_on_error.disarm();
    Ok(Bed {
        run,
        description,
        private: true,
        log_marks: Marks::default(),
    })
}

async fn start_parts(
    run: &RunFolder,
    options: Options,
    binaries: &Binaries,
) -> Result<Description> {
    let laps = Laps(Instant::now());
    let node = if options.node {
        let node = Node::hold(run).await?;
        laps.lap("namespaces of the node");
        Some(node)
    } else {
        None
    };
    let authority = Authority::create(run, Authority::BED)?;
    let control_plane = ControlPlane::spawn(run, &authority, binaries)?;
    let kubectl = Kubectl::new(&binaries.kubernetes, &run.join("admin.kubeconfig"));
    let (postgres, openbao, reviewer) = tokio::try_join!(
        async {
            let major = options.postgres_major;
            let postgres =
                Postgres::create(run, &authority, &binaries.postgresql, "postgresql", major)
                    .await?;
            laps.lap(&format!("PostgreSQL {major}"));
            anyhow::Ok(postgres)
        },
        async {
            let openbao = OpenBao::create(run, &binaries.openbao, options.storage).await?;
            laps.lap("OpenBao");
            anyhow::Ok(openbao)
        },
        async {
            control_plane.ready().await?;
            laps.lap("Kubernetes API server");
            start_cluster(run, options, binaries, &control_plane, &kubectl, &laps).await
        },
    )?;
    if let Some(node) = node {
        node.start_runtime().await?;
        node.start_kubelet()?;
        node.ready(&kubectl).await?;
        laps.lap("node");
    }
    openbao
        .enable_kubernetes_auth(&control_plane.url, &authority.file(), &reviewer)
        .await?;
    if options.external_secrets {
        external_secrets::create_store(&kubectl, &openbao).await?;
        external_secrets::store_ready(&kube_client(&run.join("admin.kubeconfig")).await?).await?;
        laps.lap("External Secrets Operator");
    }
    laps.lap("all ready");
    Ok(Description {
        folder: run.path().to_owned(),
        logs: run.logs(),
        ca_file: authority.file(),
        kubeconfig: run.join("admin.kubeconfig"),
        kubernetes_url: control_plane.url.clone(),
        openbao: openbao.description().clone(),
        postgres: postgres.description().clone(),
        programs: Programs {
            kubernetes: binaries.kubernetes.clone(),
            helm: binaries.helm.clone(),
            openbao: binaries.openbao.clone(),
            postgresql: run.join("postgresql-programs/bin"),
        },
        external_secrets: options.external_secrets,
    })
}

/// CRDs, then the controllers, then the first objects; gives the token with which OpenBao reviews tokens.
async fn start_cluster(
    run: &RunFolder,
    options: Options,
    binaries: &Binaries,
    control_plane: &ControlPlane,
    kubectl: &Kubectl,
    laps: &Laps,
) -> Result<String> {
    if options.external_secrets {
        external_secrets::create_crds(kubectl, binaries).await?;
    }
    for file in tenantry_crds()? {
        kubectl
            .run(&["create", "-f", &file])
            .await?
            .success()
            .context("creating Tenantry's CRDs")?;
    }
    if options.external_secrets {
        kubectl
            .run(&[
                "wait",
                "--for=condition=Established",
                "crd",
                "--all",
                "--timeout=60s",
            ])
            .await?
            .success()?;
    }
    laps.lap("CRDs");
    control_plane.spawn_controller_manager()?;
    if options.external_secrets {
        kubectl
            .apply(&external_secrets::rights())
            .await?
            .success()?;
        external_secrets::spawn(run, binaries)?;
    }
    kubectl.apply(&first_objects()).await?.success()?;
    let client = kube_client(&run.join("admin.kubeconfig")).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    until(
        Duration::from_secs(60),
        "the controllers work",
        async || {
            accounts
                .get("default")
                .await
                .map(drop)
                .context("ServiceAccount default")
        },
    )
    .await?;
    laps.lap("controller manager");
    let day = 24 * 60 * 60;
    service_account_token(&client, SYSTEM_NAMESPACE, REVIEWER, 30 * day).await
}

/// A token of a ServiceAccount for the API server's own audience, valid for `seconds`.
pub async fn service_account_token(
    client: &kube::Client,
    namespace: &str,
    name: &str,
    seconds: i64,
) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let spec = TokenRequestSpec {
        expiration_seconds: Some(seconds),
        ..TokenRequestSpec::default()
    };
    let request = TokenRequest {
        spec,
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await
        .with_context(|| format!("a token of ServiceAccount {namespace}/{name}"))?;
    Ok(answer
        .status
        .context("the TokenRequest has no status")?
        .token)
}

fn first_objects() -> String {
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {SYSTEM_NAMESPACE}}}\n---\n\
         apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {REVIEWER}, namespace: {SYSTEM_NAMESPACE}}}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: {REVIEWER}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: \"system:auth-delegator\"}}\n\
         subjects: [{{kind: ServiceAccount, name: {REVIEWER}, namespace: {SYSTEM_NAMESPACE}}}]\n"
    )
}

/// The generated CRD files of this workspace. They go in before the controller manager, whose garbage collector would
/// see kinds that the chart brings later only after 30 s.
fn tenantry_crds() -> Result<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds");
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    let generated = paths.iter().filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    Ok(generated.map(|path| path.display().to_string()).collect())
}

/// Stops what was started and keeps its logs, unless the start went well.
struct StopOnError(Option<RunFolder>);

impl StopOnError {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for StopOnError {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            keep(&run, &Marks::default());
            super::stop_bed(&run);
            if let Err(error) = run.remove() {
                eprintln!("{error:#}");
            }
        }
    }
}
