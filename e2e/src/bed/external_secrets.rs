//! External Secrets Operator outside the cluster, and the store by which it reads OpenBao.
//!
//! Decides its flags, rights and CRDs. Its own webhook is not used.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::Client;

use super::Bed;
use super::binaries::Binaries;
use super::folder::RunFolder;
use super::openbao::{MOUNT, OpenBao};
use super::process::Spawn;
use crate::world::condition::await_condition;
use crate::world::kubectl::Kubectl;
use crate::world::objects::all;

/// Name of the ClusterSecretStore.
pub const STORE: &str = "openbao";
/// Namespace of the token with which the store reads OpenBao.
pub const NAMESPACE: &str = "external-secrets";

/// Creates the operator's CRDs. `create`, because one of them is too large for the annotation of `apply`.
pub async fn create_crds(kubectl: &Kubectl, binaries: &Binaries) -> Result<()> {
    let file = binaries
        .external_secrets
        .join("crds.yaml")
        .display()
        .to_string();
    kubectl
        .run(&["create", "-f", &file])
        .await?
        .success()
        .context("creating the CRDs of External Secrets Operator")?;
    Ok(())
}

/// The operator with its CRDs, rights and store, in a bed that was started without them; waits until the store is in order.
pub async fn install(bed: &Bed) -> Result<()> {
    let binaries = Binaries::locate(bed.description().postgres.major)?;
    let kubectl = bed.kubectl();
    create_crds(&kubectl, &binaries).await?;
    let wait = ["wait", "--for=condition=Established", "crd", "--all"];
    kubectl.run(&wait).await?.success()?;
    kubectl.apply(&rights()).await?.success()?;
    spawn(bed.folder(), &binaries)?;
    create_store(&kubectl, &bed.openbao()).await?;
    store_ready(&bed.kube().await?).await
}

/// Starts the operator.
pub fn spawn(run: &RunFolder, binaries: &Binaries) -> Result<()> {
    Spawn::new(
        "external-secrets",
        binaries.external_secrets.join("external-secrets"),
    )
    .env("KUBECONFIG", run.join("external-secrets.kubeconfig"))
    .args([
        "--metrics-addr=0",
        "--concurrent=16",
        "--client-qps=1000",
        "--client-burst=1000",
        "--store-requeue-interval=30s",
        "--enable-leader-election=false",
        "--loglevel=info",
        "--zap-time-encoding=rfc3339nano",
    ])
    .start(run)?;
    Ok(())
}

/// What the operator may do, and the namespace of its token.
pub fn rights() -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: bed-external-secrets}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\n\
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: \"bed:external-secrets\"}}]\n---\n\
         apiVersion: v1\nkind: Namespace\nmetadata: {{name: {NAMESPACE}}}\n"
    )
}

/// Creates the ClusterSecretStore `openbao` with a read-only token.
pub async fn create_store(kubectl: &Kubectl, openbao: &OpenBao) -> Result<()> {
    let token = openbao.consumer_token().await?;
    let address = &openbao.description().address;
    let manifest = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: openbao-token, namespace: {NAMESPACE}}}\n\
         stringData: {{token: \"{token}\"}}\n---\n\
         apiVersion: external-secrets.io/v1\nkind: ClusterSecretStore\nmetadata: {{name: {STORE}}}\nspec:\n  provider:\n    \
         vault:\n      server: \"{address}\"\n      path: {MOUNT}\n      version: v2\n      auth:\n        tokenSecretRef: \
         {{name: openbao-token, namespace: {NAMESPACE}, key: token}}\n"
    );
    kubectl
        .apply(&manifest)
        .await?
        .success()
        .context("creating the ClusterSecretStore")?;
    Ok(())
}

/// Waits until the operator has found the store in order.
pub async fn store_ready(client: &Client) -> Result<()> {
    let stores = all(client, "external-secrets.io/v1", "ClusterSecretStore");
    await_condition(&stores, STORE, "Ready", "True", Duration::from_secs(60))
        .await
        .map(drop)
}
