//! Frozen fields: what may not change once it was applied (section 6).
//!
//! The old side is what was applied, as it stands (S18); without one nothing is frozen yet (S3), and the caller does not ask.
//! An old value that is absent or `null` allows any new one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{Path, equal};
use super::limits::Limits;
use super::schema::Schema;
use super::schema::node::{Items, Node, NodeId};
use crate::violation::{FieldPath, Kind, Violation};

/// The frozen paths that `new` changes or loses, each once and in order; a violation at the root if the comparison was cut
/// short by [`Limits::steps`].
#[must_use]
pub fn check(schema: &Schema, old: &Value, new: &Value, limits: &Limits) -> Vec<Violation> {
    let walk = Walk::run(schema, old, new, limits, |path| path.to_string());
    let mut violations: Vec<Violation> = walk.changed.into_iter().map(frozen).collect();
    if walk.exhausted {
        violations.push(Violation::new(
            "",
            Kind::TooLong,
            "is too expensive to compare with the applied settings: make the settings smaller",
        ));
    }
    violations
}

/// The places, as JSON pointers, whose applied value may not change any more; what is below one is frozen with it. These are
/// what a document without any value would lose.
#[must_use]
pub fn frozen_places(schema: &Schema, applied: &Value, limits: &Limits) -> Vec<String> {
    let walk = Walk::run(schema, applied, &Value::Null, limits, pointer);
    walk.changed.into_iter().collect()
}

fn pointer(path: &Path<'_>) -> String {
    path.pointer()
}

fn frozen(path: String) -> Violation {
    let text = format!(
        "\"{path}\" can only be set when the application is created: restore the applied value"
    );
    Violation::new(FieldPath::new(path), Kind::Immutable, text)
}

struct Walk<'s> {
    schema: &'s Schema,
    /// Nodes met for the pair of values in work: meeting one again adds nothing, and would never end in a cycle.
    here: Vec<NodeId>,
    changed: BTreeSet<String>,
    write: fn(&Path<'_>) -> String,
    steps: usize,
    depth: usize,
    exhausted: bool,
}

impl<'s> Walk<'s> {
    fn run(
        schema: &'s Schema,
        old: &Value,
        new: &Value,
        limits: &Limits,
        write: fn(&Path<'_>) -> String,
    ) -> Self {
        let mut walk = Self {
            schema,
            here: Vec::new(),
            changed: BTreeSet::new(),
            write,
            steps: limits.steps,
            depth: limits.walk_depth,
            exhausted: false,
        };
        walk.visit(schema.root(), Some(old), Some(new), &Path::Root);
        walk
    }

    fn visit(&mut self, node: &Node, old: Option<&Value>, new: Option<&Value>, path: &Path<'_>) {
        let (old, new) = (present(old), present(new));
        if !node.marks.frozen || (old.is_none() && new.is_none()) {
            return;
        }
        if self.steps == 0 || self.depth == 0 {
            self.exhausted = true;
            return;
        }
        let is_reference = node.reference.is_some();
        let node = self.schema.resolve(node);
        if is_reference {
            if self.here.contains(&node.id) {
                return;
            }
            self.here.push(node.id);
        }
        self.steps -= 1;
        self.depth -= 1;
        if node.extensions.is_immutable() {
            // The subtree is one value; no mark inside it counts.
            if old.is_some_and(|old| new.is_none_or(|new| !equal(old, new))) {
                self.changed.insert((self.write)(path));
            }
        } else {
            self.in_place(node, old, new, path);
            self.inside(node, old, new, path);
        }
        self.depth += 1;
    }

    /// Marks count wherever they stand, also in branches that do not match and under `not`.
    fn in_place(&mut self, node: &Node, old: Option<&Value>, new: Option<&Value>, path: &Path<'_>) {
        if let Some(branches) = node.branches() {
            let all = branches
                .all_of
                .iter()
                .chain(&branches.any_of)
                .chain(&branches.one_of);
            for branch in all.chain(branches.not.as_deref()) {
                self.visit(branch, old, new, path);
            }
        }
        for (_, branch) in node.dependency_schemas() {
            self.visit(branch, old, new, path);
        }
    }

    fn inside(&mut self, node: &Node, old: Option<&Value>, new: Option<&Value>, path: &Path<'_>) {
        let here = std::mem::take(&mut self.here);
        self.keys(node, old, new, path);
        self.elements(node, old, new, path);
        self.here = here;
    }

    fn below(&mut self, node: &Node, old: Option<&Value>, new: Option<&Value>, path: &Path<'_>) {
        self.here.clear();
        self.visit(node, old, new, path);
    }

    fn keys(&mut self, node: &Node, old: Option<&Value>, new: Option<&Value>, path: &Path<'_>) {
        let (old, new) = (
            old.and_then(Value::as_object),
            new.and_then(Value::as_object),
        );
        if old.is_none() && new.is_none() {
            return;
        }
        let properties = node.properties();
        for (key, property) in properties {
            let (old, new) = (
                old.and_then(|old| old.get(key)),
                new.and_then(|new| new.get(key)),
            );
            self.below(property, old, new, &path.key(key));
        }
        if node.additional_schema().is_none() && node.patterns().next().is_none() {
            return;
        }
        let keys: BTreeSet<&String> = old
            .into_iter()
            .chain(new)
            .flat_map(|object| object.keys())
            .collect();
        for key in keys
            .into_iter()
            .filter(|key| !properties.contains_key(*key))
        {
            if let Some(entry) = node.other_key(key) {
                let (old, new) = (
                    old.and_then(|old| old.get(key)),
                    new.and_then(|new| new.get(key)),
                );
                self.below(entry, old, new, &path.key(key));
            }
        }
    }

    fn elements(&mut self, node: &Node, old: Option<&Value>, new: Option<&Value>, path: &Path<'_>) {
        if !node
            .list
            .as_ref()
            .is_some_and(|list| matches!(list.items, Some(Items::One(_) | Items::Tuple(_))))
        {
            return;
        }
        let (old, new) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
        let length = old.map_or(0, Vec::len).max(new.map_or(0, Vec::len));
        for position in 0..length {
            if let Some(item) = node.item(position) {
                let (old, new) = (
                    old.and_then(|old| old.get(position)),
                    new.and_then(|new| new.get(position)),
                );
                self.below(item, old, new, &path.index(position));
            }
        }
    }
}

/// `null` is no value.
fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}
