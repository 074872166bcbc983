//! What tests of rounds stand on: a context whose Kubernetes API is a function, with a server that nobody listens at.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crds::PostgreSQLInstance;
use domain::tenancy::endpoint::AddressPolicy;
use domain::tenancy::names::Uid;
use domain::tenancy::tenant::SecretLayout;
use kube::client::Body;
use kube::runtime::reflector::store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::context::{Context, Deployment};
use super::credentials::Credentials;
use super::phases::Phases;
use super::settled::Settled;
use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::{Cluster, FINALIZER};
use crate::adapters::openbao::{Auth, OpenBao, OpenBaoSettings};
use crate::adapters::postgres::{Postgres, PostgresSettings};
use crate::adapters::projection::{Projections, Store, StoreKind};
use crate::metrics::Metrics;
use crate::view::{Guarded, View};

const DEADLINE: Duration = Duration::from_secs(5);
/// Paths of the objects that [`instance`] and [`tenant`] make, and of all Tenants.
pub(crate) const INSTANCE: &str = "/apis/database.ddupan.top/v1alpha1/postgresqlinstances/shared";
pub(crate) const TENANT: &str =
    "/apis/database.ddupan.top/v1alpha1/namespaces/team-a/postgresqltenants/app";
pub(crate) const TENANTS: &str = "/apis/database.ddupan.top/v1alpha1/postgresqltenants";
pub(crate) const SECRET: &str = "/api/v1/namespaces/tenantry-system/secrets/admin";

/// One request: `GET /path`, and the body (null if there is none).
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) body: Value,
}

/// A context with its API, what was asked of it, and the pens of its caches.
pub(crate) struct Stage {
    pub(crate) context: Arc<Context>,
    pub(crate) to_check: UnboundedReceiver<String>,
    asked: Arc<Mutex<Vec<Asked>>>,
    instances: Writer<Guarded<PostgreSQLInstance>>,
}

impl Stage {
    /// An API that answers by this function; the admin Secret is always there.
    pub(crate) fn new(reply: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let client = client(Arc::clone(&asked), Arc::new(reply));
        let (tenants, instances) = (store(), store());
        let (instances_to_check, to_check) = unbounded_channel();
        let view = View::new(tenants.0, instances.0);
        view.tenants_listed().mark();
        view.instances_listed().mark();
        let trust = Arc::new(certs::Trust::load(None).unwrap());
        let mut postgres = PostgresSettings::new(Arc::clone(&trust));
        postgres.connect_timeout = Duration::from_millis(500);
        let context = Context {
            events: Events::new(client.clone()),
            projections: Projections::new(client.clone(), DEADLINE),
            cluster: Cluster::new(client, "tenantry-system".to_owned(), DEADLINE),
            postgres: Postgres::new(postgres),
            openbao: openbao(),
            metrics: Arc::new(Metrics::new()),
            view: Arc::new(view),
            credentials: Credentials::default(),
            backoff: Backoff::new(Duration::from_secs(600)),
            phases: Phases::default(),
            settled: Arc::new(Settled::default()),
            instances_to_check,
            stop: CancellationToken::new(),
            deployment: deployment(trust),
        };
        Self {
            context: Arc::new(context),
            to_check,
            asked,
            instances: instances.1,
        }
    }

    /// An API with these objects, in which somebody else's write comes before our first one.
    pub(crate) fn losing_first_write(objects: Arc<Objects>) -> Self {
        let lost = AtomicBool::new(true);
        Self::new(move |asked| {
            if asked.line.starts_with("PATCH") && lost.swap(false, Ordering::Relaxed) {
                return status(409, "Conflict");
            }
            objects.answer(asked)
        })
    }

    /// Puts an Instance into the cache.
    pub(crate) fn cache(&mut self, instance: Value) {
        self.instances
            .apply_watcher_event(&Event::Apply(serde_json::from_value(instance).unwrap()));
    }

    /// How often this was asked.
    pub(crate) fn count(&self, line: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.line == line).count()
    }

    /// What was written, events left out: `PATCH /path`, and the value of a patch's last operation.
    pub(crate) fn writes(&self) -> Vec<(String, Value)> {
        let asked = self.asked.lock().unwrap();
        let writes = asked.iter().filter(|asked| asked.line.starts_with("PATCH"));
        let value = |body: &Value| body.as_array().unwrap().last().unwrap()["value"].clone();
        writes
            .map(|asked| (asked.line.clone(), value(&asked.body)))
            .collect()
    }
}

fn client(
    asked: Arc<Mutex<Vec<Asked>>>,
    reply: Arc<impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static>,
) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (asked, reply) = (Arc::clone(&asked), Arc::clone(&reply));
        async move {
            let line = format!("{} {}", request.method(), request.uri().path());
            let bytes = request.into_body().collect_bytes().await.unwrap();
            let body = serde_json::from_slice(&bytes).unwrap_or_default();
            let one = Asked { line, body };
            let (status, answer) = if one.line == format!("GET {SECRET}") {
                (200, secret())
            } else {
                reply(&one)
            };
            asked.lock().unwrap().push(one);
            let answer = Body::from(answer.to_string().into_bytes());
            let answer = http::Response::builder().status(status).body(answer);
            Ok::<_, Infallible>(answer.unwrap())
        }
    });
    kube::Client::new(service, "default")
}

fn openbao() -> OpenBao {
    // A provider that is installed already is ours too.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    OpenBao::new(OpenBaoSettings {
        address: "http://127.0.0.1:9".to_owned(),
        namespace: None,
        ca_file: None,
        mount: "secret".to_owned(),
        auth: Auth::Token {
            file: "/nonexistent".into(),
        },
        timeout: DEADLINE,
    })
    .unwrap()
}

fn deployment(trust: Arc<certs::Trust>) -> Deployment {
    Deployment {
        cluster_uid: Uid::new("cluster"),
        layout: SecretLayout {
            consumer_address: "http://127.0.0.1:9".to_owned(),
            mount: "secret".to_owned(),
            base_path: "tenantry".to_owned(),
        },
        store: Store {
            kind: StoreKind::ClusterSecretStore,
            name: "openbao".to_owned(),
        },
        trust,
        addresses: AddressPolicy::denying(Vec::new()),
    }
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "admin", "namespace": "tenantry-system"},
        "data": {"username": "YWRtaW4=", "password": "cGFzc3dvcmQ="},
    })
}

/// The objects of an API server, by path.
pub(crate) struct Objects(Mutex<BTreeMap<String, Value>>);

impl Objects {
    pub(crate) fn new(objects: &[(&str, Value)]) -> Arc<Self> {
        let objects = objects
            .iter()
            .map(|(path, object)| ((*path).to_owned(), object.clone()));
        Arc::new(Self(Mutex::new(objects.collect())))
    }

    /// Puts one there, or takes it away.
    pub(crate) fn set(&self, path: &str, object: Option<Value>) {
        let mut objects = self.0.lock().unwrap();
        match object {
            Some(object) => drop(objects.insert(path.to_owned(), object)),
            None => drop(objects.remove(path)),
        }
    }

    /// What an API server that has these objects says.
    pub(crate) fn answer(&self, asked: &Asked) -> (u16, Value) {
        let mut objects = self.0.lock().unwrap();
        let (verb, path) = asked.line.split_once(' ').unwrap();
        match verb {
            "GET" if path == TENANTS => {
                let tenants = objects
                    .iter()
                    .filter(|(path, _)| path.contains("postgresqltenants"));
                list(
                    &tenants
                        .map(|(_, object)| object.clone())
                        .collect::<Vec<_>>(),
                )
            }
            "PATCH" => {
                let object = objects.get_mut(path.trim_end_matches("/status"));
                object.map_or_else(
                    || status(404, "NotFound"),
                    |object| {
                        patch(object, &asked.body);
                        (200, object.clone())
                    },
                )
            }
            "GET" => objects
                .get(path)
                .map_or_else(|| status(404, "NotFound"), |found| (200, found.clone())),
            _ => (201, asked.body.clone()),
        }
    }
}

/// The operations of a JSON patch that our writes consist of; a new resourceVersion, as the API server gives one.
fn patch(object: &mut Value, operations: &Value) {
    for operation in operations.as_array().unwrap() {
        let path = operation["path"].as_str().unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).unwrap();
        parent[key] = operation["value"].clone();
    }
    let version = object["metadata"]["resourceVersion"].as_str().unwrap();
    let next = version.parse::<u64>().unwrap() + 1;
    object["metadata"]["resourceVersion"] = json!(next.to_string());
}

/// An error as the API server words it.
pub(crate) fn status(code: u16, reason: &str) -> (u16, Value) {
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason,
        "message": reason, "details": {"name": "x", "kind": "x"},
    });
    (code, body)
}

/// A port of loopback that nobody listens at.
fn closed_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The Instance `shared`: held by our finalizer, ready, its server away.
pub(crate) fn instance() -> Value {
    json!({
        "apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLInstance",
        "metadata": {
            "name": "shared", "uid": "i-1", "generation": 1, "resourceVersion": "10", "finalizers": [FINALIZER],
        },
        "spec": {
            "endpoint": {
                "host": "pg.example.org", "hostaddr": "127.0.0.1", "port": closed_port(), "sslMode": "disable",
            },
            "adminCredentialRef": {"name": "admin"},
        },
        "status": {
            "observedGeneration": 1, "phase": "Ready",
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    })
}

/// The Tenant `team-a/app` of the Instance `shared`, as it was applied.
pub(crate) fn tenant() -> Value {
    json!({
        "apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLTenant",
        "metadata": {"name": "app", "namespace": "team-a", "uid": "t-1", "generation": 1, "resourceVersion": "20"},
        "spec": {"instanceRef": "shared"},
    })
}

/// A list of Tenants.
pub(crate) fn list(items: &[Value]) -> (u16, Value) {
    let body = json!({
        "apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLTenantList",
        "metadata": {"resourceVersion": "100"}, "items": items,
    });
    (200, body)
}

/// The object from its JSON form.
pub(crate) fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}
