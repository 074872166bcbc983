//! Handler time of an Application's review, in this process: the public router, called directly, on one thread with its blocking one.
//!
//! The least of many batches is what counts: it moves with the instructions, and little with what else the machine does. Also: how long
//! 200 versions of 50 rules take to compile, and settings of 100 kB.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use domain::packages::names::VersionId;
use domain::settings::grants::Catalogs;
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use domain::tenancy::endpoint::AddressPolicy;
use domain::violation::Verdict;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use webhook::{ApplicationView, Applications, KnownVersion, NoChecks, Route};

use crate::applications::{review, schema, settings};

const BATCHES: usize = 200;
const BATCH: u32 = 50;

struct One(Arc<KnownVersion>);

impl ApplicationView for One {
    fn synced(&self) -> bool {
        true
    }

    fn has_package(&self, _: &str) -> bool {
        true
    }

    fn version(&self, _: &VersionId) -> Option<Arc<KnownVersion>> {
        Some(Arc::clone(&self.0))
    }

    fn catalogs(&self, _: &str) -> Arc<Catalogs> {
        Arc::default()
    }
}

/// No tenancy is asked about, and nobody counts.
struct Nothing;

impl webhook::ClusterView for Nothing {
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

impl webhook::Decisions for Nothing {
    fn begun(&self, _: Route) {}

    fn decided(&self, _: &webhook::Decision) {}
}

/// Runs it; prints the figures.
pub fn run() -> Result<()> {
    // Here and not on the caller's runtime: blocking within one is not allowed.
    std::thread::spawn(measure)
        .join()
        .map_err(|_| anyhow::anyhow!("the measurement panicked"))?
}

fn measure() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_stack_size(webhook::STACK_BYTES)
        .build()?;
    let small = review("bench", "v1.0.0", &settings());
    let took = runtime.block_on(least(&router(&schema(6))?, &small))?;
    println!(
        "40 properties, 6 rules: {:.1} µs of handler time, review of {} bytes",
        took.as_secs_f64() * 1e6,
        small.len()
    );
    let open = json!({"additionalProperties": {"type": "string"}});
    let entries: serde_json::Map<String, Value> = (0..1_000)
        .map(|number| (format!("key-{number:05}"), "x".repeat(86).into()))
        .collect();
    let large = review("bench", "v1.0.0", &Value::Object(entries));
    let took = runtime.block_on(least(&router(&open)?, &large))?;
    println!(
        "settings of 100 kB: {:.2} ms of handler time, review of {} bytes",
        took.as_secs_f64() * 1e3,
        large.len()
    );
    let documents: Vec<Value> = (0..200).map(|_| schema(50)).collect();
    let began = Instant::now();
    let compiled: Vec<PackageSchemas> = documents.iter().map(compile).collect::<Result<_, _>>()?;
    println!(
        "200 versions of 50 rules: loaded in {:.0} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
    let began = Instant::now();
    for schemas in &compiled {
        let settings_schema = schemas.settings.as_ref().context("no schema")?;
        let found = settings_schema.conform(&settings(), None, &Limits::DEFAULT);
        ensure!(found.is_empty(), "{found:?}");
    }
    println!(
        "  and every rule compiled and run once in {:.0} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}

fn compile(document: &Value) -> Result<PackageSchemas> {
    Ok(PackageSchemas::from_documents(
        document,
        &Value::Null,
        &Limits::DEFAULT,
    )?)
}

fn router(schema: &Value) -> Result<Router> {
    let known = KnownVersion {
        draft: false,
        schemas: Ok(Arc::new(compile(schema)?)),
        requirements: Verdict::allowed(),
    };
    Ok(webhook::router(webhook::Admission {
        cluster: Arc::new(Nothing),
        addresses: AddressPolicy::default(),
        applications: Some(Applications {
            view: Arc::new(One(Arc::new(known))),
            checks: Arc::new(NoChecks),
            default_repository: "local".to_owned(),
            enforce_destructive_switch: false,
        }),
        decisions: Arc::new(Nothing),
        limits: webhook::Limits::default(),
    }))
}

/// The least time of one request, of many batches.
async fn least(router: &Router, body: &str) -> Result<Duration> {
    let answer = ask(router, body).await?;
    ensure!(answer.contains("\"allowed\":true"), "{answer}");
    let mut least = Duration::MAX;
    for _ in 0..BATCHES {
        let began = Instant::now();
        for _ in 0..BATCH {
            ask(router, body).await?;
        }
        least = least.min(began.elapsed() / BATCH);
    }
    Ok(least)
}

async fn ask(router: &Router, body: &str) -> Result<String> {
    let request = Request::post(Route::Application.path())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_owned()))?;
    let response = router.clone().oneshot(request).await?;
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await?;
    Ok(String::from_utf8(bytes.to_vec())?)
}
