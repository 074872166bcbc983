//! Counts the Kubernetes client's requests (`rest_client_requests_total`) and notes when each watch last brought something, and why one
//! was begun again.
//!
//! A layer around the client; it changes neither request nor answer. Labels are closed lists and this process's own API server.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use http::{Method, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use http_body_util::combinators::MapFrame;
use kube::runtime::watcher;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tower::{Layer, Service};

use super::Metrics;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    Tenants,
    Instances,
    ExternalSecrets,
    Secrets,
    Packages,
    PackageVersions,
    Grants,
}

impl Watched {
    const ALL: [Self; 7] = [
        Self::Tenants,
        Self::Instances,
        Self::ExternalSecrets,
        Self::Secrets,
        Self::Packages,
        Self::PackageVersions,
        Self::Grants,
    ];

    /// As URLs name it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tenants => "postgresqltenants",
            Self::Instances => "postgresqlinstances",
            Self::ExternalSecrets => "externalsecrets",
            Self::Secrets => "secrets",
            Self::Packages => "applicationpackages",
            Self::PackageVersions => "applicationpackageversions",
            Self::Grants => "availableclusterresources",
        }
    }
}

/// The layer.
#[derive(Clone)]
pub struct CountRequests {
    metrics: Arc<Metrics>,
    host: Arc<str>,
}

impl CountRequests {
    /// For the client of this API server.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>, server: &http::Uri) -> Self {
        let host = server.authority().map_or("", http::uri::Authority::as_str);
        Self {
            metrics,
            host: host.into(),
        }
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = Counting<S>;

    fn layer(&self, inner: S) -> Counting<S> {
        Counting {
            inner,
            layer: self.clone(),
        }
    }
}

/// The client's service with the counting around it.
pub struct Counting<S> {
    inner: S,
    layer: CountRequests,
}

type Note = Box<dyn FnMut(Frame<Bytes>) -> Frame<Bytes> + Send>;
type Noted<B> = MapFrame<B, Note>;

impl<S, Q, B> Service<Request<Q>> for Counting<S>
where
    S: Service<Request<Q>, Response = Response<B>>,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<Noted<B>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let method = method(request.method());
        let watched = watched(request.uri());
        let CountRequests { metrics, host } = self.layer.clone();
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await;
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.requested(method, &host, code);
            let answer = answer?;
            let kind = watched.filter(|_| answer.status().is_success());
            if let Some(kind) = kind {
                // A watch that begins is a sign of life too: an idle one is begun anew each minute.
                metrics.watch_event(kind);
            }
            Ok(answer.map(|body| {
                let note: Note = Box::new(move |frame| {
                    if let Some(kind) = kind {
                        metrics.watch_event(kind);
                    }
                    frame
                });
                body.map_frame(note)
            }))
        }
        .boxed()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    code: String,
    method: &'static str,
    host: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RestartLabels {
    kind: &'static str,
    cause: &'static str,
}

/// The series of the Kubernetes client.
#[derive(Default)]
pub(super) struct RequestSeries {
    requests: Family<RequestLabels, Counter>,
    watch_events: Family<KindLabels, Gauge<f64, AtomicU64>>,
    watch_restarts: Family<RestartLabels, Counter>,
}

impl RequestSeries {
    pub(super) fn register(&self, r: &mut Registry) {
        r.register(
            "rest_client_requests",
            "Requests to the Kubernetes API by status code, method and host",
            self.requests.clone(),
        );
        r.register(
            "tenantry_watch_last_event_timestamp_seconds",
            "When the watch of a kind last began or brought something, Unix time",
            self.watch_events.clone(),
        );
        r.register(
            "tenantry_watch_restarts",
            "Times that the watch of a kind failed and was begun again; one that the API server ended in time is none",
            self.watch_restarts.clone(),
        );
    }
}

impl Metrics {
    /// The Kubernetes API answered, or did not (`code` is `None`).
    fn requested(&self, method: &'static str, host: &str, code: Option<u16>) {
        // As client-go says it.
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let labels = RequestLabels {
            code,
            method,
            host: host.to_owned(),
        };
        self.requests.requests.get_or_create(&labels).inc();
    }

    /// The watch of a kind began or brought something.
    fn watch_event(&self, kind: &'static str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.requests
            .watch_events
            .get_or_create(&KindLabels { kind })
            .set(now.map_or(0.0, |now| now.as_secs_f64()));
    }
}

impl Metrics {
    /// The events of a watch; those that are failures are counted, after which the watch is begun again.
    pub(crate) fn restarts<E>(
        self: Arc<Self>,
        kind: Watched,
        events: impl Stream<Item = watcher::Result<E>>,
    ) -> impl Stream<Item = watcher::Result<E>> {
        // From 0 on, so that the first one is seen to be one more.
        for cause in CAUSES {
            let kind = kind.as_str();
            let labels = RestartLabels { kind, cause };
            drop(self.requests.watch_restarts.get_or_create(&labels));
        }
        events.inspect(move |event| {
            if let Err(error) = event {
                let (kind, cause) = (kind.as_str(), cause(error));
                let labels = RestartLabels { kind, cause };
                self.requests.watch_restarts.get_or_create(&labels).inc();
            }
        })
    }
}

/// Every answer of [`cause`].
const CAUSES: [&str; 6] = [
    "list_failed",
    "start_failed",
    "expired",
    "error_event",
    "stream_failed",
    "no_resource_version",
];

fn cause(error: &watcher::Error) -> &'static str {
    match error {
        watcher::Error::InitialListFailed(_) => "list_failed",
        watcher::Error::WatchStartFailed(_) => "start_failed",
        // What was seen last is no longer known there: all of it is listed anew.
        watcher::Error::WatchError(status) if status.code == 410 => "expired",
        watcher::Error::WatchError(_) => "error_event",
        watcher::Error::WatchFailed(_) => "stream_failed",
        watcher::Error::NoResourceVersion => "no_resource_version",
    }
}

fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "OTHER",
    }
}

/// The kind that a request watches.
fn watched(uri: &http::Uri) -> Option<&'static str> {
    let query = uri.query().unwrap_or_default();
    if !query.split('&').any(|part| part == "watch=true") {
        return None;
    }
    let kind = uri.path().rsplit('/').next()?;
    Watched::ALL
        .into_iter()
        .map(Watched::as_str)
        .find(|known| *known == kind)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use kube::core::Status;

    use super::*;
    use crate::metrics::Format;

    #[test]
    fn only_watches_of_known_kinds_are_noted() {
        let kind = |uri: &'static str| watched(&http::Uri::from_static(uri));
        let tenants = "/apis/database.ddupan.top/v1alpha1/postgresqltenants";
        assert_eq!(kind(tenants), None);
        let watch =
            "/apis/database.ddupan.top/v1alpha1/postgresqltenants?&watch=true&timeoutSeconds=55";
        assert_eq!(kind(watch), Some("postgresqltenants"));
        assert_eq!(
            kind("/api/v1/namespaces/a/secrets?watch=true"),
            Some("secrets")
        );
        assert_eq!(kind("/api/v1/pods?watch=true"), None);
    }

    #[tokio::test]
    async fn a_watch_that_fails_counts_as_begun_again_and_what_it_brings_does_not() {
        let metrics = Arc::new(Metrics::new());
        let gone = Status {
            code: 410,
            ..Status::default()
        };
        let events = futures::stream::iter([
            Ok(()),
            Err(watcher::Error::NoResourceVersion),
            Err(watcher::Error::WatchError(Box::new(gone))),
            Err(watcher::Error::WatchError(Box::default())),
        ]);
        let passed_on = Arc::clone(&metrics)
            .restarts(Watched::Tenants, events)
            .count()
            .await;
        assert_eq!(passed_on, 4);
        let scrape = metrics.encode(Format::Prometheus).unwrap();
        for cause in ["no_resource_version", "expired", "error_event"] {
            let line = format!(
                "tenantry_watch_restarts_total{{kind=\"postgresqltenants\",cause=\"{cause}\"}} 1"
            );
            assert!(scrape.contains(&line), "{line}: {scrape}");
            assert!(CAUSES.contains(&cause), "{cause}");
        }
    }
}
