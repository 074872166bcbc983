//! S22: an object of cluster scope or of another namespace in a release is refused before anything is applied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::marks::is_list;
use super::stream::{Content, Node};

/// Whether the kinds that the API server knows are namespaced, by `<apiVersion>/<kind>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kinds(pub BTreeMap<String, bool>);

impl Kinds {
    /// The key of a kind.
    #[must_use]
    pub fn key(api_version: &str, kind: &str) -> String {
        format!("{api_version}/{kind}")
    }
}

/// Why an object is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// It is in another namespace.
    #[error(
        "{kind} {name:?} is in namespace {namespace:?}: a package's objects are in the namespace of its Application"
    )]
    Foreign {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: String,
    },
    /// Its kind is of cluster scope.
    #[error(
        "{kind} {name:?} is of cluster scope: an Application has objects in its namespace alone"
    )]
    Cluster {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The API server does not know the kind.
    #[error(
        "{kind} {name:?} has apiVersion {api_version:?}, which the API server does not serve: install its CRD first"
    )]
    Unknown {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// Its API version.
        api_version: String,
    },
    /// A part of it stands elsewhere.
    #[error(
        "a template renders an object whose metadata are an alias or merged from one: write them out"
    )]
    Merged,
    /// It is no object.
    #[error("a template renders something without apiVersion, kind or metadata.name")]
    NoObject,
}

/// The key that puts another map's entries into this one.
const MERGE: &str = "<<";

/// Refuses the first object that does not belong into the namespace.
///
/// # Errors
/// The object, and what is wrong with it.
pub fn check(objects: &[Node], namespace: &str, kinds: &Kinds) -> Result<(), ScopeError> {
    for object in objects {
        if is_list(object) {
            if let Some(Content::List(items)) = object.get("items").map(|items| &items.content) {
                check(items, namespace, kinds)?;
            }
            continue;
        }
        one(object, namespace, kinds)?;
    }
    Ok(())
}

fn one(object: &Node, namespace: &str, kinds: &Kinds) -> Result<(), ScopeError> {
    let text = |node: &Node, key: &str| {
        let text = node.get(key).and_then(Node::scalar);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let metadata = object.get("metadata").ok_or(ScopeError::NoObject)?;
    // What stands elsewhere could say anything.
    let elsewhere = matches!(metadata.content, Content::Alias(_));
    if elsewhere || object.get(MERGE).is_some() || metadata.get(MERGE).is_some() {
        return Err(ScopeError::Merged);
    }
    let kind = text(object, "kind").ok_or(ScopeError::NoObject)?;
    let api_version = text(object, "apiVersion").ok_or(ScopeError::NoObject)?;
    let name = text(metadata, "name")
        .or_else(|| text(metadata, "generateName"))
        .ok_or(ScopeError::NoObject)?;
    match kinds.0.get(&Kinds::key(&api_version, &kind)) {
        None => {
            return Err(ScopeError::Unknown {
                kind,
                name,
                api_version,
            });
        }
        Some(false) => return Err(ScopeError::Cluster { kind, name }),
        Some(true) => {}
    }
    match metadata.get("namespace") {
        None => Ok(()),
        Some(stated) if stated.is_null() || stated.scalar() == Some(namespace) => Ok(()),
        Some(stated) => Err(ScopeError::Foreign {
            kind,
            name,
            namespace: stated.scalar().unwrap_or_default().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::stream::read;
    use super::*;

    fn told(text: &str) -> Result<(), String> {
        let kinds = [
            ("v1/ConfigMap", true),
            ("v1/Namespace", false),
            ("v1/List", true),
        ];
        let kinds = kinds.map(|(kind, namespaced)| (kind.to_owned(), namespaced));
        let objects = read(text).unwrap();
        check(&objects, "team", &Kinds(kinds.into_iter().collect()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn s22_objects_of_the_namespace_pass_with_or_without_its_name() {
        told("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
        told("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team}\n").unwrap();
        told("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: }\n").unwrap();
    }

    #[test]
    fn s22_an_object_of_another_namespace_or_of_cluster_scope_is_refused_by_its_name() {
        let other =
            told("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\n");
        assert!(
            other
                .unwrap_err()
                .starts_with("ConfigMap \"a\" is in namespace \"kube-system\"")
        );
        let cluster = told("apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n").unwrap_err();
        assert!(
            cluster.starts_with("Namespace \"b\" is of cluster scope"),
            "{cluster}"
        );
        let unknown = told("apiVersion: x/v1\nkind: Foo\nmetadata: {name: c}\n").unwrap_err();
        assert!(
            unknown.contains("x/v1") && unknown.contains("CRD"),
            "{unknown}"
        );
    }

    #[test]
    fn s22_nothing_hides_in_a_list_an_alias_or_a_doubled_key() {
        let hidden = "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Namespace, metadata: {name: b}}]\n";
        assert!(told(hidden).unwrap_err().contains("cluster scope"));
        let alias = "apiVersion: v1\nkind: ConfigMap\nx: &m {name: a, namespace: kube-system}\nmetadata: *m\n";
        assert!(told(alias).unwrap_err().contains("alias"));
        let merged = "apiVersion: v1\nkind: ConfigMap\nx: &m {namespace: kube-system}\nmetadata: {<<: *m, name: a}\n";
        assert!(told(merged).unwrap_err().contains("merged"));
        let odd = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nitems: [{apiVersion: v1, kind: Namespace, metadata: {name: b}}]\n";
        assert!(told(odd).unwrap_err().contains("cluster scope"));
        let doubled = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team, namespace: other}\n";
        assert!(told(doubled).is_err());
        assert!(told("just: data\n").is_err());
    }
}
