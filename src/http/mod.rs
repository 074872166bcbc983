//! Probes and metrics, beside the webhooks on the one HTTPS server.
//!
//! Readiness never depends on PostgreSQL or OpenBao: a webhook that answers from caches must stay in service when they are away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::applications::view::PackagesView;
use crate::controllers::context::Context;
use crate::heartbeat::Heartbeat;
use crate::leader::Leading;
use crate::metrics::{Format, Metrics};

/// What the probes look at.
#[derive(Clone)]
pub struct Health {
    /// Caches, ports and metrics.
    pub context: Arc<Context>,
    /// Serving certificate.
    pub certificate: Arc<certs::CertStore>,
    /// Whether the API server was told to trust it, if that is this process's to do.
    pub trusted: Option<Arc<AtomicBool>>,
    /// The loops' heartbeat.
    pub heartbeat: Heartbeat,
    /// The Lease that is led by, if there is an election, and whether this process leads.
    pub leading: (Option<String>, Leading),
    /// What is cached of packages, if Applications are served.
    pub packages: Option<Arc<PackagesView>>,
    /// Set once SIGTERM arrived.
    pub stopping: Arc<AtomicBool>,
}

impl Health {
    fn checks(&self) -> [(&'static str, bool); 4] {
        let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        [
            ("ca-bundle", self.trusted.as_ref().is_none_or(is_set)),
            (
                "caches-synced",
                self.context.view.is_synced()
                    && self.packages.as_ref().is_none_or(|view| view.is_synced()),
            ),
            (
                "serving-certificate",
                !self.certificate.is_expired(SystemTime::now()),
            ),
            ("not-stopping", !is_set(&self.stopping)),
        ]
    }

    /// Sets the gauges that are counted anew for each scrape.
    fn gauges(&self, metrics: &Metrics) {
        let Context {
            view,
            postgres,
            openbao,
            ..
        } = &*self.context;
        let (tenants, instances) = view.counts();
        metrics.objects(&tenants, &instances);
        let (bad_tenants, bad_instances) = view.undecodable();
        for (kind, count) in [
            ("PostgreSQLTenant", bad_tenants),
            ("PostgreSQLInstance", bad_instances),
        ] {
            metrics.undecodable(kind, i64::try_from(count).unwrap_or(i64::MAX));
        }
        metrics.queues();
        metrics.connections(postgres.connections());
        let token_ends = openbao
            .token_expiry()
            .map(|ends| ends.as_duration().as_secs_f64());
        metrics.token(openbao.auth(), token_ends);
        if let (Some(lease), leading) = &self.leading {
            metrics.leader(lease, leading.is_valid());
        }
        let expires = self
            .certificate
            .not_after()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |since| since.as_secs_f64());
        metrics.certificate(expires, self.certificate.load_state());
    }
}

/// `/livez`, `/readyz`, `/healthz`, `/metrics`.
pub fn router(health: Health) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/healthz", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(health)
}

async fn livez(State(health): State<Health>) -> Response {
    listed(&[("loops-heartbeat", health.heartbeat.is_alive())])
}

async fn readyz(State(health): State<Health>) -> Response {
    listed(&health.checks())
}

/// Every check by name; 503 if one failed.
fn listed(checks: &[(&str, bool)]) -> Response {
    let ready = checks.iter().all(|(_, passed)| *passed);
    let mut lines = String::new();
    for (name, passed) in checks {
        let (mark, word) = if *passed {
            ('+', "ok")
        } else {
            ('-', "failed")
        };
        lines.extend([format!("[{mark}]{name} {word}\n")]);
    }
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, lines).into_response()
}

async fn metrics(State(health): State<Health>, headers: HeaderMap) -> Response {
    let metrics = &health.context.metrics;
    // Two scrapes at once must not see each other's half-set gauges.
    let _alone = metrics.scrape();
    health.gauges(metrics);
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    match metrics.encode(format) {
        Ok(text) => ([(header::CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
