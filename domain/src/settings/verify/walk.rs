//! The schema nodes of a file, each with its place and depth (section 11).
//!
//! Names of properties are never mistaken for keywords. Works on the document as written, whatever is wrong with it.

use serde_json::{Map, Value};

/// One schema node.
#[derive(Clone, Copy)]
pub(super) struct Place<'w> {
    /// Steps joined with dots, keywords included; empty for the root.
    pub(super) pointer: &'w str,
    /// Levels of settings: properties, definitions, items and map values go one down, branches do not.
    pub(super) depth: usize,
    /// Below `items` or map values.
    pub(super) repeated: bool,
    /// Below a branch or `not`.
    pub(super) branch: bool,
}

/// Visits every schema node of a document.
pub(super) fn each_node<'d>(
    document: &'d Value,
    visit: &mut dyn FnMut(Place<'_>, &'d Map<String, Value>),
) {
    let root = Place {
        pointer: "",
        depth: 0,
        repeated: false,
        branch: false,
    };
    node(document, root, visit);
}

/// A place below another.
pub(super) fn join(pointer: &str, step: &str) -> String {
    if pointer.is_empty() {
        step.to_owned()
    } else {
        format!("{pointer}.{step}")
    }
}

type Visit<'v, 'd> = &'v mut dyn FnMut(Place<'_>, &'d Map<String, Value>);

fn node<'d>(value: &'d Value, place: Place<'_>, visit: Visit<'_, 'd>) {
    let Some(fields) = value.as_object() else {
        return;
    };
    visit(place, fields);
    for (keyword, below) in fields {
        let pointer = join(place.pointer, keyword);
        let inner = |depth: usize, repeated: bool, branch: bool| Place {
            pointer: &pointer,
            depth: place.depth + depth,
            repeated: place.repeated || repeated,
            branch: place.branch || branch,
        };
        match keyword.as_str() {
            "properties" | "definitions" | "$defs" => named(below, inner(1, false, false), visit),
            "patternProperties" => named(below, inner(1, true, false), visit),
            "allOf" | "anyOf" | "oneOf" => numbered(below, inner(0, false, true), visit),
            "items" if below.is_array() => numbered(below, inner(1, true, false), visit),
            "items" | "additionalProperties" => node(below, inner(1, true, false), visit),
            "not" => node(below, inner(0, false, true), visit),
            _ => {}
        }
    }
}

fn named<'d>(value: &'d Value, place: Place<'_>, visit: Visit<'_, 'd>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let pointer = join(place.pointer, name);
        node(
            value,
            Place {
                pointer: &pointer,
                ..place
            },
            visit,
        );
    }
}

fn numbered<'d>(value: &'d Value, place: Place<'_>, visit: Visit<'_, 'd>) {
    for (position, value) in value.as_array().into_iter().flatten().enumerate() {
        let pointer = join(place.pointer, &position.to_string());
        node(
            value,
            Place {
                pointer: &pointer,
                ..place
            },
            visit,
        );
    }
}
