//! What the tests share: fixtures, a cluster that is only memory, an observer that remembers, and a way to ask.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use domain::tenancy::endpoint::AddressPolicy;
use serde_json::Value;
use tower::ServiceExt as _;
use webhook::{Admission, Applications, ClusterView, Decision, Decisions, Limits, Route};

/// A review in `tests/data`.
pub fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The fixture with one place set; missing objects on the way are made.
pub fn with(name: &str, pointer: &str, value: Value) -> Value {
    let mut review = fixture(name);
    set(&mut review, pointer, value);
    review
}

/// Sets one place of a JSON value.
pub fn set(document: &mut Value, pointer: &str, value: Value) {
    let mut place = document;
    for part in pointer.trim_start_matches('/').split('/') {
        place = match part.parse::<usize>() {
            Ok(index) if place.is_array() => &mut place[index],
            _ => &mut place[part],
        };
    }
    *place = value;
}

/// Removes one field of a JSON object.
pub fn remove(document: &mut Value, pointer: &str) {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    document
        .pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(field)
        .unwrap();
}

/// Asserts that each line of a table is refused: a field of the spec, its value, the path that is named, and a part of the
/// remedy. In a value, `@64` stands for 64 letters.
pub async fn assert_each_is_refused(review: &str, table: &str) {
    let world = World::empty();
    for case in fixture(table).as_array().unwrap() {
        let [field, value, path, remedy] = case.as_array().unwrap().as_slice() else {
            panic!("{case}")
        };
        let place = format!("/request/object/spec/{}", field.as_str().unwrap());
        let reply = world.ask(&with(review, &place, expanded(value))).await;
        let status = reply.assert_invalid(&[path.as_str().unwrap()]);
        let message = status["details"]["causes"][0]["message"].as_str().unwrap();
        assert!(
            message.contains(remedy.as_str().unwrap()),
            "{case}: {message}"
        );
    }
}

fn expanded(value: &Value) -> Value {
    match value {
        Value::String(text) => text.strip_prefix('@').map_or_else(
            || value.clone(),
            |count| Value::from("a".repeat(count.parse().unwrap())),
        ),
        Value::Array(items) => items.iter().map(expanded).collect(),
        other => other.clone(),
    }
}

/// What the caches hold.
#[derive(Default)]
pub struct Cluster {
    pub unsynced: bool,
    pub management: Option<(&'static str, &'static str)>,
    pub claimed: Vec<(&'static str, &'static str, &'static str)>,
    pub panics_for: Option<&'static str>,
    pub sleeps: Option<Duration>,
    pub asked: AtomicUsize,
}

impl ClusterView for Cluster {
    fn synced(&self) -> bool {
        !self.unsynced
    }

    fn management_database(&self, instance: &str) -> Option<String> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert_ne!(
            self.panics_for,
            Some(instance),
            "a bug that the test planted"
        );
        if let Some(time) = self.sleeps {
            std::thread::sleep(time);
        }
        self.management
            .filter(|(name, _)| *name == instance)
            .map(|(_, database)| database.to_owned())
    }

    fn tenant_databases(&self, instance: &str) -> Vec<(String, String)> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let of = self.claimed.iter().filter(|(name, _, _)| *name == instance);
        of.map(|(_, tenant, database)| ((*tenant).to_owned(), (*database).to_owned()))
            .collect()
    }
}

/// Remembers what it was told.
#[derive(Default)]
pub struct Ledger {
    pub begun: AtomicUsize,
    pub decided: Mutex<Vec<Decision>>,
}

impl Decisions for Ledger {
    fn begun(&self, _: Route) {
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    fn decided(&self, decision: &Decision) {
        self.decided.lock().unwrap().push(*decision);
    }
}

/// A router with its surroundings.
pub struct World {
    pub router: Router,
    pub cluster: Arc<Cluster>,
    pub ledger: Arc<Ledger>,
}

impl World {
    pub fn new(cluster: Cluster, limits: Limits) -> Self {
        Self::serving(cluster, limits, None)
    }

    pub fn serving(cluster: Cluster, limits: Limits, applications: Option<Applications>) -> Self {
        let cluster = Arc::new(cluster);
        let ledger = Arc::new(Ledger::default());
        let router = webhook::router(Admission {
            cluster: Arc::clone(&cluster) as Arc<dyn ClusterView>,
            addresses: AddressPolicy::denying(vec!["10.96.0.0/12".parse().unwrap()]),
            applications,
            decisions: Arc::clone(&ledger) as Arc<dyn Decisions>,
            limits,
        });
        Self {
            router,
            cluster,
            ledger,
        }
    }

    pub fn knowing(cluster: Cluster) -> Self {
        Self::new(cluster, Limits::default())
    }

    pub fn empty() -> Self {
        Self::knowing(Cluster::default())
    }

    /// Sends a request.
    pub async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER).cloned();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .unwrap();
        Reply {
            status,
            retry_after: retry_after.is_some(),
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    /// Posts a body to a route, as the API server does.
    pub async fn post(&self, route: Route, body: impl Into<Body>) -> Reply {
        self.send(post(route, body)).await
    }

    /// Posts a review to the route of its kind.
    pub async fn ask(&self, review: &Value) -> Reply {
        let kind = review["request"]["kind"]["kind"].as_str().unwrap();
        let route = Route::ALL
            .into_iter()
            .find(|route| route.kind() == kind)
            .unwrap();
        self.post(route, review.to_string()).await
    }
}

/// A request as the API server makes it.
pub fn post(route: Route, body: impl Into<Body>) -> Request<Body> {
    Request::post(format!("{}?timeout=5s", route.path()))
        .header(header::CONTENT_TYPE, "application/json")
        .body(body.into())
        .unwrap()
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: StatusCode,
    pub retry_after: bool,
    pub text: String,
}

impl Reply {
    /// The answer, which must be a well-formed review.
    pub fn response(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        let review: Value = serde_json::from_str(&self.text).unwrap();
        assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(review["kind"], "AdmissionReview");
        let response = review["response"].clone();
        assert_eq!(
            response["allowed"] == true,
            response["status"].is_null(),
            "{response}"
        );
        response
    }

    /// True if the answer says `allowed: true`, whatever its status and form.
    pub fn allows(&self) -> bool {
        serde_json::from_str::<Value>(&self.text)
            .is_ok_and(|review| review["response"]["allowed"] == true)
    }

    /// Asserts that the object may be stored.
    #[track_caller]
    pub fn assert_allowed(&self) -> Vec<String> {
        let response = self.response();
        assert_eq!(response["allowed"], true, "{response}");
        let warnings = response["warnings"].as_array().cloned().unwrap_or_default();
        warnings
            .iter()
            .map(|warning| warning.as_str().unwrap().to_owned())
            .collect()
    }

    /// Asserts a 422 that names exactly these fields.
    #[track_caller]
    pub fn assert_invalid(&self, fields: &[&str]) -> Value {
        let status = self.response()["status"].clone();
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&422.into(), &"Invalid".into()),
            "{status}"
        );
        let causes = status["details"]["causes"].as_array().unwrap();
        let named: Vec<&str> = causes
            .iter()
            .map(|cause| cause["field"].as_str().unwrap())
            .collect();
        assert_eq!(named, fields, "{status}");
        status
    }

    /// Asserts a denial with 400 that names this part of the review.
    #[track_caller]
    pub fn assert_unreadable(&self, part: &str) {
        let status = self.response()["status"].clone();
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&400.into(), &"BadRequest".into()),
            "{status}"
        );
        assert!(
            status["message"].as_str().unwrap().starts_with(part),
            "{status}"
        );
    }
}
