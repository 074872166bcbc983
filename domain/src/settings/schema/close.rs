//! Closed schemas: what is not declared is forbidden (section 3.4, S4).
//!
//! Every object node without `additionalProperties` gets `false`. Branches and dependencies only restrict and stay open. A
//! closed schema is what documents are checked with; its nodes are numbered.

use serde_json::Value;

use super::node::{
    Additional, Items, Marks, Node, NodeId, REQUIRED_FOR_HELM, Reference, SWITCH, Type,
};
use super::refs::OpenSchema;

/// A schema that documents are checked with: references linked, objects closed, patterns compiled, nodes numbered.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Node,
    linked: Vec<Node>,
    nodes: u32,
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
        let mut behind = Marks::default();
        for node in &linked {
            behind.add(own_marks(node));
        }
        let mut census = Census { nodes: 0, behind };
        for node in std::iter::once(&mut root).chain(&mut linked) {
            census.take(node);
        }
        Self {
            root,
            linked,
            nodes: census.nodes,
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

/// Numbers the nodes, and notes what stands at or below each.
struct Census {
    nodes: u32,
    /// What stands in recursive definitions: any reference may lead there.
    behind: Marks,
}

impl Census {
    fn take(&mut self, node: &mut Node) -> Marks {
        node.id = NodeId(self.nodes);
        self.nodes += 1;
        let mut marks = Marks {
            frozen: node.extensions.is_immutable(),
            switch: node.extensions.get(SWITCH).is_some(),
        };
        if node.reference.is_some() {
            marks.add(self.behind);
        }
        let taken: Result<(), std::convert::Infallible> = node.try_each_child_mut(&mut |child| {
            marks.add(self.take(child));
            Ok(())
        });
        debug_assert!(taken.is_ok());
        node.marks = marks;
        marks
    }
}

/// The marks in a tree, references not followed.
fn own_marks(node: &Node) -> Marks {
    let mut marks = Marks {
        frozen: node.extensions.is_immutable(),
        switch: node.extensions.get(SWITCH).is_some(),
    };
    node.each_child(&mut |child| marks.add(own_marks(child)));
    marks
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
