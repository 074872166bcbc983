//! What the webhook may know of packages and grants, from memory: names, compiled schemas, catalogues.
//!
//! Schemas are compiled once a version and shared by all its Applications; one that cannot be used is kept as the reason, and hurts no
//! other. A cache may lag.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crds::applications::grants::AvailableClusterResource;
use crds::applications::observed::ObservedVersion;
use domain::packages::names::VersionId;
use domain::settings::grants::{Catalog, Catalogs};
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use domain::settings::requirements::check::{Platform, judge};
use kube::ResourceExt as _;
use serde_json::Value;
use webhook::{ApplicationView, KnownVersion};

use super::cache::{Cache, Table};

/// The caches.
#[derive(Default)]
pub struct PackagesView {
    pub(super) packages: Cache<Names>,
    pub(super) versions: Cache<Versions>,
    pub(super) grants: Cache<Grants>,
}

impl PackagesView {
    /// True once every cache was filled, or its kind is known not to be served (S28).
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.packages.listed.is_marked()
            && self.versions.listed.is_marked()
            && self.grants.listed.is_marked()
    }

    /// What is known of the cluster from now on; every version is judged by it anew (S23).
    pub(super) fn runs_on(&self, platform: &Platform) {
        self.versions.change(|versions| versions.judge_by(platform));
    }
}

impl ApplicationView for PackagesView {
    fn synced(&self) -> bool {
        self.is_synced()
    }

    fn has_package(&self, name: &str) -> bool {
        self.packages.read().0.contains(name)
    }

    fn version(&self, id: &VersionId) -> Option<Arc<KnownVersion>> {
        let versions = self.versions.read();
        let found = versions.by_name.get(&id.object_name())?;
        (found.read.id == *id).then(|| Arc::clone(&found.known))
    }

    fn catalogs(&self, namespace: &str) -> Arc<Catalogs> {
        let found = self.grants.read().0.get(namespace).map(Arc::clone);
        found.unwrap_or_default()
    }
}

/// Names of objects without a namespace.
#[derive(Default)]
pub(super) struct Names(HashSet<String>);

impl Table for Names {
    type Entry = String;

    fn put(&mut self, name: String) {
        self.0.insert(name);
    }

    fn remove(&mut self, _: &str, name: &str) {
        self.0.remove(name);
    }
}

/// Versions by the name of their object.
#[derive(Default)]
pub(super) struct Versions {
    by_name: HashMap<String, Version>,
    platform: Platform,
}

struct Version {
    read: ReadVersion,
    known: Arc<KnownVersion>,
}

/// A version as its object says it, compiled.
#[derive(Clone)]
pub(super) struct ReadVersion {
    id: VersionId,
    draft: bool,
    schemas: Result<Arc<PackageSchemas>, String>,
    requirements: Value,
}

impl ReadVersion {
    /// Reads and compiles it; `None` for an object that is no version (S27). It may take its time, and a stack as rules do.
    pub(super) fn of(object: ObservedVersion) -> Option<Self> {
        let (id, draft) = (object.id()?, object.is_draft());
        let (requirements, settings) = object.into_published();
        let schemas = PackageSchemas::from_documents(&settings, &Value::Null, &Limits::DEFAULT);
        Some(Self {
            id,
            draft,
            schemas: schemas.map(Arc::new).map_err(|error| error.to_string()),
            requirements,
        })
    }

    fn known(&self, platform: &Platform) -> Arc<KnownVersion> {
        Arc::new(KnownVersion {
            draft: self.draft,
            schemas: self.schemas.clone(),
            requirements: judge(&self.requirements, platform),
        })
    }
}

impl Versions {
    fn judge_by(&mut self, platform: &Platform) {
        self.platform = platform.clone();
        for version in self.by_name.values_mut() {
            version.known = version.read.known(platform);
        }
    }
}

impl Table for Versions {
    type Entry = ReadVersion;

    fn empty(&self) -> Self {
        Self {
            by_name: HashMap::new(),
            platform: self.platform.clone(),
        }
    }

    fn put(&mut self, read: ReadVersion) {
        let known = read.known(&self.platform);
        self.by_name
            .insert(read.id.object_name(), Version { read, known });
    }

    fn remove(&mut self, _: &str, name: &str) {
        self.by_name.remove(name);
    }
}

/// Catalogues by namespace.
#[derive(Default)]
pub(super) struct Grants(HashMap<String, Arc<Catalogs>>);

/// A catalogue and whose it is.
pub(super) struct Granted {
    namespace: String,
    resource: String,
    catalog: Catalog,
}

impl Granted {
    /// Of an object.
    pub(super) fn of(object: &AvailableClusterResource) -> Option<Self> {
        Some(Self {
            namespace: object.namespace()?,
            resource: object.name_any(),
            catalog: object.catalog(),
        })
    }
}

impl Table for Grants {
    type Entry = Granted;

    fn put(&mut self, granted: Granted) {
        let catalogs = self.0.entry(granted.namespace).or_default();
        let catalogs = &mut Arc::make_mut(catalogs).0;
        catalogs.insert(granted.resource, granted.catalog);
    }

    fn remove(&mut self, namespace: &str, name: &str) {
        let Some(catalogs) = self.0.get_mut(namespace) else {
            return;
        };
        let left = &mut Arc::make_mut(catalogs).0;
        left.remove(name);
        if left.is_empty() {
            self.0.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    fn id() -> VersionId {
        VersionId {
            repository: "local".to_owned(),
            package: "shop".to_owned(),
            version: "v1.0.0".to_owned(),
        }
    }

    fn version(schema: &Value) -> ReadVersion {
        let object = json!({
            "apiVersion": "deckhouse.io/v1alpha1", "kind": "ApplicationPackageVersion",
            "metadata": {"name": "local-shop-v1.0.0"},
            "spec": {"packageName": "shop", "packageRepositoryName": "local", "packageVersion": "v1.0.0"},
            "status": {
                "packageMetadata": {"requirements": {"kubernetes": {"constraint": ">= 1.30"}}},
                "packageSchemas": {"settingsSchema": {"openAPIV3Schema": schema}},
            },
        });
        ReadVersion::of(serde_json::from_value(object).unwrap()).unwrap()
    }

    fn granted(namespace: &str, default: &str) -> Granted {
        Granted {
            namespace: namespace.to_owned(),
            resource: "storageclasses".to_owned(),
            catalog: Catalog {
                default: default.to_owned(),
                available: Vec::new(),
            },
        }
    }

    #[test]
    fn a_list_counts_only_once_it_is_complete_and_then_replaces_everything() {
        let view = PackagesView::default();
        view.packages.begin();
        view.packages.list("shop".to_owned());
        assert!(!view.has_package("shop") && !view.is_synced());
        view.packages.complete();
        assert!(view.has_package("shop"));
        view.packages.put("cart".to_owned());
        view.packages.begin();
        view.packages.list("cart".to_owned());
        assert!(view.has_package("shop"));
        view.packages.complete();
        assert!(!view.has_package("shop") && view.has_package("cart"));
        view.packages.remove("", "cart");
        assert!(!view.has_package("cart"));
    }

    #[test]
    fn s28_kinds_that_are_not_served_count_as_synced_and_empty() {
        let view = PackagesView::default();
        view.packages.complete();
        view.versions.complete();
        assert!(!view.is_synced());
        view.grants.put(granted("team", "fast"));
        view.grants.unserved();
        assert!(view.is_synced());
        assert_eq!(*view.catalogs("team"), Catalogs::default());
    }

    #[test]
    fn s27_a_version_is_found_by_its_spec_and_not_by_its_name_alone() {
        let view = PackagesView::default();
        view.versions.put(version(&json!({"type": "object"})));
        assert!(view.version(&id()).is_some());
        let twin = VersionId {
            repository: "local-shop".to_owned(),
            package: "v1.0.0".to_owned(),
            version: String::new(),
        };
        assert!(view.version(&twin).is_none());
    }

    #[test]
    fn s23_all_versions_are_judged_anew_when_the_cluster_changes_and_compiled_schemas_stay() {
        let view = PackagesView::default();
        view.versions.put(version(&json!({"type": "object"})));
        let first = view.version(&id()).unwrap();
        assert_eq!(first.requirements.warnings.len(), 1);
        let old = Platform {
            kubernetes: Platform::kubernetes_version("v1.29.3"),
            ..Platform::default()
        };
        view.versions.begin();
        view.runs_on(&old);
        view.versions.list(version(&json!({"type": "object"})));
        let second = view.version(&id()).unwrap();
        assert!(!second.requirements.is_allowed());
        let (first, second) = (first.schemas.as_ref(), second.schemas.as_ref());
        assert!(Arc::ptr_eq(first.unwrap(), second.unwrap()));
        view.versions.complete();
        assert!(!view.version(&id()).unwrap().requirements.is_allowed());
    }

    #[test]
    fn h13_a_schema_that_cannot_be_used_is_kept_as_its_reason() {
        let view = PackagesView::default();
        let broken = json!({"properties": {"a": {"$ref": "http://192.0.2.1/x"}}});
        view.versions.put(version(&broken));
        let known = view.version(&id()).unwrap();
        assert!(
            known
                .schemas
                .as_ref()
                .is_err_and(|text| text.contains("$ref"))
        );
    }

    #[test]
    fn a_catalogue_belongs_to_its_namespace_and_goes_with_its_object() {
        let view = PackagesView::default();
        view.grants.put(granted("team", "fast"));
        let before = view.catalogs("team");
        view.grants.put(granted("team", "slow"));
        let now = view.catalogs("team");
        assert_eq!(before.active("storageclasses").unwrap().default, "fast");
        assert_eq!(now.active("storageclasses").unwrap().default, "slow");
        assert!(view.catalogs("other").0.is_empty());
        view.grants.remove("team", "storageclasses");
        assert!(view.catalogs("team").0.is_empty());
    }
}
