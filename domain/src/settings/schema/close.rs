//! Closed schemas: what is not declared is forbidden (section 3.4, S4).
//!
//! Every object node without `additionalProperties` gets `false`. Branches and dependencies only restrict and stay open. A
//! closed schema is what documents are checked with; its nodes are numbered.

use serde_json::Value;

use super::node::{Additional, Items, Node, NodeId, REQUIRED_FOR_HELM, Reference, Type};
use super::refs::OpenSchema;

/// A schema that documents are checked with: references linked, objects closed, patterns compiled, nodes numbered.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Node,
    linked: Vec<Node>,
    nodes: u32,
    has_frozen: bool,
}

impl Schema {
    /// Closes the objects of an open schema; closing a closed schema changes nothing.
    #[must_use]
    pub fn close(open: OpenSchema) -> Self {
        let OpenSchema {
            mut root,
            mut linked,
        } = open;
        close_node(&mut root);
        linked.iter_mut().for_each(close_node);
        // Recursion goes through the table; nothing looks a definition up by name any more.
        if let Some(notes) = &mut root.notes {
            notes.definitions = None;
        }
        Self::numbered(root, linked)
    }

    fn numbered(mut root: Node, mut linked: Vec<Node>) -> Self {
        let mut census = Census::default();
        census.take(&mut root);
        for node in &mut linked {
            census.take(node);
        }
        Self {
            root,
            linked,
            nodes: census.nodes,
            has_frozen: census.has_frozen,
        }
    }

    /// The root node, never a reference.
    #[must_use]
    pub fn root(&self) -> &Node {
        self.resolve(&self.root)
    }

    /// The node that a reference leads to, or the node itself; each walk calls it before it reads a node.
    #[must_use]
    pub fn resolve<'a>(&'a self, mut node: &'a Node) -> &'a Node {
        while let Some(Reference::Linked(_, place)) = &node.reference {
            match self.linked.get(*place) {
                Some(target) => node = target,
                None => break,
            }
        }
        node
    }

    /// The trees of the schema: the root and each recursive definition. Together they hold every node once.
    pub fn trees(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.root).chain(&self.linked)
    }

    /// How many nodes there are; every [`NodeId`] is below it.
    #[must_use]
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// True if a node is marked immutable; without one nothing is ever frozen (section 6).
    #[must_use]
    pub const fn has_frozen(&self) -> bool {
        self.has_frozen
    }

    /// The variant for rendering: `x-required-for-helm` joins `required`, at the root and in nested `properties` (section 3.2).
    #[must_use]
    pub fn strict(&self) -> Self {
        let mut strict = self.clone();
        require(&mut strict.root);
        strict.linked.iter_mut().for_each(require);
        strict
    }
}

fn close_node(node: &mut Node) {
    let is_object =
        node.types.contains(Type::Object) || (node.types.is_any() && has_properties(node));
    if is_object && node.reference.is_none() {
        let object = node.object.get_or_insert_with(Box::default);
        object.additional.get_or_insert(Additional::Forbidden);
    }
    if let Some(object) = &mut node.object {
        object
            .properties
            .iter_mut()
            .flatten()
            .for_each(|(_, node)| close_node(node));
        object
            .patterns
            .iter_mut()
            .flatten()
            .for_each(|(_, (_, node))| close_node(node));
        if let Some(Additional::Schema(node)) = &mut object.additional {
            close_node(node);
        }
    }
    if let Some(list) = &mut node.list {
        match &mut list.items {
            Some(Items::One(node)) => close_node(node),
            Some(Items::Tuple(nodes)) => nodes.iter_mut().for_each(close_node),
            None => {}
        }
        if let Some(Additional::Schema(node)) = &mut list.additional {
            close_node(node);
        }
    }
}

/// An untyped node is an object node if it declares keys (S4).
fn has_properties(node: &Node) -> bool {
    node.object
        .as_ref()
        .is_some_and(|object| object.properties.is_some() || object.patterns.is_some())
}

/// Numbers the nodes, and sees what there is.
#[derive(Default)]
struct Census {
    nodes: u32,
    has_frozen: bool,
}

impl Census {
    fn take(&mut self, node: &mut Node) {
        node.id = NodeId(self.nodes);
        self.nodes += 1;
        self.has_frozen |= node.extensions.is_immutable();
        let taken: Result<(), std::convert::Infallible> = node.try_each_child_mut(&mut |child| {
            self.take(child);
            Ok(())
        });
        debug_assert!(taken.is_ok());
    }
}

fn require(node: &mut Node) {
    let names: Vec<String> = match node.extensions.get(REQUIRED_FOR_HELM) {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(ToOwned::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    if !names.is_empty() {
        let required = &mut node.object.get_or_insert_with(Box::default).required;
        for name in names {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
    if let Some(object) = &mut node.object {
        object
            .properties
            .iter_mut()
            .flatten()
            .for_each(|(_, node)| require(node));
    }
}
