//! The connections to one Instance's server: a bounded pool in the management database, and short visits elsewhere.
//!
//! Decides how many there are (D14) and when one is thrown away. Statements that may take long (`CREATE DATABASE` and the like)
//! never occupy the whole pool, so a server that hangs on one database still serves every other Tenant.

use std::ops::DerefMut;
use std::sync::Arc;
use std::time::Duration;

use certs::Roots;
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
    TimeoutType, Timeouts,
};
use domain::tenancy::endpoint::Endpoint;
use domain::tenancy::failure::{Class, Failure};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_postgres::{CancelToken, Client, Error};

use super::connect::{AdminConnect, Dialer, Login, access_failure, could_not_connect};
use super::target::{AdminCredential, Fingerprint, PostgresSettings, ServerTarget};

/// How long a server may take to hang up after we did.
const FAREWELL: Duration = Duration::from_secs(1);

/// What the pool was made of; anything else needs another pool.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Identity {
    endpoint: Endpoint,
    credential: Fingerprint,
    pub(super) roots: Roots,
}

impl Identity {
    pub(super) fn of(target: &ServerTarget, settings: &PostgresSettings) -> Self {
        Self {
            endpoint: target.binding.endpoint.clone(),
            credential: target.credential.fingerprint(),
            roots: settings.trust.current(),
        }
    }
}

/// How many connections there are, over all servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Open, and used by nobody.
    pub idle: usize,
    /// In use, with a place left beside them.
    pub in_use: usize,
    /// In use, and the last ones that their server may have: the next round that needs one waits.
    pub at_cap: usize,
}

impl Connections {
    fn add(&mut self, used: usize, most: usize) {
        if used < most {
            self.in_use += used;
        } else {
            self.at_cap += used;
        }
    }
}

/// One Instance's server.
pub(super) struct Server {
    pub(super) identity: Identity,
    pub(super) dialer: Arc<Dialer>,
    pub(super) credential: Arc<AdminCredential>,
    pool: Pool,
    visits: Arc<Semaphore>,
    long: Arc<Semaphore>,
    settings: PostgresSettings,
}

impl Server {
    pub(super) fn new(
        identity: Identity,
        target: &ServerTarget,
        settings: &PostgresSettings,
    ) -> Result<Self, Failure> {
        let endpoint = &target.binding.endpoint;
        let dialer = Arc::new(Dialer::new(endpoint, &identity.roots, settings)?);
        let credential = Arc::clone(&target.credential);
        let connect = AdminConnect {
            dialer: Arc::clone(&dialer),
            credential: Arc::clone(&credential),
        };
        // The configuration is made per login, so that the pool keeps no copy of the credential.
        let config = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_connect(tokio_postgres::Config::new(), connect, config);
        let idle_most = settings.idle_most;
        let pool = Pool::builder(manager)
            .max_size(settings.pool_size.max(1))
            .runtime(Runtime::Tokio1)
            .pre_recycle(Hook::sync_fn(move |_, metrics| {
                if metrics.last_used() > idle_most {
                    Err(HookError::message("idle for too long"))
                } else {
                    Ok(())
                }
            }))
            .build()
            .map_err(|error| {
                Failure::new(Class::Misconfigured, format!("no connection pool: {error}"))
            })?;
        close_when_idle(&pool, idle_most);
        Ok(Self {
            identity,
            dialer,
            credential,
            pool,
            visits: Arc::new(Semaphore::new(settings.visits.max(1))),
            long: Arc::new(Semaphore::new(settings.pool_size.saturating_sub(1).max(1))),
            settings: settings.clone(),
        })
    }

    /// A connection to the management database.
    pub(super) async fn lease(&self) -> Result<Lease, Failure> {
        let limit = Some(self.settings.connect_timeout);
        let timeouts = Timeouts {
            wait: limit,
            create: limit,
            recycle: limit,
        };
        let endpoint = self.dialer.endpoint();
        match self.pool.timeout_get(&timeouts).await {
            Ok(object) => Ok(Lease {
                cancel: object.cancel_token(),
                object: Some(object),
                dialer: Arc::clone(&self.dialer),
            }),
            Err(PoolError::Backend(error)) => Err(access_failure(endpoint, &error)),
            Err(PoolError::Timeout(TimeoutType::Wait)) => Err(Failure::new(
                Class::Unavailable,
                "all connections to the management database are busy",
            )),
            Err(PoolError::Closed) => Err(Failure::new(
                Class::Stale,
                "the Instance's endpoint, credential or trusted authorities changed",
            )),
            Err(_) => Err(could_not_connect(endpoint)),
        }
    }

    /// Leave to run a statement that may take long; waits at most as long as such a statement.
    pub(super) async fn long_permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        permit(&self.long, self.settings.ddl_timeout).await
    }

    /// A short-lived connection; it counts until [`Visit::end`] or its drop.
    pub(super) async fn visit(&self, login: &Login<'_>) -> Result<Visit, VisitError> {
        let permit = permit(&self.visits, self.settings.ddl_timeout)
            .await
            .map_err(VisitError::Busy)?;
        match tokio::time::timeout(self.settings.connect_timeout, self.dialer.open(login)).await {
            Ok(Ok((client, driver))) => Ok(Visit {
                cancel: client.cancel_token(),
                client: Some(client),
                driver,
                dialer: Arc::clone(&self.dialer),
                _permit: permit,
            }),
            Ok(Err(error)) => Err(VisitError::Login(error)),
            Err(_elapsed) => Err(VisitError::Busy(could_not_connect(self.dialer.endpoint()))),
        }
    }

    /// Adds the connections of this server: those of the pool and the short-lived ones have a limit each.
    pub(super) fn count(&self, connections: &mut Connections) {
        let pool = self.pool.status();
        connections.idle += pool.available;
        connections.add(pool.size.saturating_sub(pool.available), pool.max_size);
        let visits = self.settings.visits.max(1);
        connections.add(
            visits.saturating_sub(self.visits.available_permits()),
            visits,
        );
    }

    /// Lets idle connections go, so that the next one is a new login.
    pub(super) fn forget_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    /// No new connection; those in use end with their use.
    pub(super) fn close(&self) {
        self.pool.close();
    }
}

/// Hangs up on connections that nobody has used for `idle_most`, as long as the pool lives: an Instance at rest holds none of the
/// server's few.
fn close_when_idle(pool: &Pool, idle_most: Duration) {
    let pool = pool.weak();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(idle_most / 2).await;
            let Some(pool) = pool.upgrade().filter(|pool| !pool.is_closed()) else {
                return;
            };
            pool.retain(|_, metrics| metrics.last_used() <= idle_most);
        }
    });
}

async fn permit(of: &Arc<Semaphore>, limit: Duration) -> Result<OwnedSemaphorePermit, Failure> {
    match tokio::time::timeout(limit, Arc::clone(of).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Failure::new(
            Class::Unavailable,
            "the server is busy with other tenants",
        )),
    }
}

/// Why a visit did not begin.
pub(super) enum VisitError {
    /// The login did not succeed.
    Login(Error),
    /// It could not be tried, or not in time.
    Busy(Failure),
}

impl VisitError {
    /// As the admin's failure at this endpoint.
    pub(super) fn into_failure(self, endpoint: &Endpoint) -> Failure {
        match self {
            Self::Login(error) => access_failure(endpoint, &error),
            Self::Busy(failure) => failure,
        }
    }
}

/// A pooled connection in use. Dropped before [`Lease::give_back`] (a deadline, a lost round), its statement is cancelled and it
/// is closed: nobody inherits a connection in the middle of something.
pub(super) struct Lease {
    object: Option<Object>,
    cancel: CancelToken,
    dialer: Arc<Dialer>,
}

impl Lease {
    /// The client; `None` only after it was given back, which consumes the lease.
    pub(super) fn client(&mut self) -> Option<&mut Client> {
        self.object
            .as_mut()
            .map(|object| object.deref_mut().deref_mut())
    }

    /// Closed: nothing runs on it, and nobody shall use it again.
    pub(super) fn discard(mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }

    /// Back into the pool, for the next one.
    pub(super) fn give_back(mut self) {
        self.object = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            cancel_later(&self.dialer, &self.cancel);
            drop(Object::take(object));
        }
    }
}

/// A short-lived connection in use; dropped before [`Visit::end`], it is cancelled and closed.
pub(super) struct Visit {
    client: Option<Client>,
    cancel: CancelToken,
    driver: JoinHandle<()>,
    dialer: Arc<Dialer>,
    _permit: OwnedSemaphorePermit,
}

impl Visit {
    pub(super) fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    /// Says goodbye and waits until the server has let go, so that it holds neither the database nor a place.
    pub(super) async fn end(mut self) {
        self.client = None;
        if tokio::time::timeout(FAREWELL, &mut self.driver)
            .await
            .is_err()
        {
            self.driver.abort();
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if self.client.is_some() {
            cancel_later(&self.dialer, &self.cancel);
        }
        // After `end` the task is over and this does nothing.
        self.driver.abort();
    }
}

fn cancel_later(dialer: &Arc<Dialer>, token: &CancelToken) {
    // Without a runtime the process is ending, and the closed socket must do.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let (dialer, token) = (Arc::clone(dialer), token.clone());
        runtime.spawn(async move { dialer.cancel(token).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d14_connections_count_as_at_their_cap_only_where_no_place_is_left() {
        let mut connections = Connections::default();
        connections.add(3, 4);
        connections.add(2, 2);
        connections.add(0, 4);
        let expected = Connections {
            idle: 0,
            in_use: 3,
            at_cap: 2,
        };
        assert_eq!(connections, expected);
    }
}
