//! Story: the schema in the API server and the domain judge alike (a rule runs in both, so they must agree).
//!
//! Every case of the table goes to the real API server, where only the CRD's rules judge (no webhook is registered), and to
//! the domain as the webhook would ask it. Verdict, named fields and text are compared; the table says what is right.

use std::collections::BTreeSet;

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use domain::tenancy::admission::{Change, review_instance, review_tenant};
use domain::tenancy::endpoint::AddressPolicy;
use domain::violation::Verdict;
use e2e::world::objects::{Namespace, all};
use e2e::{Bed, Options};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde::Deserialize;
use serde_json::{Map, Value, json};

const GROUP_VERSION: &str = "database.ddupan.top/v1alpha1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    tenants: Vec<Case>,
    instances: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    says: String,
    #[serde(default)]
    name: Value,
    #[serde(default)]
    spec: Map<String, Value>,
    without: Option<String>,
    stored: Option<Map<String, Value>>,
    status: Option<Value>,
    #[serde(default)]
    refused: BTreeSet<String>,
    words: Option<Words>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Words {
    Schema,
}

/// What one of the two judges said.
#[derive(Debug, Default)]
struct Judged {
    refused: bool,
    /// Field and text; empty if the domain got no draft to judge, because the object could not be decoded.
    said: Vec<(String, String)>,
}

impl Judged {
    fn fields(&self) -> BTreeSet<String> {
        self.said.iter().map(|(field, _)| field.clone()).collect()
    }
}

/// A kind: its legal base, where its objects are, and how the domain is asked.
struct Kind {
    name: &'static str,
    object_name: &'static str,
    base: Value,
    objects: Api<DynamicObject>,
    ask: fn(&Value, Option<&Value>) -> Judged,
}

#[tokio::test]
async fn alone_the_schema_and_the_domain_agree_on_every_case_of_the_table() {
    let table: Table = serde_saphyr::from_str(include_str!("differential_cases.yaml")).unwrap();
    let cases = table.tenants.len() + table.instances.len();
    assert!(cases >= 80, "{cases} cases");
    let bed = Bed::private(Options::default().without_eso_crds().openbao_in_memory())
        .await
        .unwrap();
    let namespace = Namespace::create(&bed, "differential").await.unwrap();
    let tenants = Kind {
        name: "PostgreSQLTenant",
        object_name: "app",
        base: json!({"instanceRef": "main"}),
        objects: namespace.objects(GROUP_VERSION, "PostgreSQLTenant"),
        ask: ask_about_tenant,
    };
    let instances = Kind {
        name: "PostgreSQLInstance",
        object_name: "main",
        base: json!({
            "endpoint": {"host": "pg.example", "hostaddr": "192.0.2.1"},
            "adminCredentialRef": {"name": "admin"},
        }),
        objects: all(namespace.client(), GROUP_VERSION, "PostgreSQLInstance"),
        ask: ask_about_instance,
    };
    let mut wrong = Vec::new();
    for (kind, cases) in [(&tenants, &table.tenants), (&instances, &table.instances)] {
        for case in cases {
            let (schema, domain) = judge(kind, case).await;
            wrong.extend(
                disagreement(case, &schema, &domain)
                    .map(|what| format!("{} {:?}: {what}", kind.name, case.says)),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {cases}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

async fn judge(kind: &Kind, case: &Case) -> (Judged, Judged) {
    let name = match &case.name {
        Value::Null => json!(kind.object_name),
        given => expanded(given),
    };
    let object = |spec: Value| json!({"apiVersion": GROUP_VERSION, "kind": kind.name, "metadata": {"name": name}, "spec": spec});
    let mut spec = kind.base.clone();
    lay_over(&mut spec, expanded(&Value::Object(case.spec.clone())));
    if let Some(path) = &case.without {
        remove(&mut spec, path);
    }
    let new = object(spec);
    let Some(stored) = &case.stored else {
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let answer = kind.objects.create(&dry_run, &dynamic(&new)).await;
        return (by_schema(answer.map(drop)), (kind.ask)(&new, None));
    };
    let mut spec = kind.base.clone();
    lay_over(&mut spec, expanded(&Value::Object(stored.clone())));
    let mut old = object(spec);
    let answer = update(kind, case, &old, &new).await;
    if let Some(status) = &case.status {
        old["status"] = status.clone();
    }
    (by_schema(answer), (kind.ask)(&new, Some(&old)))
}

/// Stores `old` with the case's status, sends `new`, and removes it again.
async fn update(kind: &Kind, case: &Case, old: &Value, new: &Value) -> Result<(), kube::Error> {
    let (objects, name) = (&kind.objects, old["metadata"]["name"].as_str().unwrap());
    let created = objects
        .create(&PostParams::default(), &dynamic(old))
        .await
        .unwrap_or_else(|error| panic!("{}: {error}", case.says));
    let mut version = created.metadata.resource_version;
    if let Some(status) = &case.status {
        let patch = Patch::Merge(json!({"status": status}));
        let patched = objects
            .patch_status(name, &PatchParams::default(), &patch)
            .await;
        version = patched
            .unwrap_or_else(|error| panic!("{}: {error}", case.says))
            .metadata
            .resource_version;
    }
    let mut wanted = dynamic(new);
    wanted.metadata.resource_version = version;
    let answer = objects.replace(name, &PostParams::default(), &wanted).await;
    objects
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
    answer.map(drop)
}

fn by_schema(answer: Result<(), kube::Error>) -> Judged {
    let status = match answer {
        Ok(()) => return Judged::default(),
        Err(kube::Error::Api(status)) => status,
        Err(other) => panic!("no verdict: {other}"),
    };
    assert_eq!(status.reason, "Invalid", "{}", status.message);
    let causes = status.details.map(|details| details.causes);
    let said = causes.unwrap_or_default().into_iter();
    // Says only that CEL was not run, because the object does not have the schema's form.
    let said = said.filter(|cause| cause.field != "<nil>");
    Judged {
        refused: true,
        said: said.map(|cause| (cause.field, cause.message)).collect(),
    }
}

fn by_domain(verdict: Verdict) -> Judged {
    Judged {
        refused: !verdict.is_allowed(),
        said: verdict
            .violations
            .into_iter()
            .map(|violation| (violation.path.to_string(), violation.text))
            .collect(),
    }
}

fn undecodable() -> Judged {
    Judged {
        refused: true,
        said: Vec::new(),
    }
}

fn ask_about_tenant(new: &Value, old: Option<&Value>) -> Judged {
    let decode = |value: &Value| serde_json::from_value::<PostgreSQLTenant>(value.clone());
    let Ok(new) = decode(new) else {
        return undecodable();
    };
    let old = old.map(|old| decode(old).unwrap());
    let change = old.as_ref().map_or_else(
        || Change::Create(new.draft()),
        |old| Change::Update {
            old: old.draft(),
            new: new.draft(),
            recorded: old.recorded(),
            deleting: false,
        },
    );
    by_domain(review_tenant(&change, None))
}

fn ask_about_instance(new: &Value, old: Option<&Value>) -> Judged {
    let decode = |value: &Value| serde_json::from_value::<PostgreSQLInstance>(value.clone());
    let Ok(new) = decode(new) else {
        return undecodable();
    };
    let old = old.map(|old| decode(old).unwrap());
    let change = old.as_ref().map_or_else(
        || Change::Create(new.spec.draft()),
        |old| {
            // The controller writes this phase only to an object that has a deletion timestamp, which CEL cannot see.
            let phase = old
                .status
                .as_ref()
                .and_then(|status| status.phase.as_deref());
            Change::Update {
                old: old.spec.draft(),
                new: new.spec.draft(),
                recorded: (),
                deleting: phase == Some("Deleting"),
            }
        },
    );
    by_domain(review_instance(&change, &AddressPolicy::default(), &[]))
}

/// What is wrong with the two verdicts, if anything.
fn disagreement(case: &Case, schema: &Judged, domain: &Judged) -> Option<String> {
    let expected = !case.refused.is_empty();
    if schema.refused != expected || domain.refused != expected {
        return Some(format!("schema {schema:?}, domain {domain:?}"));
    }
    if schema.fields() != case.refused {
        return Some(format!("the schema names {:?}", schema.said));
    }
    if domain.said.is_empty() {
        return None;
    }
    if domain.fields() != case.refused {
        return Some(format!("the domain names {:?}", domain.said));
    }
    let worded = |field: &String| {
        let texts = domain.said.iter().filter(|(at, _)| at == field);
        texts.into_iter().any(|(at, text)| {
            schema
                .said
                .iter()
                .any(|(field, message)| field == at && message.contains(text))
        })
    };
    let same = case.refused.iter().all(worded);
    let own = case.words == Some(Words::Schema);
    (same == own).then(|| format!("words: schema {:?}, domain {:?}", schema.said, domain.said))
}

fn dynamic(value: &Value) -> DynamicObject {
    serde_json::from_value(value.clone()).unwrap()
}

/// Replaces `{repeat, times}` and `{numbered, count}`, see the table's head.
fn expanded(value: &Value) -> Value {
    let times = |key: &str| usize::try_from(value[key].as_u64().unwrap()).unwrap();
    match value {
        Value::Object(fields) if fields.contains_key("repeat") => {
            json!(value["repeat"].as_str().unwrap().repeat(times("times")))
        }
        Value::Object(fields) if fields.contains_key("numbered") => {
            let stem = value["numbered"].as_str().unwrap();
            (0..times("count"))
                .map(|number| format!("{stem}{number}"))
                .collect()
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), expanded(value)))
            .collect(),
        Value::Array(items) => items.iter().map(expanded).collect(),
        other => other.clone(),
    }
}

/// Lays objects over objects; everything else, `null` too, replaces.
fn lay_over(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

fn remove(spec: &mut Value, path: &str) {
    let pointer = format!("/{}", path.replace('.', "/"));
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = spec.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    assert!(parent.remove(field).is_some(), "no {path} to remove");
}
