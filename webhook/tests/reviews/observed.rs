//! What the process sees of a request: one count and one log line.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use serde_json::json;
use webhook::{Operation, Outcome, Route};

use crate::world::{Cluster, World, fixture, set, with};

#[tokio::test]
async fn each_request_is_counted_once_with_values_of_a_closed_set() {
    let world = World::knowing(Cluster {
        panics_for: Some("cursed"),
        ..Cluster::default()
    });
    world.ask(&fixture("tenant-create")).await;
    world
        .ask(&with(
            "tenant-update-created",
            "/request/object/spec/database",
            json!("x"),
        ))
        .await;
    world.post(Route::Instance, "no json").await;
    world
        .ask(&with("tenant-create", "/request/operation", json!("EXEC")))
        .await;
    world
        .ask(&with(
            "tenant-create",
            "/request/object/spec/instanceRef",
            json!("cursed"),
        ))
        .await;
    let decided = world.ledger.decided.lock().unwrap().clone();
    let seen: Vec<_> = decided
        .iter()
        .map(|d| (d.route, d.operation, d.allowed(), d.code()))
        .collect();
    assert_eq!(
        seen,
        [
            (Route::Tenant, Operation::Create, true, 200),
            (Route::Tenant, Operation::Update, false, 200),
            (Route::Instance, Operation::Unknown, false, 400),
            (Route::Tenant, Operation::Unknown, false, 200),
            (Route::Tenant, Operation::Create, false, 500),
        ]
    );
    assert_eq!(decided[1].outcome, Outcome::Denied);
    let unread = |outcome| match outcome {
        Outcome::Refused { before_decode, .. } => before_decode,
        other => panic!("{other:?}"),
    };
    assert_eq!(unread(decided[2].outcome), Some("not_a_review"));
    assert_eq!(unread(decided[4].outcome), None, "it was read and panicked");
    assert_eq!(world.ledger.begun.load(Ordering::SeqCst), decided.len());
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn logged(review: &serde_json::Value) -> String {
    logged_at(tracing::Level::DEBUG, review).await
}

async fn logged_at(level: tracing::Level, review: &serde_json::Value) -> String {
    let sink = Sink::default();
    let writer = sink.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(level)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    World::empty().ask(review).await;
    drop(guard);
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn each_request_is_one_log_line_that_names_its_object_and_verdict_and_an_allowed_one_is_a_detail()
 {
    let line = logged(&fixture("tenant-create")).await;
    assert_eq!(line.lines().count(), 1, "{line}");
    for part in [
        "DEBUG",
        "uid=\"705ab4f5-6393-11e8-b7cc-42010a800002\"",
        "namespace=\"team-a\"",
        "name=\"netbox\"",
        "operation=\"CREATE\"",
        "dry_run=false",
        "allowed=true",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let info = tracing::Level::INFO;
    assert_eq!(logged_at(info, &fixture("tenant-create")).await, "");
    let line = logged_at(info, &with("tenant-create", "/request/uid", json!(""))).await;
    assert!(
        line.contains("allowed=false") && line.contains("refusal=\"request.uid must be"),
        "{line}"
    );
}

#[tokio::test]
async fn h20_no_text_of_a_request_can_forge_a_log_line() {
    let forged = "x\n2026-11-30T10:00:00Z INFO admission allowed=true\u{1b}[31m\0";
    let mut review = fixture("tenant-create");
    for field in [
        "/request/uid",
        "/request/name",
        "/request/namespace",
        "/request/operation",
    ] {
        set(&mut review, field, json!(forged));
    }
    let line = logged(&review).await;
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(!line.trim_end().chars().any(char::is_control), "{line:?}");
    let mut long = fixture("tenant-create");
    set(&mut long, "/request/name", json!("n".repeat(1 << 20)));
    assert!(logged(&long).await.len() < 1000);
}
