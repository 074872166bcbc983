//! A bed: all real parts of one cluster, on loopback, in one run folder.
//!
//! Decides who owns a bed: the shared one lives until `bed down`, a private one until its value is dropped. Never
//! stops what it did not start.

mod address;
mod binaries;
mod control_plane;
mod description;
mod external_secrets;
mod folder;
mod logs;
mod node;
pub mod openbao;
pub mod pki;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod registry;
mod shared;
mod start;
pub mod wait;

use anyhow::Result;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

pub use binaries::program_folder;
pub use control_plane::kubeconfig;
pub use description::{Description, OpenBaoDescription, PostgresDescription, Programs};
pub use external_secrets::STORE;
pub use folder::{RunFolder, write_private};
pub use shared::{down, pointer_file, running, up};
pub use start::service_account_token;

use self::openbao::OpenBao;
use self::pki::Authority;
use self::postgres::Postgres;
use self::process::{Process, stop_bed};
use self::registry::{Access, Registry};
use crate::world::kubectl::Kubectl;

/// The namespace in which Tenantry is installed.
pub const SYSTEM_NAMESPACE: &str = "tenantry-system";
/// The ServiceAccount of the chart, in that namespace; the API server's audit log is about its writes.
pub const SERVICE_ACCOUNT: &str = "tenantry";

/// Where OpenBao keeps its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In memory: a stopped server forgets everything.
    Memory,
    /// In the run folder: survives a restart, sealed.
    Files,
}

/// What a bed has.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    external_secrets: bool,
    storage: Storage,
    postgres_major: u8,
    node: bool,
}

impl Default for Options {
    /// Everything, OpenBao with files, PostgreSQL of the major in the variable `PG` (15 if unset).
    fn default() -> Self {
        let postgres_major = std::env::var("PG")
            .ok()
            .and_then(|major| major.parse().ok())
            .unwrap_or(15);
        Self {
            external_secrets: true,
            storage: Storage::Files,
            postgres_major,
            node: false,
        }
    }
}

impl Options {
    /// With a node that runs pods; needs root and writable cgroups. The calling thread enters the bed's network, so it has to
    /// be the one on which everything runs (`#[tokio::test]`, or `flavor = "current_thread"`).
    #[must_use]
    pub fn with_node(self) -> Self {
        Self { node: true, ..self }
    }

    /// Neither External Secrets Operator nor its CRDs.
    #[must_use]
    pub fn without_eso_crds(self) -> Self {
        Self {
            external_secrets: false,
            ..self
        }
    }

    /// OpenBao in memory.
    #[must_use]
    pub fn openbao_in_memory(self) -> Self {
        Self {
            storage: Storage::Memory,
            ..self
        }
    }

    /// Another PostgreSQL major, 13 to 18.
    #[must_use]
    pub fn postgres_major(self, major: u8) -> Self {
        Self {
            postgres_major: major,
            ..self
        }
    }
}

/// A running bed.
pub struct Bed {
    run: RunFolder,
    description: Description,
    private: bool,
    log_marks: logs::Marks,
}

impl Bed {
    /// The bed that `bed up` left running, for tests: the one of `TENANTRY_BED`, else the one of the pointer file.
    pub fn shared() -> Result<Self> {
        shared::attach()
    }

    /// A running bed, for commands that know which.
    pub fn open(description: Description) -> Result<Self> {
        shared::open(description)
    }

    /// A bed of its own, stopped when dropped. For stories that break a shared part; their names begin with `alone_`.
    pub async fn private(options: Options) -> Result<Self> {
        Self::start(options).await
    }

    /// Starts all parts; on an error everything started is stopped, and the error tells where the logs were put.
    pub async fn start(options: Options) -> Result<Self> {
        start::start(options).await
    }

    /// Lets the bed run on when this value is dropped.
    #[must_use]
    pub fn leave_running(mut self) -> Self {
        self.private = false;
        self
    }

    /// Addresses and paths.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The run folder.
    #[must_use]
    pub fn folder(&self) -> &RunFolder {
        &self.run
    }

    /// The bed's PostgreSQL.
    #[must_use]
    pub fn postgres(&self) -> Postgres {
        Postgres::open(&self.run, &self.description.postgres)
    }

    /// Another PostgreSQL server in this bed, as in a move of an endpoint. Stopped with the bed, or by `stop`.
    pub async fn another_postgres(&self, name: &str) -> Result<Postgres> {
        let programs = self.run.join("postgresql-programs");
        Postgres::create(
            &self.run,
            &self.authority()?,
            &programs,
            name,
            self.description.postgres.major,
        )
        .await
    }

    /// An empty OCI registry in this bed. Stopped when its value is dropped.
    pub async fn registry(&self, name: &str, access: Access) -> Result<Registry> {
        Registry::create(&self.run, name, access).await
    }

    /// The bed's OpenBao.
    #[must_use]
    pub fn openbao(&self) -> OpenBao {
        OpenBao::open(
            &self.run,
            &self.description.programs.openbao,
            &self.description.openbao,
        )
    }

    /// Installs and starts External Secrets Operator in a bed that was started without it.
    pub async fn install_external_secrets(&self) -> Result<()> {
        external_secrets::install(self).await
    }

    /// The authority that signs the bed's serving certificates.
    pub fn authority(&self) -> Result<Authority> {
        Authority::open(&self.run, Authority::BED)
    }

    /// A client with the rights of the cluster's administrator.
    pub async fn kube(&self) -> Result<Client> {
        kube_client(&self.description.kubeconfig).await
    }

    /// `kubectl` as the cluster's administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(
            &self.description.programs.kubernetes,
            &self.description.kubeconfig,
        )
    }

    /// Gives the bed's node the images of an OCI archive.
    pub async fn import_image(&self, archive: &std::path::Path) -> Result<()> {
        node::Node::enter(&self.run)?.import_image(archive).await
    }

    /// A part of the bed by name (`etcd`, `kube-apiserver`, `external-secrets`, …), if it was started.
    #[must_use]
    pub fn process(&self, name: &str) -> Option<Process> {
        Process::recorded(&self.run, name)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            logs::keep(&self.run, &self.log_marks);
        }
        if self.private {
            stop_bed(&self.run);
            if let Err(error) = self.run.remove() {
                eprintln!("{error:#}");
            }
        }
    }
}

/// A client from a kubeconfig file.
pub async fn kube_client(kubeconfig: &std::path::Path) -> Result<Client> {
    install_crypto_provider();
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Makes ring the TLS provider of this process.
pub fn install_crypto_provider() {
    // An error says that one is installed already, which is all that is wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
