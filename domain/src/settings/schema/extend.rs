//! `x-extend`: the settings schema joins the values schema (section 3.3).
//!
//! One level, at the root only; what the two sides say of one key is never merged, the values side wins whole. References were
//! put in place in each document before, so a clash of definitions changes nothing that was inherited.

use std::collections::BTreeMap;

use serde_json::Value;

use super::node::{EXTEND, Node, Notes, ObjectRules, Reference};
use super::refs::OpenSchema;

/// The values schema with the settings schema under it; unchanged if `x-extend` is not active.
#[must_use]
pub fn extend(mut values: OpenSchema, settings: Option<&OpenSchema>) -> OpenSchema {
    let Some(parent) = settings.filter(|_| is_active(&values.root)) else {
        return values;
    };
    let mut inherited = parent.clone();
    let offset = values.linked.len();
    for node in inherited.linked.iter_mut().chain([&mut inherited.root]) {
        shift(node, offset);
    }
    values.linked.append(&mut inherited.linked);
    inherit(&mut values.root, inherited.root);
    values
}

fn is_active(root: &Node) -> bool {
    matches!(root.extensions.get(EXTEND), Some(Value::Object(extend)) if extend.get("schema").is_some_and(|name| !name.is_null()))
}

/// The parent's recursive definitions move behind those of the child.
fn shift(node: &mut Node, offset: usize) {
    if let Some(Reference::Linked(_, place)) = &mut node.reference {
        *place += offset;
    }
    let shifted: Result<(), std::convert::Infallible> = node.try_each_child_mut(&mut |child| {
        shift(child, offset);
        Ok(())
    });
    debug_assert!(shifted.is_ok());
    for (_, definition) in node
        .notes
        .iter_mut()
        .filter_map(|notes| notes.definitions.as_mut())
        .flatten()
    {
        shift(definition, offset);
    }
}

fn inherit(child: &mut Node, parent: Node) {
    inherit_object(child, parent.object);
    inherit_notes(child, parent.notes);
    inherit_entries(&mut child.extensions.0, parent.extensions.0);
}

fn inherit_object(child: &mut Node, parent: Option<Box<ObjectRules>>) {
    let Some(parent) = parent else {
        return;
    };
    let child = child.object.get_or_insert_with(Box::default);
    inherit_map(&mut child.properties, parent.properties);
    inherit_map(&mut child.patterns, parent.patterns);
    let own = std::mem::replace(&mut child.required, parent.required);
    for name in own {
        if !child.required.contains(&name) {
            child.required.push(name);
        }
    }
}

fn inherit_notes(child: &mut Node, parent: Option<Box<Notes>>) {
    let Some(parent) = parent else {
        return;
    };
    let child = child.notes.get_or_insert_with(Box::default);
    inherit_map(&mut child.definitions, parent.definitions);
    inherit_text(&mut child.title, parent.title);
    inherit_text(&mut child.description, parent.description);
}

fn inherit_text(child: &mut Option<Box<str>>, parent: Option<Box<str>>) {
    if child.as_deref().is_none_or(str::is_empty) {
        *child = parent;
    }
}

fn inherit_map<V>(child: &mut Option<BTreeMap<String, V>>, parent: Option<BTreeMap<String, V>>) {
    if let Some(parent) = parent.filter(|parent| !parent.is_empty()) {
        inherit_entries(child.get_or_insert_with(BTreeMap::new), parent);
    }
}

fn inherit_entries<V>(child: &mut BTreeMap<String, V>, parent: BTreeMap<String, V>) {
    for (key, value) in parent {
        child.entry(key).or_insert(value);
    }
}
