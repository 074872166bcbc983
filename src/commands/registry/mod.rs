//! `tenantry registry list|release|adopt`: what a person may do with the registry of an Instance (T4).
//!
//! Decides the order of each: read everything, plan, confirm, write. Whether a row may be given away is the domain's
//! ([`domain::tenancy::record`]); SQL, OpenBao and Kubernetes are the adapters'. It creates no database, role or password and
//! drops none.
//!
//! Reading order: `connect` (an Instance's name to its server), `confirm` (the UID that is given up), then one file a command.

mod adopt;
mod confirm;
mod connect;
mod list;
mod release;

use std::io;

use domain::tenancy::failure::Failure;

use super::DONE;
use crate::adapters::openbao::OpenBaoConfigError;
use crate::cli::RegistryCommand;

/// Why a command ended without having done what it was asked for.
#[derive(Debug, thiserror::Error)]
enum RegistryError {
    /// The runtime could not be made.
    #[error("the async runtime could not be started")]
    Runtime(#[source] io::Error),
    /// The PostgreSQL trust bundle is missing or wrong.
    #[error("--postgres-ca-file: {0}")]
    Roots(#[source] certs::RootsError),
    /// An OpenBao setting is wrong.
    #[error("OpenBao: {0}")]
    OpenBaoSettings(#[source] OpenBaoConfigError),
    /// Neither a kubeconfig nor a Pod's environment.
    #[error("no Kubernetes API: set KUBECONFIG, or run in a Pod")]
    Config(#[source] kube::config::InferConfigError),
    /// The client could not be made.
    #[error("the Kubernetes client could not be made")]
    Client(#[source] kube::Error),
    /// A call to the API server failed.
    #[error("the Kubernetes API: {0}")]
    Cluster(#[source] Failure),
    /// There is no such Instance.
    #[error("--instance {0}: there is no PostgreSQLInstance of that name")]
    NoInstance(String),
    /// Its spec is illegal.
    #[error("--instance {name}: its spec is illegal: {why}")]
    IllegalInstance {
        /// The Instance.
        name: String,
        /// Its violations.
        why: String,
    },
    /// The admin Secret is missing or unreadable.
    #[error("--namespace: {0}")]
    Credential(#[source] Failure),
    /// The server or the registry refuses.
    #[error("PostgreSQL: {0}")]
    Server(#[source] Failure),
    /// OpenBao refuses.
    #[error("OpenBao: {0}")]
    OpenBao(#[source] Failure),
    /// The ExternalSecret could not be handed over.
    #[error("External Secrets: {0}; run the same command again once that is mended")]
    Projection(#[source] Failure),
    /// The argument is no `NAMESPACE/NAME`.
    #[error("{0:?} must be NAMESPACE/NAME, as `tenantry registry list` shows it")]
    NotAName(String),
    /// No row has that name.
    #[error("the registry has no row of {0} that belongs to cluster {1}")]
    NoRow(String, String),
    /// The Tenant that should adopt is not there.
    #[error(
        "there is no PostgreSQLTenant {0} in the cluster that could adopt the record: create it first"
    )]
    NoTenant(String),
    /// The Tenant that should adopt has an illegal spec.
    #[error("PostgreSQLTenant {name}: its spec is illegal: {why}")]
    IllegalTenant {
        /// The Tenant.
        name: String,
        /// Its violations.
        why: String,
    },
    /// Facts speak against it.
    #[error("refused, nothing was changed:\n{}", bullets(.0))]
    Refused(Vec<String>),
    /// Nobody confirmed.
    #[error("nothing was changed: give the UID that is given up with --confirm {0}")]
    Unconfirmed(String),
    /// Another UID was confirmed.
    #[error("nothing was changed: {given} is not the UID that is given up, which is {wanted}")]
    WrongUid {
        /// What was given.
        given: String,
        /// What it should be.
        wanted: String,
    },
    /// Standard input or output failed.
    #[error("the terminal: {0}")]
    Terminal(#[source] io::Error),
}

fn bullets(lines: &[String]) -> String {
    lines
        .iter()
        .map(|line| format!("* {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Does it; gives the exit code.
#[must_use]
pub fn registry(command: &RegistryCommand) -> u8 {
    // Installed already by a test in the same process: it is ours too.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RegistryError::Runtime);
    let done = runtime.and_then(|runtime| {
        runtime.block_on(async {
            match command {
                RegistryCommand::List(options) => list::list(options).await,
                RegistryCommand::Release(options) => release::release(options).await,
                RegistryCommand::Adopt(options) => adopt::adopt(options).await,
            }
        })
    });
    match done {
        Ok(()) => DONE,
        Err(error) => super::fail(&error),
    }
}
