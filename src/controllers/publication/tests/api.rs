//! An API server of a hundred lines, which may lose any write before or after it was done.

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub(super) const VERSIONS: &str = "/apis/deckhouse.io/v1alpha1/applicationpackageversions";
pub(super) const PACKAGES: &str = "/apis/deckhouse.io/v1alpha1/applicationpackages";
pub(super) const REPOSITORIES: &str = "/apis/deckhouse.io/v1alpha1/packagerepositories";

/// Where a write is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lost {
    /// It never arrived.
    Before,
    /// Its answer did.
    After,
}

#[derive(Default)]
pub(super) struct Api {
    pub(super) objects: BTreeMap<String, Value>,
    pub(super) writes: Vec<String>,
    pub(super) events: Vec<String>,
    pub(super) version: u64,
    /// The write of this number is lost.
    pub(super) loses: Option<(usize, Lost)>,
    /// A status with schemas is refused.
    pub(super) refuses_schemas: bool,
}

impl Api {
    pub(super) fn answer(&mut self, verb: &str, path: &str, body: &Value) -> (u16, Value) {
        if path.contains("/events") {
            self.events
                .push(body["reason"].as_str().unwrap().to_owned());
            return (201, body.clone());
        }
        if verb == "GET" {
            return self.read(path);
        }
        let number = self.writes.len();
        self.writes.push(format!("{verb} {path}"));
        let lost = self
            .loses
            .filter(|(at, _)| *at == number)
            .map(|(_, lost)| lost);
        if lost == Some(Lost::Before) {
            return status(503);
        }
        let answer = self.write(verb, path, body);
        if lost == Some(Lost::After) {
            return status(503);
        }
        answer
    }

    fn read(&self, path: &str) -> (u16, Value) {
        if [VERSIONS, PACKAGES, REPOSITORIES].contains(&path) {
            let below = |key: &&String| key.starts_with(&format!("{path}/"));
            let items: Vec<&Value> = self
                .objects
                .keys()
                .filter(below)
                .map(|key| &self.objects[key])
                .collect();
            return (
                200,
                json!({"metadata": {"resourceVersion": "1"}, "items": items}),
            );
        }
        self.objects
            .get(path)
            .map_or_else(|| status(404), |object| (200, object.clone()))
    }

    fn write(&mut self, verb: &str, path: &str, body: &Value) -> (u16, Value) {
        self.version += 1;
        let version = json!(self.version.to_string());
        if verb == "POST" {
            let name = body["metadata"]["name"].as_str().unwrap();
            let key = format!("{path}/{name}");
            if self.objects.contains_key(&key) {
                return status(409);
            }
            let mut object = body.clone();
            object["metadata"]["resourceVersion"] = version;
            object["metadata"]["uid"] = json!(format!("uid-{name}"));
            self.objects.insert(key, object.clone());
            return (201, object);
        }
        if self.refuses_schemas && body.to_string().contains("openAPIV3Schema") {
            return status(413);
        }
        let Some(object) = self.objects.get_mut(path.trim_end_matches("/status")) else {
            return status(404);
        };
        let read = match body {
            Value::Array(operations) => &operations[0]["value"],
            merge => &merge["metadata"]["resourceVersion"],
        };
        if *read != object["metadata"]["resourceVersion"] {
            return status(409);
        }
        match body {
            Value::Array(operations) => object["status"] = operations[1]["value"].clone(),
            merge => {
                let metadata = merge["metadata"].as_object().unwrap();
                for (field, value) in metadata {
                    let kept = value.as_object().map(|labels| {
                        let set = labels.iter().filter(|(_, value)| !value.is_null());
                        Value::Object(
                            set.map(|(key, value)| (key.clone(), value.clone()))
                                .collect(),
                        )
                    });
                    object["metadata"][field] = kept.unwrap_or_else(|| value.clone());
                }
            }
        }
        object["metadata"]["resourceVersion"] = version;
        (200, object.clone())
    }
}

fn status(code: u16) -> (u16, Value) {
    let reason = if code == 404 { "NotFound" } else { "Other" };
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "x",
        "details": {"name": "x", "kind": "x"},
    });
    (code, body)
}
