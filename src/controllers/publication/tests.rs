//! Passes over a directory, with an API server that may lose any write.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod api;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::packages::effect::PublicationEffect;
use kube::client::Body;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use self::api::{Api, Lost, PACKAGES, REPOSITORIES, VERSIONS};
use super::source::Source;
use super::{Ending, Publication, Retry, Seen, pass};
use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::packages::Packages;
use crate::metrics::{Format, Metrics};

struct Stage {
    api: Arc<Mutex<Api>>,
    folder: TempDir,
    publication: Publication,
    source: Source,
    seen: Seen,
}

impl Stage {
    fn new(files: &[(&str, &str)]) -> Self {
        let api = Arc::new(Mutex::new(Api::default()));
        let folder = tempfile::tempdir().unwrap();
        let served = Arc::clone(&api);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let api = Arc::clone(&served);
            async move {
                let (verb, path) = (
                    request.method().to_string(),
                    request.uri().path().to_owned(),
                );
                let bytes = request.into_body().collect_bytes().await.unwrap();
                let body = serde_json::from_slice(&bytes).unwrap_or_default();
                let (code, answer) = api.lock().unwrap().answer(&verb, &path, &body);
                let answer = Body::from(answer.to_string().into_bytes());
                let answer = http::Response::builder().status(code).body(answer);
                Ok::<_, Infallible>(answer.unwrap())
            }
        });
        let client = kube::Client::new(service, "default");
        let stage = Self {
            publication: Publication {
                packages: Packages::new(client.clone(), Duration::from_secs(5)),
                events: Events::new(client),
                metrics: Arc::new(Metrics::new()),
                directory: folder.path().to_owned(),
                resync: Duration::from_secs(600),
                stop: CancellationToken::new(),
            },
            source: Source::new(folder.path().to_owned()),
            api,
            folder,
            seen: Seen::default(),
        };
        for (path, text) in files {
            stage.write(path, text);
        }
        stage
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Looks until the directory is still, then one pass.
    async fn pass(&mut self) -> Ending {
        loop {
            self.source.look().await.unwrap();
            if self.source.is_still() {
                break;
            }
        }
        let ending = pass::run(&self.publication, &mut self.source, &self.seen).await;
        self.source.acted(ending != Ending::Pause(Retry::Backoff));
        ending
    }

    fn object(&self, path: &str) -> Value {
        self.api.lock().unwrap().objects[path].clone()
    }

    fn version(&self, name: &str) -> Value {
        self.object(&format!("{VERSIONS}/{name}"))
    }

    fn writes(&self) -> usize {
        self.api.lock().unwrap().writes.len()
    }

    /// Everything that is there, without what each write makes anew.
    fn everything(&self) -> BTreeMap<String, Value> {
        let mut objects = self.api.lock().unwrap().objects.clone();
        for object in objects.values_mut() {
            object["metadata"]["resourceVersion"] = Value::Null;
            for time in ["lastScanTime", "lastChangeTime", "lastNewVersions"] {
                if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
                    status.remove(time);
                }
            }
            if let Some(conditions) = object.pointer_mut("/status/conditions") {
                for condition in conditions.as_array_mut().unwrap() {
                    condition["lastTransitionTime"] = Value::Null;
                }
            }
        }
        objects
    }
}

fn condition(object: &Value) -> (&str, &str) {
    let condition = &object["status"]["conditions"][0];
    (
        condition["status"].as_str().unwrap(),
        condition["reason"].as_str().unwrap(),
    )
}

const FULL: Ending = Ending::Pause(Retry::Slow);
const GOOD: &str = "{type: object, properties: {size: {type: integer}}}";
const BAD: &str = "{properties: {size: {type: string, pattern: '('}}}";

#[tokio::test]
async fn a_first_pass_publishes_everything_and_a_second_one_writes_nothing() {
    let mut stage = Stage::new(&[
        (
            "shop/v1.0.0/package.yaml",
            "{name: shop, type: Application}",
        ),
        ("shop/v1.0.0/openapi/settings.yaml", GOOD),
        ("shop/v1.1.0/openapi/settings.yaml", BAD),
    ]);
    assert_eq!(stage.pass().await, FULL);
    let good = stage.version("local-shop-v1.0.0");
    assert_eq!(condition(&good), ("True", "MetadataLoaded"));
    assert_eq!(
        good["metadata"]["labels"],
        json!({
            "packages.deckhouse.io/package": "shop", "packages.deckhouse.io/repository": "local",
            "packages.deckhouse.io/exist-in-registry": "true",
        })
    );
    let schema = &good["status"]["packageSchemas"]["settingsSchema"]["openAPIV3Schema"];
    assert_eq!(schema["properties"]["size"]["type"], "integer");
    let bad = stage.version("local-shop-v1.1.0");
    assert_eq!(condition(&bad), ("False", "InvalidSchema"));
    assert_eq!(
        bad["metadata"]["labels"]["packages.deckhouse.io/draft"],
        "true"
    );
    let package = stage.object(&format!("{PACKAGES}/shop"));
    assert_eq!(package["status"]["availableRepositories"], json!(["local"]));
    assert_eq!(
        package["metadata"]["ownerReferences"][0]["uid"],
        "uid-local"
    );
    let repository = stage.object(&format!("{REPOSITORIES}/local"));
    assert_eq!(condition(&repository), ("True", "LastScanSucceeded"));
    assert_eq!(
        repository["status"]["packages"],
        json!([{"name": "shop", "type": "Application"}])
    );
    let before = stage.writes();
    assert_eq!(stage.pass().await, FULL);
    assert_eq!(stage.writes(), before);
    let mut events = stage.api.lock().unwrap().events.clone();
    events.sort();
    assert_eq!(events, ["InvalidSchema", "MetadataLoaded"]);
}

#[tokio::test]
async fn whichever_write_is_lost_before_or_after_it_the_next_pass_ends_where_an_undisturbed_one_does()
 {
    let files = [("shop/v1.0.0/openapi/settings.yaml", GOOD)];
    // Another repository offers the package already, so that each effect but one takes place; that one is in the test above.
    let other = |stage: &Stage| {
        let package = json!({
            "apiVersion": "deckhouse.io/v1alpha1", "kind": "ApplicationPackage",
            "metadata": {"name": "shop", "uid": "s", "resourceVersion": "7"}, "status": {"availableRepositories": ["zoo"]},
        });
        let mut api = stage.api.lock().unwrap();
        api.objects.insert(format!("{PACKAGES}/shop"), package);
    };
    let mut undisturbed = Stage::new(&files);
    other(&undisturbed);
    assert_eq!(undisturbed.pass().await, FULL);
    let (wanted, writes) = (undisturbed.everything(), undisturbed.writes());
    let scrape = undisturbed
        .publication
        .metrics
        .encode(Format::Prometheus)
        .unwrap();
    for effect in PublicationEffect::ALL {
        let done = scrape.contains(&format!("effect=\"{}\"", effect.id()));
        assert_eq!(
            done,
            effect != PublicationEffect::CreatePackage,
            "{effect:?}"
        );
    }
    for at in 0..writes {
        for lost in [Lost::Before, Lost::After] {
            let mut stage = Stage::new(&files);
            other(&stage);
            stage.api.lock().unwrap().loses = Some((at, lost));
            let first = stage.pass().await;
            assert_eq!(
                first,
                Ending::Pause(Retry::Backoff),
                "write {at} lost {lost:?}"
            );
            assert_eq!(stage.pass().await, FULL, "write {at} lost {lost:?}");
            assert_eq!(stage.everything(), wanted, "write {at} lost {lost:?}");
        }
    }
}

#[tokio::test]
async fn s27_a_version_whose_name_is_taken_is_told_by_the_repository_and_the_object_is_left_alone()
{
    let mut stage = Stage::new(&[
        ("a-b/v1.0.0/package.yaml", "name: a-b"),
        ("shop/v1.0.0/package.yaml", "name: shop"),
    ]);
    let foreign = json!({
        "apiVersion": "deckhouse.io/v1alpha1", "kind": "ApplicationPackageVersion",
        "metadata": {"name": "local-a-b-v1.0.0", "uid": "f", "resourceVersion": "7"},
        "spec": {"packageRepositoryName": "local-a", "packageName": "b", "packageVersion": "v1.0.0"},
    });
    let path = format!("{VERSIONS}/local-a-b-v1.0.0");
    let objects = |stage: &Stage, object: &Value| {
        stage
            .api
            .lock()
            .unwrap()
            .objects
            .insert(path.clone(), object.clone());
    };
    objects(&stage, &foreign);
    assert_eq!(stage.pass().await, FULL);
    assert_eq!(stage.object(&path), foreign);
    let repository = stage.object(&format!("{REPOSITORIES}/local"));
    assert_eq!(condition(&repository), ("False", "NameTaken"));
    let message = repository["status"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("package a-b v1.0.0 of repository local is not published"),
        "{message}"
    );
    assert_eq!(
        condition(&stage.version("local-shop-v1.0.0")),
        ("True", "MetadataLoaded")
    );
}

#[tokio::test]
async fn what_is_taken_away_is_withdrawn_and_what_cannot_be_read_is_not() {
    let mut stage = Stage::new(&[
        ("shop/v1.0.0/package.yaml", "name: shop"),
        ("cart/v1.0.0/package.yaml", "name: cart"),
    ]);
    assert_eq!(stage.pass().await, FULL);
    fs::remove_dir_all(stage.folder.path().join("cart")).unwrap();
    assert_eq!(stage.pass().await, FULL);
    let exists = |stage: &Stage, name: &str| {
        stage.version(name)["metadata"]["labels"]["packages.deckhouse.io/exist-in-registry"].clone()
    };
    assert_eq!(exists(&stage, "local-cart-v1.0.0"), "false");
    assert_eq!(exists(&stage, "local-shop-v1.0.0"), "true");
    let cart = stage.object(&format!("{PACKAGES}/cart"));
    assert_eq!(cart["status"]["availableRepositories"], Value::Null);

    let (folder, aside) = (stage.folder.path().to_owned(), tempfile::tempdir().unwrap());
    fs::rename(&folder, aside.path().join("moved")).unwrap();
    assert_eq!(stage.pass().await, FULL);
    assert_eq!(exists(&stage, "local-shop-v1.0.0"), "true");
    let repository = stage.object(&format!("{REPOSITORIES}/local"));
    assert_eq!(condition(&repository), ("False", "SourceUnreadable"));
    fs::rename(aside.path().join("moved"), &folder).unwrap();
    assert_eq!(stage.pass().await, FULL);
    let repository = stage.object(&format!("{REPOSITORIES}/local"));
    assert_eq!(condition(&repository), ("True", "LastScanSucceeded"));
}

#[tokio::test]
async fn s20_what_the_api_server_does_not_take_leaves_a_draft_with_its_reason_and_is_not_tried_again()
 {
    let mut stage = Stage::new(&[("shop/v1.0.0/openapi/settings.yaml", GOOD)]);
    stage.api.lock().unwrap().refuses_schemas = true;
    assert_eq!(stage.pass().await, FULL);
    let version = stage.version("local-shop-v1.0.0");
    assert_eq!(condition(&version), ("False", "NotStored"));
    assert_eq!(
        version["metadata"]["labels"]["packages.deckhouse.io/draft"],
        "true"
    );
    let before = stage.writes();
    assert_eq!(stage.pass().await, FULL);
    assert_eq!(stage.writes(), before);
    stage.api.lock().unwrap().refuses_schemas = false;
    stage.write("shop/v1.0.0/openapi/settings.yaml", "{type: object}");
    assert_eq!(stage.pass().await, FULL);
    assert_eq!(
        condition(&stage.version("local-shop-v1.0.0")),
        ("True", "MetadataLoaded")
    );
}

#[tokio::test]
async fn a_directory_is_acted_on_only_once_it_is_still() {
    let mut stage = Stage::new(&[("shop/v1.0.0/package.yaml", "name: shop")]);
    assert_eq!(stage.source.look().await, Some(false));
    stage.write("shop/v1.0.0/openapi/settings.yaml", GOOD);
    assert_eq!(
        stage.source.look().await,
        Some(false),
        "it changed between two looks"
    );
    assert_eq!(stage.source.look().await, Some(true));
    assert!(stage.source.is_still());
}

#[test]
fn every_effect_of_publication_has_an_id_of_its_own() {
    let ids: BTreeSet<&str> = PublicationEffect::ALL
        .iter()
        .map(|effect| effect.id())
        .collect();
    assert_eq!(ids.len(), PublicationEffect::ALL.len());
}
