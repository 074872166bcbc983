//! Packages that are only memory: schemas by name, grants, and checks that answer what the settings say.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use domain::packages::names::VersionId;
use domain::settings::admission::{Bundle, HookAnswer};
use domain::settings::grants::Catalogs;
use domain::settings::limits::Limits as SettingsLimits;
use domain::settings::package::PackageSchemas;
use domain::violation::Verdict;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use webhook::{
    ApplicationView, Applications, KnownVersion, Limits, Question, Route, SettingsChecks,
};

use crate::world::{Cluster, Reply, World};

/// Packages at version v1.0.0 of repository `local`, each with its settings schema.
#[derive(Default)]
pub struct Packages {
    pub unsynced: bool,
    pub schemas: BTreeMap<&'static str, Arc<KnownVersion>>,
    pub catalogs: Arc<Catalogs>,
    /// Packages that are loaded here and have a check.
    pub checked: Vec<&'static str>,
    pub enforce: bool,
    pub asked: Arc<AtomicUsize>,
    pub questions: Arc<Mutex<Vec<Question>>>,
    /// The threads that asked for the catalogues, once for each time that a review was judged.
    pub judged_on: Arc<Mutex<Vec<ThreadId>>>,
}

impl Packages {
    pub fn of(schemas: &[(&'static str, Value)]) -> Self {
        let known = |schema: &Value| {
            Arc::new(KnownVersion {
                draft: false,
                schemas: PackageSchemas::from_documents(
                    schema,
                    &Value::Null,
                    &SettingsLimits::DEFAULT,
                )
                .map(Arc::new)
                .map_err(|error| error.to_string()),
                requirements: Verdict::allowed(),
            })
        };
        Self {
            schemas: schemas
                .iter()
                .map(|(name, schema)| (*name, known(schema)))
                .collect(),
            ..Self::default()
        }
    }

    pub fn world(self) -> World {
        self.world_within(Limits::default())
    }

    pub fn world_within(self, limits: Limits) -> World {
        let enforce = self.enforce;
        let packages = Arc::new(self);
        let applications = Applications {
            view: Arc::clone(&packages) as Arc<dyn ApplicationView>,
            checks: packages,
            default_repository: "local".to_owned(),
            enforce_destructive_switch: enforce,
        };
        World::serving(Cluster::default(), limits, Some(applications))
    }
}

impl ApplicationView for Packages {
    fn synced(&self) -> bool {
        !self.unsynced
    }

    fn has_package(&self, name: &str) -> bool {
        self.schemas.contains_key(name)
    }

    fn version(&self, id: &VersionId) -> Option<Arc<KnownVersion>> {
        let known = self.schemas.get(id.package.as_str())?;
        (id.repository == "local" && id.version == "v1.0.0").then(|| Arc::clone(known))
    }

    fn catalogs(&self, _: &str) -> Arc<Catalogs> {
        self.judged_on.lock().unwrap().push(thread::current().id());
        Arc::clone(&self.catalogs)
    }
}

impl SettingsChecks for Packages {
    fn bundle(&self, version: &VersionId) -> Bundle {
        if self.checked.contains(&version.package.as_str()) {
            Bundle::WithCheck
        } else {
            Bundle::NotLoaded
        }
    }

    /// `settings.check` is the answer: `valid`, `message`, `warnings`, `milliseconds`; without it, a failure.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<HookAnswer, String>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.questions.lock().unwrap().push(question.clone());
        async move {
            let check = &question.settings["check"];
            let time = check["milliseconds"].as_u64().unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(time)).await;
            let valid = check["valid"].as_bool();
            let valid = valid.ok_or_else(|| "exit status 2".to_owned())?;
            let warnings = check["warnings"].as_array().cloned().unwrap_or_default();
            Ok(HookAnswer {
                valid,
                message: check["message"].as_str().unwrap_or_default().to_owned(),
                warnings: warnings
                    .iter()
                    .map(|text| text.as_str().unwrap().to_owned())
                    .collect(),
            })
        }
        .boxed()
    }
}

/// An Application as the API server sends it.
pub fn application(package: &str, settings: &Value) -> Value {
    json!({
        "apiVersion": "deckhouse.io/v1alpha1", "kind": "Application",
        "metadata": {"name": "shop", "namespace": "team", "labels": {"a": "b"}},
        "spec": {"packageName": package, "packageVersion": "v1.0.0", "settings": settings},
    })
}

/// The same, with what is in force.
pub fn installed(package: &str, settings: &Value, applied: &Value) -> Value {
    let mut object = application(package, settings);
    object["status"] = json!({
        "currentVersion": {"version": "v1.0.0"},
        "lastAppliedConfiguration": applied,
        "conditions": [{"type": "Installed", "status": "True"}],
    });
    object
}

/// A review of a create, or of an update if there is an old object.
pub fn review(new: &Value, old: Option<&Value>) -> Value {
    let names = |word: &str, value: &str| json!({"group": "deckhouse.io", "version": "v1alpha1", word: value});
    let mut review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5", "kind": names("kind", "Application"), "resource": names("resource", "applications"),
            "name": new["metadata"]["name"], "namespace": new["metadata"]["namespace"],
            "operation": "CREATE", "object": new,
        },
    });
    if let Some(old) = old {
        review["request"]["operation"] = "UPDATE".into();
        review["request"]["oldObject"] = old.clone();
    }
    review
}

impl World {
    pub async fn create(&self, package: &str, settings: &Value) -> Reply {
        self.ask(&review(&application(package, settings), None))
            .await
    }

    /// A change of an installed Application whose settings were applied as they are.
    pub async fn change(&self, package: &str, old: &Value, new: &Value) -> Reply {
        let old = installed(package, old, old);
        self.ask(&review(&application(package, new), Some(&old)))
            .await
    }

    /// A body as it is.
    pub async fn raw(&self, body: String) -> Reply {
        self.post(Route::Application, body).await
    }
}
