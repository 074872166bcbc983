//! `tenantry run`: builds every part, starts them, and stops them in order. The only composition root.
//!
//! Order of a stop: not ready → no new rounds, those under way end → the lease is given back → requests are taken until the delay is
//! over, and end → exit. It decides nothing else.

mod applications;
mod replica;
mod server;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use domain::tenancy::endpoint::AddressPolicy;
use domain::tenancy::failure::Failure;
use domain::tenancy::tenant::SecretLayout;
use kube::client::ClientBuilder;
use kube::runtime::reflector;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::applications::{ApplicationParts, served};
use self::replica::{Upkeep, election, serving, serving_files};
use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::lease::ClusterLease;
use crate::adapters::kubernetes::{Cluster, DEADLINE};
use crate::adapters::openbao::{Auth, OpenBao, OpenBaoConfigError, OpenBaoSettings};
use crate::adapters::postgres::{Postgres, PostgresSettings};
use crate::adapters::projection::{Projections, Store, StoreKind};
use crate::applications::platform::{self, PlatformError};
use crate::applications::view::PackagesView;
use crate::cli::{self, OpenBaoAuth, OpenBaoOptions, RunOptions};
use crate::controllers::backoff::Backoff;
use crate::controllers::context::{Context, Deployment};
use crate::controllers::credentials::Credentials;
use crate::controllers::phases::Phases;
use crate::controllers::settled::Settled;
use crate::controllers::{instance, tenant};
use crate::heartbeat::Heartbeat;
use crate::leader::{Elector, Leading, Lost};
use crate::loops::{INSTANCES_AT_ONCE, Loop, departures};
use crate::metrics::Metrics;
use crate::metrics::requests::CountRequests;
use crate::packages::bundles::BundleError;
use crate::serving::BeginError;
use crate::view::{Guarded, View};

/// How often the authorities for PostgreSQL are looked at.
const TRUST_INTERVAL: Duration = Duration::from_secs(10);
/// No request to OpenBao may take longer.
const OPENBAO_DEADLINE: Duration = Duration::from_secs(5);

/// Why the process could not start or had to end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The runtime could not be made.
    #[error("the async runtime could not be started")]
    Runtime(#[source] std::io::Error),
    /// The serving pair is missing or wrong; the message names the file.
    #[error("--tls-cert-file, --tls-key-file: {0}")]
    ServingPair(#[from] certs::LoadError),
    /// The self-signed pair could not be found or made.
    #[error("--self-signed: {0}")]
    SelfSigned(#[from] BeginError),
    /// An authority would end before what it signs.
    #[error(
        "--self-signed-authority-lifetime must be at least twice --self-signed-certificate-lifetime, and that more than nothing"
    )]
    Lifetimes,
    /// Two replicas could lead at once.
    #[error(
        "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, and that longer than 1.2 times --leader-elect-retry-period"
    )]
    ElectionTimes,
    /// Another replica may lead now. As with controller-runtime, the process ends, and begins anew with an empty memory.
    #[error("the leader's lease was lost: {0}")]
    Lost(#[from] Lost),
    /// TLS cannot be served.
    #[error("the TLS configuration cannot be used")]
    ServerConfig(#[source] rustls::Error),
    /// The PostgreSQL trust bundle is missing or wrong.
    #[error("--postgres-ca-file: {0}")]
    Roots(#[from] certs::RootsError),
    /// An OpenBao setting is wrong.
    #[error("OpenBao: {0}")]
    OpenBao(#[from] OpenBaoConfigError),
    /// Neither a kubeconfig nor a Pod's environment.
    #[error("no Kubernetes API: set KUBECONFIG, or run in a Pod")]
    Config(#[source] kube::config::InferConfigError),
    /// The client could not be made.
    #[error("the Kubernetes client could not be made")]
    Client(#[source] kube::Error),
    /// The first call failed.
    #[error("the Kubernetes API could not be used: {0}")]
    Cluster(#[source] Failure),
    /// The address is taken or not ours.
    #[error("--bind-address {address}: cannot listen")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The administrator's file about the cluster is wrong.
    #[error("--platform-file: {0}")]
    Platform(#[from] PlatformError),
    /// The file of `.Platform` is wrong.
    #[error("--platform-values-file: {0}")]
    PlatformValues(#[source] PlatformError),
    /// The folder of bundles cannot be used.
    #[error("--bundle-dir {}: cannot be used", .0.display())]
    BundleDir(PathBuf, #[source] BundleError),
    /// The path of this program is needed to start it again.
    #[error("the path of this program is unknown")]
    OwnProgram(#[source] std::io::Error),
    /// A part that must run as long as the process ended by itself.
    #[error("{0} ended by itself")]
    Ended(&'static str),
    /// The server ended with an error.
    #[error("the HTTPS server failed")]
    Serve(#[source] std::io::Error),
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// A setting, file, address or API server at fault, named.
pub fn run(options: RunOptions) -> Result<(), RunError> {
    #[cfg(feature = "failpoints")]
    let _armed = crate::effects::arm();
    crate::telemetry::init(options.logs.log_format);
    // A provider that is installed already is ours too: nothing else in this process installs one.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(webhook::STACK_BYTES)
        .build()
        .map_err(RunError::Runtime)?;
    runtime.block_on(serve(options))
}

async fn serve(options: RunOptions) -> Result<(), RunError> {
    let grace = options.serving.shutdown_grace;
    let mut parts = Parts::build(&options).await?;
    let (stop, loops_ended) = (parts.context.stop.clone(), CancellationToken::new());
    let stopping = Arc::new(AtomicBool::new(false));
    if let Some(upkeep) = parts.upkeep.take() {
        tokio::spawn(upkeep(stop.clone()));
    }
    let trust = Arc::clone(&parts.context.deployment.trust);
    tokio::spawn(trust.follow(TRUST_INTERVAL));
    let elector = parts.elector.take();
    let until = loops_ended.clone().cancelled_owned();
    let mut election = tokio::spawn(async {
        if let Some(elector) = elector {
            return elector.run(until).await;
        }
        until.await;
        Ok(())
    });
    let handle = axum_server::Handle::new();
    let server = tokio::spawn(server::https(
        &options,
        &parts,
        Arc::clone(&stopping),
        handle.clone(),
    )?);
    let mut loops = tokio::spawn(parts.loops(options.loops.concurrency, &stop));
    let ended = tokio::select! {
        () = stop_signal() => {
            tracing::info!(?grace, "stopping");
            Ok(())
        }
        ended = server => match ended {
            Ok(result) => result.map_err(RunError::Serve),
            Err(_) => Err(RunError::Ended("the HTTPS server")),
        },
        _ = &mut loops => Err(RunError::Ended("the reconcile loops")),
        ended = &mut election => match ended {
            Ok(Err(lost)) => Err(RunError::Lost(lost)),
            _ => Err(RunError::Ended("the leader election")),
        },
    };
    stopping.store(true, Ordering::Relaxed);
    stop.cancel();
    let told = Instant::now();
    if ended.is_ok() && tokio::time::timeout(grace, &mut loops).await.is_err() {
        tracing::warn!("rounds were still under way at the end of the grace time");
    }
    loops.abort();
    // Only now: while rounds are under way, nobody else may begin.
    loops_ended.cancel();
    if !election.is_finished() {
        // It has a deadline of its own, and nothing to say that it did not log.
        let _released = election.await;
    }
    if ended.is_ok() {
        tokio::time::sleep_until(told + options.serving.shutdown_delay).await;
    }
    server::close(&handle).await;
    ended
}

async fn stop_signal() {
    let mut term = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(term) => term,
        Err(error) => {
            tracing::error!(%error, "SIGTERM cannot be waited for");
            return;
        }
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// Everything that is built at start.
struct Parts {
    certificate: Arc<certs::CertStore>,
    /// Keeps the certificate up, until told to stop.
    upkeep: Option<Upkeep>,
    trusted: Option<Arc<AtomicBool>>,
    elector: Option<Elector<ClusterLease>>,
    leading: Leading,
    heartbeat: Heartbeat,
    context: Arc<Context>,
    settled: Arc<Settled>,
    tenants: reflector::store::Writer<Guarded<PostgreSQLTenant>>,
    instances: reflector::store::Writer<Guarded<PostgreSQLInstance>>,
    tenant_reader: reflector::Store<Guarded<PostgreSQLTenant>>,
    instance_reader: reflector::Store<Guarded<PostgreSQLInstance>>,
    to_check: mpsc::UnboundedReceiver<String>,
    applications: Option<webhook::Applications>,
    packages: Option<Arc<PackagesView>>,
    loops_of_applications: ApplicationParts,
}

impl Parts {
    async fn build(options: &RunOptions) -> Result<Self, RunError> {
        let files = serving_files(options)?;
        let stated = platform::stated(options.applications.platform_file.as_deref())?;
        let seen = platform::seen(options.applications.platform_values_file.as_deref())
            .map_err(RunError::PlatformValues)?;
        let ca_file = options.postgres.postgres_ca_file.as_deref();
        let trust = Arc::new(certs::Trust::load(ca_file)?);
        let openbao = OpenBao::new(openbao_settings(&options.openbao))?;
        let config = kube::Config::infer().await.map_err(RunError::Config)?;
        let namespace = options
            .loops
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let metrics = Arc::new(Metrics::new());
        let counted = CountRequests::new(Arc::clone(&metrics), &config.cluster_url);
        let client = ClientBuilder::try_from(config.clone())
            .map_err(RunError::Client)?
            .with_layer(&counted)
            .build();
        let (certificate, trusted, upkeep) = serving(options, files, &client, &namespace).await?;
        let (elector, leading) = election(options, &client, &namespace)?;
        let cluster = Cluster::new(client.clone(), namespace, DEADLINE);
        let deployment = Deployment {
            cluster_uid: cluster.uid().await.map_err(RunError::Cluster)?,
            layout: layout(options),
            store: store(options),
            trust: Arc::clone(&trust),
            addresses: AddressPolicy::denying(options.postgres.deny_hostaddr.clone()),
        };
        let (tenant_reader, tenants) = reflector::store();
        let (instance_reader, instances) = reflector::store();
        let settled = Arc::new(Settled::default());
        let stop = CancellationToken::new();
        let application_parts =
            ApplicationParts::build(options, (stated, seen), (&client, config), &metrics, &stop)?;
        let packages = application_parts.view();
        let (instances_to_check, to_check) = mpsc::unbounded_channel();
        let context = Arc::new(Context {
            events: Events::new(client.clone()),
            projections: Projections::new(client, DEADLINE),
            cluster,
            postgres: Postgres::new(PostgresSettings::new(trust)),
            openbao,
            metrics,
            view: Arc::new(View::new(tenant_reader.clone(), instance_reader.clone())),
            credentials: Credentials::default(),
            backoff: Backoff::new(options.loops.resync_interval),
            phases: Phases::default(),
            settled: Arc::clone(&settled),
            instances_to_check,
            stop,
            deployment,
        });
        Ok(Self {
            certificate,
            upkeep: Some(upkeep),
            trusted,
            elector,
            leading,
            heartbeat: Heartbeat::default(),
            context,
            settled,
            tenants,
            instances,
            tenant_reader,
            instance_reader,
            to_check,
            applications: packages.clone().map(|view| served(options, view)),
            packages,
            loops_of_applications: application_parts,
        })
    }

    /// Watches and controllers, until `stop`; rounds under way are finished.
    fn loops(
        self,
        concurrency: u16,
        stop: &CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let metrics = &self.context.metrics;
        metrics.workers(tenant::CONTROLLER, concurrency);
        metrics.workers(instance::CONTROLLER, INSTANCES_AT_ONCE);
        let (tell_departure, departed) = mpsc::unbounded_channel();
        let (tell_vanishing, vanished) = mpsc::unbounded_channel();
        let (tell_change, changed) = mpsc::unbounded_channel();
        let departures = departures(Arc::clone(&self.context), departed, self.leading.clone());
        let applications = self.loops_of_applications.run(metrics, &self.leading);
        let heartbeat = self.heartbeat;
        let (context, settled) = (self.context, self.settled);
        let instances = Loop {
            context: Arc::clone(&context),
            settled: Arc::clone(&settled),
            stop: stop.clone(),
            leading: self.leading.clone(),
        }
        .instances(
            (self.instances, self.instance_reader),
            (tell_change, tell_vanishing),
            self.to_check,
        );
        let tenants = Loop {
            context,
            settled,
            stop: stop.clone(),
            leading: self.leading,
        }
        .tenants(
            (self.tenants, self.tenant_reader),
            tell_departure,
            (changed, vanished),
            concurrency,
        );
        async move {
            tokio::select! {
                _ended = futures::future::join3(instances, tenants, applications) => {}
                () = departures => {}
                () = heartbeat.beat() => {}
            }
        }
    }
}

/// OpenBao's settings from its flags, for every command that speaks to it.
pub(crate) fn openbao_settings(options: &OpenBaoOptions) -> OpenBaoSettings {
    let auth = match options.openbao_auth {
        OpenBaoAuth::Kubernetes => Auth::Kubernetes {
            mount: options.openbao_auth_mount.clone(),
            role: options.openbao_role.clone(),
            token_file: options.openbao_service_account_token_file.clone(),
        },
        OpenBaoAuth::Token => Auth::Token {
            file: options.openbao_token_file.clone().unwrap_or_default(),
        },
    };
    OpenBaoSettings {
        address: options.openbao_address.clone(),
        namespace: options.openbao_namespace.clone(),
        ca_file: options.openbao_ca_file.clone(),
        mount: options.openbao_mount.clone(),
        auth,
        timeout: OPENBAO_DEADLINE,
    }
}

fn layout(options: &RunOptions) -> SecretLayout {
    let options = &options.openbao;
    let address = options
        .openbao_consumer_address
        .as_ref()
        .unwrap_or(&options.openbao_address);
    SecretLayout {
        consumer_address: address.trim_end_matches('/').to_owned(),
        mount: options.openbao_mount.trim_matches('/').to_owned(),
        base_path: options.openbao_base_path.trim_matches('/').to_owned(),
    }
}

fn store(options: &RunOptions) -> Store {
    let kind = match options.projection.secret_store_kind {
        cli::StoreKind::ClusterSecretStore => StoreKind::ClusterSecretStore,
        cli::StoreKind::SecretStore => StoreKind::SecretStore,
    };
    Store {
        kind,
        name: options.projection.secret_store_name.clone(),
    }
}
