//! The fields of the form and their groups (section 10, S26).
//!
//! Only `properties` are walked: marks below list elements and map values are ignored. A recursive definition is entered once
//! on each way.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::FormFacts;
use crate::settings::document::token;
use crate::settings::limits::Limits;
use crate::settings::schema::extensions::{
    UI_ADVANCED, UI_GROUP, UI_MESSAGE, UI_ORDER, UI_RESOURCE,
};
use crate::settings::schema::{Node, NodeId, Schema};

/// One field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// Where the value is, as a JSON pointer into the settings; a group does not change it.
    pub pointer: String,
    /// Where its schema is, as a JSON pointer into the schema as it is nested, references followed.
    pub schema_pointer: String,
    /// `x-deckhouse-ui-order`; lower first, fields without it last and by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<i64>,
    /// `x-deckhouse-ui-group`: the top-level group in which the field is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Hidden behind the toggle; only top-level fields can be.
    pub advanced: bool,
    /// Shown instead of errors of the schema, never instead of those of rules or grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `x-deckhouse-ui-resource-name` of a text field: offer the names of these objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Value>,
    /// What the project was granted, for a field that is bound to a catalogue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
}

/// The choice that a granted field offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// The catalogue.
    pub resource: String,
    /// The project default.
    pub default: String,
    /// The names to choose from.
    pub available: Vec<String>,
}

/// A group of fields at the top level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its title.
    pub title: String,
    /// The smallest order of its fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<i64>,
}

/// The fields of a schema, parents before children, siblings as they are shown.
pub(super) fn fields(schema: &Schema, facts: &FormFacts<'_>, limits: &Limits) -> Vec<Field> {
    let mut walk = Walk {
        schema,
        facts,
        left: limits.schema_nodes,
        within: Vec::new(),
        found: Vec::new(),
    };
    walk.below(schema.root(), &Place::default());
    walk.found
}

/// The groups in the order of their smallest order, those without one last and by title.
pub(super) fn groups(fields: &[Field]) -> Vec<Group> {
    let mut orders: BTreeMap<&str, Option<i64>> = BTreeMap::new();
    for field in fields {
        if let Some(title) = &field.group {
            let order = orders.entry(title).or_default();
            *order = [*order, field.order].into_iter().flatten().min();
        }
    }
    let mut groups: Vec<Group> = orders
        .into_iter()
        .map(|(title, order)| Group {
            title: title.to_owned(),
            order,
        })
        .collect();
    groups.sort_by_key(|group| shown(group.order));
    groups
}

/// What has an order stands before what has none.
const fn shown(order: Option<i64>) -> (bool, i64) {
    match order {
        Some(order) => (false, order),
        None => (true, 0),
    }
}

#[derive(Default)]
struct Place {
    keys: Vec<String>,
    pointer: String,
    schema_pointer: String,
}

impl Place {
    fn key(&self, key: &str) -> Self {
        let token = token(key);
        Self {
            keys: self.keys.iter().cloned().chain([key.to_owned()]).collect(),
            pointer: format!("{}/{token}", self.pointer),
            schema_pointer: format!("{}/properties/{token}", self.schema_pointer),
        }
    }
}

struct Walk<'a> {
    schema: &'a Schema,
    facts: &'a FormFacts<'a>,
    left: usize,
    within: Vec<NodeId>,
    found: Vec<Field>,
}

impl Walk<'_> {
    fn below(&mut self, node: &Node, place: &Place) {
        let mut children: Vec<(&String, &Node)> = node
            .properties()
            .iter()
            .map(|(key, child)| (key, self.schema.resolve(child)))
            .collect();
        // Properties come by name, and the sort keeps that among equals.
        children.sort_by_key(|(_, child)| shown(order(child)));
        self.within.push(node.id);
        for (key, child) in children {
            if self.left == 0 || self.within.contains(&child.id) {
                continue;
            }
            self.left -= 1;
            let place = place.key(key);
            let field = self.field(child, &place);
            self.found.push(field);
            self.below(child, &place);
        }
        self.within.pop();
    }

    fn field(&self, node: &Node, place: &Place) -> Field {
        let text = |key: &str| {
            node.extensions
                .get(key)
                .and_then(Value::as_str)
                .map(ToOwned::to_owned)
        };
        Field {
            pointer: place.pointer.clone(),
            schema_pointer: place.schema_pointer.clone(),
            order: order(node),
            group: text(UI_GROUP).filter(|title| !title.is_empty()),
            advanced: place.keys.len() == 1
                && node.extensions.get(UI_ADVANCED) == Some(&Value::Bool(true)),
            message: text(UI_MESSAGE).filter(|message| !message.is_empty()),
            resource: node
                .extensions
                .get(UI_RESOURCE)
                .filter(|value| value.is_object())
                .cloned(),
            grant: self.grant(place),
        }
    }

    /// A catalogue without a default is neither offered nor checked (S2).
    fn grant(&self, place: &Place) -> Option<Grant> {
        let references = &self.facts.package.grants.references;
        let reference = references
            .iter()
            .find(|reference| reference.path == place.keys)?;
        let catalog = self.facts.catalogs.active(&reference.resource)?;
        Some(Grant {
            resource: reference.resource.clone(),
            default: catalog.default.clone(),
            available: catalog.available.clone(),
        })
    }
}

fn order(node: &Node) -> Option<i64> {
    node.extensions.get(UI_ORDER).and_then(Value::as_i64)
}
