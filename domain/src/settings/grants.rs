//! Fields bound to cluster resources that a project was granted (section 7): which they are, what fills them, what they may hold.
//!
//! Catalogues come in as facts. The project default itself is never checked, and a catalogue without one neither fills nor
//! checks (S2).

use std::collections::BTreeMap;

use serde_json::Value;

use super::document;
use super::limits::Limits;
use super::schema::Schema;
use super::schema::node::{GRANTABLE, Node, NodeId, Type};
use crate::violation::{FieldPath, Kind, Violation};

/// A field bound to a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantReference {
    /// The field's keys from the root.
    pub path: Vec<String>,
    /// The catalogue's name, such as `storageclasses`.
    pub resource: String,
    /// The field, or an object around it, is marked immutable (S17).
    pub frozen: bool,
}

impl GrantReference {
    /// The path with dots.
    #[must_use]
    pub fn field(&self) -> String {
        self.path.join(".")
    }
}

/// A mark that binds nothing, as the package wrote it; it surfaces when settings are applied and in the check of an installed
/// version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The mark is an empty text.
    #[error("{field}: {GRANTABLE} is empty: name the granted resource, such as `storageclasses`")]
    EmptyResource {
        /// The marked field.
        field: String,
    },
    /// The marked field is no text.
    #[error("{field}: {GRANTABLE} is allowed on a field with `type: string` only")]
    NonStringField {
        /// The marked field.
        field: String,
    },
}

/// All bound fields of a schema, and the marks that bind nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// In the order of the properties.
    pub references: Vec<GrantReference>,
    /// What is wrong with other marks.
    pub errors: Vec<GrantError>,
}

impl Grants {
    /// Collects the marks below `properties`; list elements, map values and branches bind nothing. A recursive definition is
    /// entered once on each way.
    #[must_use]
    pub fn collect(schema: &Schema, limits: &Limits) -> Self {
        let mut search = Search {
            schema,
            left: limits.schema_nodes,
            path: Vec::new(),
            within: Vec::new(),
            found: Self::default(),
        };
        search.walk(schema.root(), false);
        search.found
    }

    /// The catalogues to look up, each once.
    #[must_use]
    pub fn lookups(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .references
            .iter()
            .map(|reference| reference.resource.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Checks what the user wrote against the catalogues; schema defaults and project defaults are not checked.
    #[must_use]
    pub fn validate(&self, user: &Value, catalogs: &Catalogs) -> Vec<Violation> {
        self.references
            .iter()
            .filter_map(|reference| refusal(reference, user, catalogs))
            .collect()
    }
}

fn refusal(reference: &GrantReference, user: &Value, catalogs: &Catalogs) -> Option<Violation> {
    let catalog = catalogs.active(&reference.resource)?;
    let value = document::at(user, &reference.path)?
        .as_str()
        .filter(|value| !value.is_empty())?;
    if catalog.available.iter().any(|name| name == value) {
        return None;
    }
    Some(Violation::new(
        FieldPath::new(reference.field()),
        Kind::Unsupported,
        format!(
            "\"{value}\" is not among the {} granted to this project: choose one of [{}]",
            reference.resource,
            catalog.available.join(" ")
        ),
    ))
}

struct Search<'s> {
    schema: &'s Schema,
    left: usize,
    path: Vec<String>,
    within: Vec<NodeId>,
    found: Grants,
}

impl Search<'_> {
    fn walk(&mut self, node: &Node, frozen: bool) {
        let node = self.schema.resolve(node);
        if self.left == 0 || self.within.contains(&node.id) {
            return;
        }
        self.left -= 1;
        let frozen = frozen || node.extensions.is_immutable();
        if let Some(resource) = node.extensions.grantable() {
            self.bind(node, resource, frozen);
        }
        self.within.push(node.id);
        for (key, property) in node.properties() {
            self.path.push(key.clone());
            self.walk(property, frozen);
            self.path.pop();
        }
        self.within.pop();
    }

    fn bind(&mut self, node: &Node, resource: &str, frozen: bool) {
        let field = self.path.join(".");
        if resource.is_empty() {
            self.found.errors.push(GrantError::EmptyResource { field });
        } else if !node.types.contains(Type::String) {
            self.found.errors.push(GrantError::NonStringField { field });
        } else {
            self.found.references.push(GrantReference {
                path: self.path.clone(),
                resource: resource.to_owned(),
                frozen,
            });
        }
    }
}

/// What a project was granted of one resource, from `AvailableClusterResource.status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// `status.default`, empty if there is none; the flag on entries does not count.
    pub default: String,
    /// The names of `status.available`.
    pub available: Vec<String>,
}

impl Catalog {
    /// Reads `status`; entries without a name are left out.
    #[must_use]
    pub fn from_status(status: &Value) -> Self {
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let entries = status.get("available").and_then(Value::as_array);
        Self {
            default: text(status.get("default")),
            available: entries
                .into_iter()
                .flatten()
                .map(|entry| text(entry.get("name")))
                .filter(|name| !name.is_empty())
                .collect(),
        }
    }
}

/// The catalogues found in one namespace, by resource; one that is absent is inactive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogs(pub BTreeMap<String, Catalog>);

impl Catalogs {
    /// A catalogue with a default; without one the resource is neither filled nor checked (S2).
    #[must_use]
    pub fn active(&self, resource: &str) -> Option<&Catalog> {
        self.0
            .get(resource)
            .filter(|catalog| !catalog.default.is_empty())
    }
}
