//! One connection: dial the address, verify the server, log in with pinned settings.
//!
//! Decides how a server is reached (D11) and what is said when it is not. Never falls back to a weaker mode, resolves no name,
//! and says the same of a refused and of an unanswered dial (H21).

use std::borrow::Cow;
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::Context;
use std::time::Duration;

use certs::{Roots, TlsMode};
use domain::tenancy::endpoint::{Endpoint, SslMode};
use domain::tenancy::failure::{Class, Failure};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncWrite, Empty};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_postgres::config::{ChannelBinding, SslMode as WireMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{CancelToken, Client, Config, Connection, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::either::Either;

use super::guard::{Guarded, GuardedConnect, Proof, Refusal};
use super::session::{APPLICATION_NAME, ServerLimits, major_version, options};
use super::sqlstate::{failure, meaning};
use super::target::PostgresSettings;

/// Knows one endpoint; makes connections to it.
pub(super) struct Dialer {
    endpoint: Endpoint,
    tls: Option<MakeRustlsConnect>,
    limits: ServerLimits,
    connect_timeout: Duration,
    nonce: String,
    /// The server's major version, 0 until a first login told it.
    major: AtomicU16,
}

/// Who logs in where.
pub(super) struct Login<'a> {
    pub(super) database: &'a str,
    pub(super) username: &'a SecretString,
    pub(super) password: &'a SecretString,
}

/// A dial that failed is a stream at its end, which the client library turns into its own error.
type Wire = Either<TcpStream, Empty>;

impl Dialer {
    /// # Errors
    /// The endpoint's host cannot be verified against.
    pub(super) fn new(
        endpoint: &Endpoint,
        roots: &Roots,
        settings: &PostgresSettings,
    ) -> Result<Self, Failure> {
        let mode = match endpoint.ssl_mode() {
            SslMode::Disable => None,
            SslMode::Require => Some(TlsMode::Require),
            SslMode::VerifyCa => Some(TlsMode::VerifyCa),
            SslMode::VerifyFull => Some(TlsMode::VerifyFull),
        };
        let tls = mode
            .map(|mode| certs::client_config(mode, endpoint.host(), endpoint.hostaddr(), roots))
            .transpose()
            .map_err(|error| {
                Failure::new(
                    Class::Misconfigured,
                    format!("TLS cannot be set up: {error}"),
                )
            })?;
        Ok(Self {
            endpoint: endpoint.clone(),
            tls: tls.map(MakeRustlsConnect::new),
            limits: ServerLimits {
                statement: settings.ddl_timeout,
                lock: settings.statement_timeout,
                idle_in_transaction: settings.statement_timeout * 2,
            },
            connect_timeout: settings.connect_timeout,
            nonce: format!("{:016x}", rand::random::<u64>()),
            major: AtomicU16::new(0),
        })
    }

    /// What a direct connection reads back as [`super::session::NONCE_SETTING`].
    pub(super) fn nonce(&self) -> &str {
        &self.nonce
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The server's major version, once something logged in.
    pub(super) fn major(&self) -> Option<u16> {
        Some(self.major.load(Ordering::Relaxed)).filter(|major| *major > 0)
    }

    /// Logs in. The task drives the connection and ends with it. Unbounded in time: the caller sets the deadline.
    pub(super) async fn open(&self, login: &Login<'_>) -> Result<(Client, JoinHandle<()>), Error> {
        let config = self.config(login);
        let wire = self.dial().await;
        let proof = match self.endpoint.ssl_mode() {
            SslMode::VerifyCa | SslMode::VerifyFull => Proof::Scram,
            SslMode::Require | SslMode::Disable => Proof::ScramOrWeaker,
        };
        if let Some(tls) = &self.tls {
            let connector = self.tls_connector(tls);
            let (client, connection) = config
                .connect_raw(wire, GuardedConnect { connector, proof })
                .await?;
            Ok((client, self.drive(connection)))
        } else {
            let (client, connection) = config.connect_raw(Guarded::new(wire, proof), NoTls).await?;
            Ok((client, self.drive(connection)))
        }
    }

    /// Asks the server to stop the statement that runs on a connection. Best effort, bounded in time.
    pub(super) async fn cancel(&self, token: CancelToken) {
        let attempt = async {
            let wire = self.dial().await;
            match &self.tls {
                Some(tls) => token.cancel_query_raw(wire, self.tls_connector(tls)).await,
                None => token.cancel_query_raw(wire, NoTls).await,
            }
        };
        let outcome = tokio::time::timeout(self.connect_timeout, attempt).await;
        tracing::debug!(
            sent = matches!(outcome, Ok(Ok(()))),
            "asked PostgreSQL to cancel a statement"
        );
    }

    fn config(&self, login: &Login<'_>) -> Config {
        let mut config = Config::new();
        config
            .user(login.username.expose_secret())
            .password(login.password.expose_secret())
            .dbname(login.database)
            .application_name(APPLICATION_NAME)
            .options(options(self.limits, self.major(), &self.nonce))
            // Never "prefer", which is the library's default and plain text in disguise.
            .ssl_mode(if self.tls.is_some() {
                WireMode::Require
            } else {
                WireMode::Disable
            })
            // Bound to the server's certificate wherever the certificate's algorithm allows it.
            .channel_binding(ChannelBinding::Prefer);
        config
    }

    fn tls_connector(
        &self,
        tls: &MakeRustlsConnect,
    ) -> <MakeRustlsConnect as MakeTlsConnect<Wire>>::TlsConnect {
        let Ok(connector) =
            MakeTlsConnect::<Wire>::make_tls_connect(&mut tls.clone(), self.endpoint.host());
        connector
    }

    async fn dial(&self) -> Wire {
        match TcpStream::connect((self.endpoint.hostaddr(), self.endpoint.port())).await {
            Ok(stream) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY cannot be set");
                }
                Either::Left(stream)
            }
            Err(error) => {
                tracing::debug!(%error, "a PostgreSQL server cannot be dialled");
                Either::Right(tokio::io::empty())
            }
        }
    }

    fn drive<S, T>(&self, connection: Connection<S, T>) -> JoinHandle<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        if let Some(major) = connection
            .parameter("server_version")
            .and_then(major_version)
        {
            self.major.store(major, Ordering::Relaxed);
        }
        tokio::spawn(drive(connection))
    }
}

/// Carries a connection to its end. Notices are dropped: they are the server's own words (H38), which the library would log.
async fn drive<S, T>(mut connection: Connection<S, T>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) =
        std::future::poll_fn(|cx: &mut Context<'_>| connection.poll_message(cx)).await
    {
        if let Err(error) = message {
            tracing::debug!(
                cause = error.source().map(ToString::to_string),
                "a PostgreSQL connection broke"
            );
            return;
        }
    }
}

/// What is said when the admin cannot log in.
pub(super) fn access_failure(endpoint: &Endpoint, error: &Error) -> Failure {
    let place = format!("{}:{}", endpoint.hostaddr(), endpoint.port());
    if let Some(problem) = certs::explain(error) {
        return Failure::new(
            Class::Authentication,
            format!("TLS with {place}: {problem}"),
        );
    }
    if let Some(refusal) = Refusal::of(error) {
        return Failure::new(Class::Authentication, refusal_text(&place, refusal));
    }
    let Some(code) = error.code() else {
        return uncoded_failure(endpoint, &place, error);
    };
    let database = endpoint.database();
    let step = format!("login at {place}");
    match code.code() {
        "28P01" => Failure::new(
            Class::Authentication,
            format!(
                "{step}: the server refuses the admin's user name or password (SQLSTATE 28P01): correct the admin Secret"
            ),
        ),
        "3D000" => Failure::new(
            Class::Misconfigured,
            format!(
                "{step}: the management database {database} does not exist (SQLSTATE 3D000): run CREATE DATABASE \"{database}\" OWNER \
                 <admin role>, or correct spec.endpoint.database"
            ),
        ),
        "42501" => Failure::new(
            Class::Privileges,
            format!(
                "{step}: run GRANT CONNECT ON DATABASE \"{database}\" TO <admin role> (SQLSTATE 42501)"
            ),
        ),
        "08P01" | "42704" => Failure::new(
            Class::Misconfigured,
            format!(
                "{step}: the settings that a session is opened with are refused (SQLSTATE {}): a connection pooler answers there, \
                 or a server before version 13; the endpoint must be PostgreSQL itself",
                code.code()
            ),
        ),
        _ => failure(&step, error),
    }
}

/// The client library tells what it finds itself by these words alone.
fn uncoded_failure(endpoint: &Endpoint, place: &str, error: &Error) -> Failure {
    match error.to_string().as_str() {
        "authentication error" => Failure::new(
            Class::Authentication,
            format!("login at {place}: the server does not complete SCRAM-SHA-256 as it should"),
        ),
        "error encoding message to server" => Failure::new(
            Class::Authentication,
            format!(
                "login at {place}: the admin Secret holds a NUL byte, which no user name or password may have"
            ),
        ),
        _ => could_not_connect(endpoint),
    }
}

/// One text for refused, unreachable and silent alike (H21).
pub(super) fn could_not_connect(endpoint: &Endpoint) -> Failure {
    Failure::new(
        Class::Unavailable,
        format!(
            "could not connect to {}:{}",
            endpoint.hostaddr(),
            endpoint.port()
        ),
    )
}

fn refusal_text(place: &str, refusal: Refusal) -> String {
    let remedy: Cow<'_, str> = match refusal {
        Refusal::ClearText => "use scram-sha-256 in pg_hba.conf; it was not sent".into(),
        Refusal::Md5 => "use scram-sha-256 in pg_hba.conf and set the admin's password again with password_encryption = \
                         'scram-sha-256'"
            .into(),
        Refusal::NoPassword => "use scram-sha-256 in pg_hba.conf instead of trust".into(),
        Refusal::TooMuch => "this is no PostgreSQL server".into(),
    };
    format!("login at {place}: {refusal}: {remedy}")
}

/// True if the server answered and refused the login itself, rather than being away.
pub(super) fn is_refused_login(error: &Error) -> bool {
    error
        .code()
        .is_some_and(|code| meaning(Some(code)).0 != Class::Unavailable || code.code() == "53300")
}

/// A connection's maker for the pool.
pub(super) struct AdminConnect {
    pub(super) dialer: Arc<Dialer>,
    pub(super) credential: Arc<super::target::AdminCredential>,
}

impl deadpool_postgres::Connect for AdminConnect {
    fn connect(
        &self,
        _config: &Config,
    ) -> futures::future::BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        Box::pin(async {
            let login = Login {
                database: self.dialer.endpoint.database().as_str(),
                username: self.credential.username(),
                password: self.credential.password(),
            };
            self.dialer.open(&login).await
        })
    }
}
