//! From objects to findings: the schema first, then the very rules of the webhook, then what the objects say of one another.
//!
//! Decides which objects are ours, and that a field is reported once. It holds no rule of a kind.

use std::collections::{HashMap, HashSet};

use crds::applications;
use crds::{GROUP, PostgreSQLInstanceSpec, PostgreSQLTenantSpec, VERSION};
use domain::tenancy::endpoint::AddressPolicy;
use domain::tenancy::together::clashes;
use domain::violation::{Kind, Violation};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};
use webhook::{ClusterView, Route};

use super::applications::Packages;
use crate::commands::manifests::Source;

/// What was found of one object of ours.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) file: String,
    pub(super) kind: &'static str,
    /// Empty for an Instance.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) violations: Vec<Violation>,
    pub(super) warnings: Vec<String>,
}

/// All findings, and how many objects were of other kinds.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    pub(super) skipped: usize,
}

/// What judges an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// The rules of a kind of ours.
    Tenancy(Route),
    /// The schema of a package.
    Application,
}

impl Judged {
    fn kind(self) -> &'static str {
        match self {
            Self::Tenancy(route) => route.kind(),
            Self::Application => "Application",
        }
    }

    fn api_version(self) -> String {
        match self {
            Self::Tenancy(_) => format!("{GROUP}/{VERSION}"),
            Self::Application => format!("{}/{}", applications::GROUP, applications::VERSION),
        }
    }

    fn is_namespaced(self) -> bool {
        match self {
            Self::Tenancy(route) => route.is_namespaced(),
            Self::Application => true,
        }
    }
}

/// An object of ours with its place in the findings.
struct Ours<'a> {
    judged: Judged,
    object: Value,
    source: &'a Source,
}

/// Judges all objects as if they were created in an empty cluster; `namespace` is that of namespaced objects that name none.
pub(super) fn judge(
    sources: &[Source],
    namespace: &str,
    (addresses, packages): (&AddressPolicy, &Packages),
) -> Checked {
    let mut ours = Vec::new();
    let mut checked = Checked::default();
    for source in sources {
        match judged_by(&source.object) {
            Some(judged) => ours.push(Ours {
                judged,
                object: placed(&source.object, judged, namespace),
                source,
            }),
            None => checked.skipped += 1,
        }
    }
    let together = Together::of(&ours);
    let crds = crds::all();
    checked.findings = ours
        .iter()
        .map(|ours| alone(ours, &crds, &together, (addresses, packages)))
        .collect();
    refuse_repeated(&mut checked.findings);
    refuse_clashing(&ours, &mut checked.findings);
    checked
}

/// What judges a kind of ours, whatever its version: a wrong one is an error, not another kind.
fn judged_by(object: &Value) -> Option<Judged> {
    let group = text(object, "apiVersion").split('/').next()?.to_owned();
    let kind = text(object, "kind");
    if group == applications::GROUP && kind == Judged::Application.kind() {
        return Some(Judged::Application);
    }
    Route::TENANCY
        .into_iter()
        .find(|route| group == GROUP && kind == route.kind())
        .map(Judged::Tenancy)
}

/// The object where kubectl would put it.
fn placed(object: &Value, judged: Judged, namespace: &str) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        if judged.is_namespaced() {
            let present = metadata
                .entry("namespace")
                .or_insert_with(|| json!(namespace));
            if present.is_null() || present == "" {
                *present = json!(namespace);
            }
        } else {
            metadata.remove("namespace");
        }
    }
    object
}

fn alone(
    ours: &Ours<'_>,
    crds: &[CustomResourceDefinition],
    together: &Together,
    (addresses, packages): (&AddressPolicy, &Packages),
) -> Finding {
    let Ours {
        judged,
        object,
        source,
    } = ours;
    let mut finding = Finding {
        file: source.file.clone(),
        kind: judged.kind(),
        namespace: metadata(object, "namespace").to_owned(),
        name: metadata(object, "name").to_owned(),
        violations: Vec::new(),
        warnings: Vec::new(),
    };
    let version = text(object, "apiVersion");
    if version != judged.api_version() {
        let text = format!("must be {}", judged.api_version());
        finding.violations = vec![Violation::new("apiVersion", Kind::Unsupported, text)];
        return finding;
    }
    let crd = crds.iter().find(|crd| crd.spec.names.kind == judged.kind());
    finding.violations = crd.map(|crd| crds::unmet(crd, object)).unwrap_or_default();
    // An object whose form is wrong already cannot be told more by the rules than by the schema.
    let Ok(raw) = serde_json::value::to_raw_value(object) else {
        return finding;
    };
    let said = match judged {
        Judged::Tenancy(route) => webhook::judge_manifest(*route, &raw, together, addresses)
            .map_err(|problem| problem.text),
        Judged::Application => Ok(packages.judge(object)),
    };
    match said {
        Ok(verdict) => {
            let told: HashSet<String> = finding
                .violations
                .iter()
                .map(|violation| violation.path.to_string())
                .collect();
            let more = verdict
                .violations
                .into_iter()
                .filter(|violation| !is_told(&told, violation.path.as_str()));
            finding.violations.extend(more);
            finding.warnings = verdict.warnings;
        }
        Err(text) if finding.violations.is_empty() => {
            finding.violations = vec![Violation::new("metadata", Kind::Invalid, text)];
        }
        Err(_) => {}
    }
    finding
}

/// True if the field, one within it or one around it was told already: the domain's decode stops at the first wrong type.
fn is_told(told: &HashSet<String>, path: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    told.iter()
        .any(|told| within(told, path) || within(path, told))
}

/// kubectl would let the later of two manifests of one object win without a word.
fn refuse_repeated(findings: &mut [Finding]) {
    let mut first: HashMap<(&'static str, String, String), String> = HashMap::new();
    for finding in findings
        .iter_mut()
        .filter(|finding| !finding.name.is_empty())
    {
        let key = (
            finding.kind,
            finding.namespace.clone(),
            finding.name.clone(),
        );
        if let Some(file) = first.get(&key) {
            let text = format!("the same object stands in {file} already");
            finding
                .violations
                .push(Violation::new("metadata.name", Kind::Duplicate, text));
        } else {
            first.insert(key, finding.file.clone());
        }
    }
}

fn refuse_clashing(ours: &[Ours<'_>], findings: &mut [Finding]) {
    let specs: Vec<(usize, PostgreSQLTenantSpec)> = ours
        .iter()
        .enumerate()
        .filter(|(_, ours)| ours.judged == Judged::Tenancy(Route::Tenant))
        .filter_map(|(position, ours)| Some((position, spec(&ours.object)?)))
        .collect();
    let mut places = Vec::new();
    let mut drafts = Vec::new();
    for (position, spec) in &specs {
        let Some(ours) = ours.get(*position) else {
            continue;
        };
        places.push(*position);
        drafts.push((
            metadata(&ours.object, "namespace"),
            spec.draft(metadata(&ours.object, "name")),
        ));
    }
    for (position, violations) in places.into_iter().zip(clashes(&drafts)) {
        if let Some(finding) = findings.get_mut(position) {
            finding.violations.extend(violations);
        }
    }
}

/// What the manifests say of one another, in the place of a cluster's caches.
struct Together {
    management: HashMap<String, String>,
}

impl Together {
    fn of(ours: &[Ours<'_>]) -> Self {
        let management = ours
            .iter()
            .filter(|ours| ours.judged == Judged::Tenancy(Route::Instance))
            .filter_map(|ours| {
                let spec: PostgreSQLInstanceSpec = spec(&ours.object)?;
                Some((
                    metadata(&ours.object, "name").to_owned(),
                    spec.endpoint.database,
                ))
            })
            .collect();
        Self { management }
    }
}

impl ClusterView for Together {
    fn synced(&self) -> bool {
        true
    }

    fn management_database(&self, instance: &str) -> Option<String> {
        self.management.get(instance).cloned()
    }

    /// Nothing is created yet; a Tenant that takes an Instance's management database is told so itself.
    fn tenant_databases(&self, _instance: &str) -> Vec<(String, String)> {
        Vec::new()
    }
}

fn spec<T: serde::de::DeserializeOwned>(object: &Value) -> Option<T> {
    serde_json::from_value(object.get("spec")?.clone()).ok()
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn metadata<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .map(|metadata| text(metadata, field))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(object: Value) -> Source {
        Source {
            file: "f.yaml".to_owned(),
            object,
        }
    }

    fn tenant(name: &str, spec: &Value) -> Source {
        source(json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "PostgreSQLTenant", "metadata": {"name": name}, "spec": spec,
        }))
    }

    fn instance(database: &str) -> Source {
        source(json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "PostgreSQLInstance", "metadata": {"name": "main"},
            "spec": {
                "endpoint": {"host": "pg.example.org", "hostaddr": "192.0.2.1", "database": database},
                "adminCredentialRef": {"name": "admin"},
            },
        }))
    }

    fn said(sources: &[Source]) -> Vec<String> {
        judge(
            sources,
            "default",
            (&AddressPolicy::default(), &Packages::default()),
        )
        .findings
        .iter()
        .flat_map(|finding| finding.violations.iter().map(ToString::to_string))
        .collect()
    }

    #[test]
    fn d2_a_tenants_instance_in_the_same_call_gives_its_management_database() {
        let shop = tenant(
            "shop",
            &json!({"instanceRef": "main", "database": "registry", "loginRole": "shop"}),
        );
        assert_eq!(said(std::slice::from_ref(&shop)), Vec::<String>::new());
        let together = said(&[shop, instance("registry")]);
        assert_eq!(together.len(), 1, "{together:?}");
        assert!(
            together
                .iter()
                .all(|text| text.contains("management database"))
        );
    }

    #[test]
    fn a_field_is_told_once_though_schema_and_rules_both_refuse_it() {
        let said = said(&[tenant(
            "app",
            &json!({"instanceRef": "main", "database": "D".repeat(70), "extra": 1}),
        )]);
        assert_eq!(
            said.iter()
                .filter(|text| text.starts_with("spec.database"))
                .count(),
            1,
            "{said:?}"
        );
        assert_eq!(said.len(), 2, "{said:?}");
    }

    #[test]
    fn objects_of_other_kinds_are_counted_and_another_version_of_ours_is_not_one_of_them() {
        let other = source(json!({"apiVersion": "v1", "kind": "ConfigMap"}));
        let strange = source(json!({"kind": "PostgreSQLTenant"}));
        let checked = judge(
            &[other, strange],
            "default",
            (&AddressPolicy::default(), &Packages::default()),
        );
        assert_eq!((checked.skipped, checked.findings.len()), (2, 0));
        let version = source(
            json!({"apiVersion": format!("{GROUP}/v1"), "kind": "PostgreSQLTenant", "metadata": {"name": "a"}}),
        );
        assert_eq!(
            said(&[version]),
            [format!("apiVersion: must be {GROUP}/{VERSION}")]
        );
    }

    #[test]
    fn the_same_object_twice_is_refused() {
        let said = said(&[
            tenant("app", &json!({"instanceRef": "main"})),
            tenant("app", &json!({"instanceRef": "main"})),
        ]);
        assert_eq!(
            said,
            ["metadata.name: the same object stands in f.yaml already"]
        );
    }

    #[test]
    fn hostile_values_are_refused_and_never_a_panic() {
        for spec in [
            json!(null),
            json!([]),
            json!("x"),
            json!({"instanceRef": {}}),
            json!({"extensions": [[[]]]}),
        ] {
            assert!(!said(&[tenant("app", &spec)]).is_empty(), "{spec}");
        }
        for metadata in [
            json!(null),
            json!([]),
            json!({"name": 5}),
            json!({"name": ""}),
            json!({"name": "a", "namespace": {}}),
        ] {
            let object = json!({"apiVersion": format!("{GROUP}/{VERSION}"), "kind": "PostgreSQLTenant", "metadata": metadata,
                "spec": {"instanceRef": "main"}});
            assert!(!said(&[source(object)]).is_empty(), "{metadata}");
        }
    }
}
