//! Story: what the one HTTPS server answers: probes, metrics, and reviews that are not reviews.

use e2e::Bed;
use e2e::world::tenancy::World;
use e2e::world::tenantry::Tenantry;
use reqwest::StatusCode;
use serde_json::{Value, json};

const TENANT: &str = "/validate-database-ddupan-top-v1alpha1-postgresqltenant";
const INSTANCE: &str = "/validate-database-ddupan-top-v1alpha1-postgresqlinstance";

#[tokio::test]
async fn probes_answer_and_metrics_show_reconciles_reviews_and_effects_of_a_create() {
    let world = World::shared("metrics").await.unwrap();
    world.ready_tenant("my-app", "").await.unwrap();
    for (path, shown) in [
        ("/livez", "ok"),
        ("/healthz", "ok"),
        ("/readyz", "[+]caches-synced ok"),
    ] {
        let (status, body) = world.tenantry.get(path).await.unwrap();
        assert!(
            status == StatusCode::OK && body.contains(shown),
            "{path} says {status}: {body}"
        );
    }
    let (status, metrics) = world.tenantry.get("/metrics").await.unwrap();
    assert_eq!(status, StatusCode::OK);
    for series in [
        r#"controller_runtime_reconcile_total{controller="postgresqltenant",result="success"}"#,
        r#"controller_runtime_reconcile_total{controller="postgresqlinstance",result="success"}"#,
        r#"controller_runtime_reconcile_time_seconds_count{controller="postgresqltenant"}"#,
        r#"controller_runtime_webhook_requests_total{webhook="/validate-database-ddupan-top-v1alpha1-postgresqltenant",code="200"}"#,
        r#"tenantry_admission_decisions_total{kind="PostgreSQLTenant",operation="CREATE",decision="allowed"}"#,
        r#"tenantry_external_effects_total{effect="tenant.role",outcome="success"}"#,
        r#"tenantry_external_effects_total{effect="tenant.bao.data",outcome="success"}"#,
        r#"tenantry_external_effects_total{effect="tenant.status.ready",outcome="success"}"#,
        r#"tenantry_external_effect_duration_seconds_count{effect="tenant.database"}"#,
        r#"tenantry_tenants{phase="Ready",ready="True"}"#,
        r#"tenantry_instances{phase="Ready",ready="True"}"#,
    ] {
        assert!(
            value(&metrics, series).is_some_and(|value| value >= 1.0),
            "{series} in\n{metrics}"
        );
    }
    // H37: no label comes from an object.
    for name in [&world.instance, &world.identifier("my_app"), "my-app"] {
        assert!(!metrics.contains(name), "{name}");
    }
}

/// The value of a series that the exposition shows under this name and labels.
fn value(metrics: &str, series: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(series))?;
    line.trim().parse().ok()
}

#[tokio::test]
async fn h9_malformed_reviews_are_refused_and_the_process_goes_on() {
    let bed = Bed::shared().unwrap();
    let tenantry = Tenantry::shared(&bed).await.unwrap();
    let pid = tenantry.process().unwrap().pid;
    for (route, legal, foreign) in [
        (TENANT, tenant_review(), instance_review()),
        (INSTANCE, instance_review(), tenant_review()),
    ] {
        let text = legal.to_string();
        let control = post(&tenantry, route, text.clone().into_bytes())
            .await
            .unwrap();
        assert!(
            control.0 == StatusCode::OK && allows(&control.1),
            "the control: {control:?}"
        );
        for (what, hostile) in hostile(&text, &legal, &foreign) {
            let too_large = hostile.len() > 7 << 20;
            // Of a body over the limit only the announced length is read, so a client may see no more than a closed connection.
            let Some((status, body)) = post(&tenantry, route, hostile).await else {
                assert!(too_large, "{route} {what}: no answer");
                continue;
            };
            assert!(!allows(&body), "{route} {what}: {status} {body}");
            let denied = status == StatusCode::OK && body.contains("\"allowed\":false");
            assert!(
                denied || status.is_client_error(),
                "{route} {what}: {status} {body}"
            );
            assert!(
                !too_large || status == StatusCode::PAYLOAD_TOO_LARGE,
                "{route} {what}: {status}"
            );
        }
    }
    assert_eq!(tenantry.get("/livez").await.unwrap().0, StatusCode::OK);
    assert_eq!(tenantry.process().unwrap().pid, pid);
}

/// Bodies that must not be taken, made of one that is.
fn hostile(text: &str, legal: &Value, foreign: &Value) -> Vec<(&'static str, Vec<u8>)> {
    let changed = |pointer: &str, value: Value| {
        let mut review = legal.clone();
        *review.pointer_mut(pointer).unwrap() = value;
        review.to_string().into_bytes()
    };
    let padded = |padding: &str| {
        let mut body = text.to_owned();
        body.push_str(&padding.repeat(8 << 20));
        body.into_bytes()
    };
    let mut bodies = vec![
        ("empty", Vec::new()),
        ("8 MiB of blanks behind it", padded(" ")),
        ("8 MiB of zeros", vec![0; 8 << 20]),
        (
            "8 MiB in one string",
            changed("/request/object/metadata/name", json!("x".repeat(8 << 20))),
        ),
        ("nested lists", "[".repeat(200_000).into_bytes()),
        (
            "nested objects in the spec",
            text.replacen(
                "\"spec\":{",
                &format!(
                    "\"spec\":{{\"x\":{}1{},",
                    "{\"a\":".repeat(100_000),
                    "}".repeat(100_000)
                ),
                1,
            )
            .into_bytes(),
        ),
        (
            "not UTF-8",
            [b"{\"kind\":\"".as_slice(), &[0xff, 0xfe], b"\"}"].concat(),
        ),
        (
            "another kind of review",
            changed("/kind", json!("ConversionReview")),
        ),
        (
            "another version of review",
            changed("/apiVersion", json!("admission.k8s.io/v1beta1")),
        ),
        (
            "the review of the other kind",
            foreign.to_string().into_bytes(),
        ),
        (
            "the object of the other kind",
            changed("/request/object", foreign["request"]["object"].clone()),
        ),
        ("no object", changed("/request/object", Value::Null)),
        (
            "a list for an object",
            changed("/request/object", json!([])),
        ),
        ("no request", changed("/request", Value::Null)),
        ("a list", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("two reviews", format!("{text}{text}").into_bytes()),
    ];
    let cut = (1..8).map(|eighth| {
        (
            "truncated",
            text.as_bytes()[..text.len() * eighth / 8].to_vec(),
        )
    });
    bodies.extend(cut);
    bodies
}

/// Status and body; `None` if the server hung up while the request was still being sent.
async fn post(tenantry: &Tenantry, route: &str, body: Vec<u8>) -> Option<(StatusCode, String)> {
    let request = tenantry
        .http()
        .unwrap()
        .post(format!("{}{route}", tenantry.url));
    let answer = request
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await;
    let answer = answer
        .inspect_err(|error| assert!(error.is_request(), "{error:?}"))
        .ok()?;
    Some((answer.status(), answer.text().await.unwrap()))
}

/// Whether the API server would take the answer as a yes.
fn allows(body: &str) -> bool {
    let answer: Value = serde_json::from_str(body).unwrap_or_default();
    answer.pointer("/response/allowed") == Some(&json!(true))
}

fn tenant_review() -> Value {
    review(
        "PostgreSQLTenant",
        &json!("team-a"),
        &json!({"instanceRef": "shared", "deletionPolicy": "Retain"}),
    )
}

fn instance_review() -> Value {
    let endpoint = json!({"host": "pg.example", "hostaddr": "192.0.2.1", "port": 5432, "database": "postgres", "sslMode": "verify-full"});
    let admin = json!({"name": "admin", "usernameKey": "username", "passwordKey": "password"});
    review(
        "PostgreSQLInstance",
        &Value::Null,
        &json!({"endpoint": endpoint, "adminCredentialRef": admin}),
    )
}

fn review(kind: &str, namespace: &Value, spec: &Value) -> Value {
    let version = json!({"group": "database.ddupan.top", "version": "v1alpha1", "kind": kind});
    let resource = json!({"group": "database.ddupan.top", "version": "v1alpha1", "resource": format!("{}s", kind.to_lowercase())});
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": version, "resource": resource,
            "name": "netbox", "namespace": namespace, "operation": "CREATE",
            "userInfo": {"username": "jane"}, "dryRun": false,
            "object": {
                "apiVersion": "database.ddupan.top/v1alpha1", "kind": kind,
                "metadata": {"name": "netbox", "namespace": namespace, "uid": "1"}, "spec": spec,
            },
            "oldObject": null, "options": null,
        },
    })
}
