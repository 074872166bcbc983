//! How much memory bodies may take. Alone in its process, because it reads the peak of the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode, header};
use domain::tenancy::endpoint::AddressPolicy;
use futures::{StreamExt as _, stream};
use tower::ServiceExt as _;
use webhook::{Admission, ClusterView, Decision, Decisions, Limits, Route};

struct Nothing;

impl ClusterView for Nothing {
    fn synced(&self) -> bool {
        false
    }

    fn management_database(&self, _: &str) -> Option<String> {
        None
    }

    fn tenant_databases(&self, _: &str) -> Vec<(String, String)> {
        Vec::new()
    }
}

impl Decisions for Nothing {
    fn begun(&self, _: Route) {}

    fn decided(&self, _: &Decision) {}
}

/// The highest resident size of this process so far, in kB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Posts chunks of blanks; between two of them every other request gets its turn.
async fn post(router: Router, chunk: Bytes, times: usize) -> StatusCode {
    let chunks = stream::repeat_with(move || chunk.clone())
        .take(times)
        .then(|chunk| async {
            tokio::task::yield_now().await;
            Ok::<_, std::io::Error>(chunk)
        });
    let request = Request::post(Route::Tenant.path())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from_stream(chunks))
        .unwrap();
    router.oneshot(request).await.unwrap().status()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h3_h4_endless_and_parallel_bodies_stay_within_their_memory() {
    let router = webhook::router(Admission {
        cluster: Arc::new(Nothing),
        addresses: AddressPolicy::default(),
        applications: None,
        decisions: Arc::new(Nothing),
        limits: Limits::default(),
    });
    let chunk = Bytes::from(vec![b' '; 64 << 10]);
    let before = peak();
    for _ in 0..5 {
        assert_eq!(
            post(router.clone(), chunk.clone(), usize::MAX).await,
            StatusCode::PAYLOAD_TOO_LARGE
        );
    }
    let grown = peak() - before;
    assert!(grown <= 8 << 10, "an endless body took {grown} kB");

    let just_below = (Limits::default().body >> 16) - 1;
    let many = (0..200).map(|_| tokio::spawn(post(router.clone(), chunk.clone(), just_below)));
    let statuses: Vec<StatusCode> = stream::iter(many)
        .buffered(200)
        .map(Result::unwrap)
        .collect()
        .await;
    let read = statuses
        .iter()
        .filter(|status| **status == StatusCode::BAD_REQUEST)
        .count();
    let shed = statuses
        .iter()
        .filter(|status| **status == StatusCode::TOO_MANY_REQUESTS)
        .count();
    assert_eq!(read + shed, 200, "{statuses:?}");
    assert!(shed > 0 && read > 0, "{read} read, {shed} shed");
    println!(
        "endless body: {grown} kB; peak: {} kB; {read} read, {shed} shed",
        peak()
    );
    assert!(peak() < 128_000, "200 bodies took {} kB", peak());
}
