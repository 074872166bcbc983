//! The HTTPS server of webhooks, probes and metrics: how it begins to listen, and how it ends.
//!
//! It decides how long a client may take. What is answered is the webhook's and the probes' affair.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum_server::accept::{TcpConfigAcceptor, TcpSocketConfig};
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};

use super::{Parts, RunError};
use crate::cli::RunOptions;
use crate::http::{self, Health};

/// A client must have sent its first request this long after it connected.
const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// A client must have sent its headers within this time.
const HEADERS: Duration = Duration::from_secs(5);
/// How long requests under way may take once rounds have ended.
const LAST_REQUESTS: Duration = Duration::from_millis(400);

/// The HTTPS server, listening before this returns.
pub(super) fn https(
    options: &RunOptions,
    parts: &Parts,
    stopping: Arc<AtomicBool>,
    handle: axum_server::Handle<SocketAddr>,
) -> Result<impl Future<Output = std::io::Result<()>> + Send + 'static, RunError> {
    let health = Health {
        context: Arc::clone(&parts.context),
        certificate: Arc::clone(&parts.certificate),
        trusted: parts.trusted.clone(),
        heartbeat: parts.heartbeat.clone(),
        leading: (
            options
                .election
                .leader_elect
                .then(|| options.election.leader_elect_resource_name.clone()),
            parts.leading.clone(),
        ),
        packages: parts.packages.clone(),
        stopping,
    };
    let admission = webhook::Admission {
        cluster: Arc::clone(&parts.context.view) as Arc<dyn webhook::ClusterView>,
        addresses: parts.context.deployment.addresses.clone(),
        applications: parts.applications.clone(),
        decisions: Arc::clone(&parts.context.metrics) as Arc<dyn webhook::Decisions>,
        limits: webhook::Limits::default(),
    };
    let app = webhook::router(admission).merge(http::router(health));
    let tls = certs::server_config(Arc::clone(&parts.certificate), certs::OldestTls::default())
        .map_err(RunError::ServerConfig)?;
    let address = options.serving.bind_address;
    let bind = |source| RunError::Bind { address, source };
    let listener = std::net::TcpListener::bind(address).map_err(bind)?;
    listener.set_nonblocking(true).map_err(bind)?;
    let mut server = axum_server::from_tcp(listener)
        .map_err(bind)?
        .acceptor(acceptor(tls))
        .handle(handle)
        .first_request_timeout(FIRST_REQUEST);
    server.http_builder().http1().header_read_timeout(HEADERS);
    tracing::info!(%address, "serving");
    Ok(server.serve(app.into_make_service()))
}

/// TLS over [`sockets`].
fn acceptor(tls: Arc<rustls::ServerConfig>) -> RustlsAcceptor<TcpConfigAcceptor> {
    RustlsAcceptor::new(RustlsConfig::from_config(tls)).acceptor(sockets())
}

/// Sockets that send at once: an answer that waits for the peer's delayed acknowledgement is 40 ms late.
fn sockets() -> TcpConfigAcceptor {
    TcpConfigAcceptor::new(TcpSocketConfig::new().nodelay(true))
}

/// Takes no further connection, lets the requests under way end, and hangs up on whoever is left.
pub(super) async fn close(handle: &axum_server::Handle<SocketAddr>) {
    handle.graceful_shutdown(Some(LAST_REQUESTS));
    let closed = async {
        while handle.connection_count() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(LAST_REQUESTS * 2, closed)
        .await
        .is_err()
    {
        handle.shutdown();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum_server::accept::Accept as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn answers_are_sent_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        assert!(!stream.nodelay().unwrap());
        let (stream, ()) = sockets().accept(stream, ()).await.unwrap();
        assert!(stream.nodelay().unwrap());
    }
}
