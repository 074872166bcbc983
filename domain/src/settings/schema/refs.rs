//! References: every `#/definitions/<name>` is put in place, except where a definition contains itself (section 3.1, step 3).
//!
//! A recursive definition goes into a table, and references to it stay references that walks resolve lazily. Definitions that
//! consist of references to each other alone have no meaning and are refused. Nothing is ever fetched.

use std::collections::{BTreeMap, BTreeSet};

use super::node::{Extensions, Node, Nodes, Notes, Reference};
use crate::settings::limits::Limits;

/// Why references could not be put in place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No definition has this name.
    #[error("`#/definitions/{0}` is referred to, but `definitions` has no {0:?}")]
    Unknown(String),
    /// Definitions that are only references to each other.
    #[error("the definition {0:?} is a reference that leads back to itself: give it a schema")]
    Cycle(String),
    /// A chain of definitions over [`Limits::reference_depth`].
    #[error("definitions refer to each other over more than {0} steps")]
    TooDeep(usize),
    /// With references in place, the schema has more nodes than [`Limits::schema_nodes`].
    #[error("with references in place the schema has more than {0} nodes")]
    TooManyNodes(usize),
    /// With references in place, the schema nests deeper than [`Limits::schema_depth`].
    #[error("with references in place schemas nest deeper than {0} levels")]
    NestsTooDeep(usize),
}

/// A schema whose references are in place and whose objects are still open: what `x-extend` joins (section 3.3).
#[derive(Clone, Debug, Default)]
pub struct OpenSchema {
    pub(super) root: Node,
    /// Recursive definitions; [`Reference::Linked`] names a place here.
    pub(super) linked: Vec<Node>,
}

impl OpenSchema {
    /// The root node.
    #[must_use]
    pub const fn root(&self) -> &Node {
        &self.root
    }
}

/// Puts the references of a decoded document in place.
///
/// # Errors
/// An unknown name, a cycle of references alone, or a limit.
pub fn link(mut root: Node, limits: &Limits) -> Result<OpenSchema, ReferenceError> {
    let definitions = root
        .notes
        .as_mut()
        .and_then(|notes| notes.definitions.take())
        .unwrap_or_default();
    let recursive = recursive(&definitions, limits)?;
    let places: BTreeMap<&str, usize> = recursive
        .iter()
        .enumerate()
        .map(|(place, name)| (*name, place))
        .collect();
    let mut linker = Linker {
        definitions: &definitions,
        linked: vec![Node::default(); places.len()],
        places,
        expanded: BTreeMap::new(),
        nodes: 0,
        kept: 0,
        limits,
    };
    let mut bodies = Vec::new();
    for name in &recursive {
        bodies.push(linker.body(name)?.node);
    }
    let mut resolved = Nodes::new();
    for name in definitions.keys() {
        resolved.insert(name.clone(), Box::new(linker.body(name)?.node));
    }
    // What definitions hold is counted where it is used.
    linker.nodes = 0;
    linker.expand(&mut root, 0)?;
    if !resolved.is_empty() {
        root.notes
            .get_or_insert_with(Box::<Notes>::default)
            .definitions = Some(resolved);
    }
    let mut table = linker.linked;
    for (place, body) in table.iter_mut().zip(bodies) {
        *place = body;
    }
    fill_marked(&mut table, recursive.len());
    Ok(OpenSchema {
        root,
        linked: table,
    })
}

/// Entries behind the `named` ones are references with marks of their own: each becomes the definition that it leads to, with
/// those marks laid over. No chain is endless, because cycles of references alone are refused.
fn fill_marked(linked: &mut [Node], named: usize) {
    for place in named..linked.len() {
        let mut marks = Extensions::default();
        let mut at = place;
        while let Some(entry) = linked.get(at) {
            for (key, value) in &entry.extensions.0 {
                marks.0.entry(key.clone()).or_insert_with(|| value.clone());
            }
            match &entry.reference {
                Some(Reference::Linked(_, next)) => at = *next,
                _ => break,
            }
        }
        let Some(mut body) = linked.get(at).cloned() else {
            continue;
        };
        body.extensions = marks;
        if let Some(entry) = linked.get_mut(place) {
            *entry = body;
        }
    }
}

struct Linker<'a> {
    definitions: &'a Nodes,
    places: BTreeMap<&'a str, usize>,
    linked: Vec<Node>,
    expanded: BTreeMap<String, Body>,
    /// Nodes of the tree in work.
    nodes: usize,
    /// Nodes of all finished definitions.
    kept: usize,
    limits: &'a Limits,
}

/// A definition with its references in place, and how big that made it.
#[derive(Clone)]
struct Body {
    node: Node,
    nodes: usize,
    height: usize,
}

impl Linker<'_> {
    /// The chain of definitions was bounded by [`recursive`], so this recursion is too.
    fn body(&mut self, name: &str) -> Result<Body, ReferenceError> {
        if let Some(body) = self.expanded.get(name) {
            return Ok(body.clone());
        }
        let mut node = self
            .definitions
            .get(name)
            .map(|node| node.as_ref().clone())
            .ok_or_else(|| ReferenceError::Unknown(name.to_owned()))?;
        let outside = std::mem::take(&mut self.nodes);
        let height = self.expand(&mut node, 0)?;
        let body = Body {
            node,
            nodes: self.nodes,
            height,
        };
        self.kept = self
            .kept
            .saturating_add(std::mem::replace(&mut self.nodes, outside));
        if self.kept > self.limits.schema_nodes {
            return Err(ReferenceError::TooManyNodes(self.limits.schema_nodes));
        }
        self.expanded.insert(name.to_owned(), body.clone());
        Ok(body)
    }

    /// Puts all references below a node in place; answers how many levels of nodes there are from it.
    fn expand(&mut self, node: &mut Node, depth: usize) -> Result<usize, ReferenceError> {
        let height = match node.reference.take() {
            None => {
                self.count(1)?;
                let mut height = 0;
                self.within_depth(depth)?;
                node.try_each_child_mut(&mut |child| {
                    height = height.max(self.expand(child, depth + 1)?);
                    Ok::<_, ReferenceError>(())
                })?;
                height + 1
            }
            Some(reference) => match self.places.get(reference.name()) {
                Some(&place) => {
                    self.count(1)?;
                    self.stay(node, reference.name(), place);
                    1
                }
                None => self.put(node, reference.name())?,
            },
        };
        self.within_depth(depth + height)?;
        Ok(height)
    }

    fn put(&mut self, node: &mut Node, name: &str) -> Result<usize, ReferenceError> {
        let body = self.body(name)?;
        self.count(body.nodes)?;
        let mut own = std::mem::take(&mut node.extensions);
        *node = body.node;
        node.extensions.0.append(&mut own.0);
        Ok(body.height)
    }

    /// Leaves a reference; one with marks of its own gets an entry of its own, so that resolving is one look-up.
    fn stay(&mut self, node: &mut Node, name: &str, place: usize) {
        if node.extensions.0.is_empty() {
            node.reference = Some(Reference::Linked(name.into(), place));
            return;
        }
        self.linked.push(Node {
            reference: Some(Reference::Linked(name.into(), place)),
            extensions: node.extensions.clone(),
            ..Node::default()
        });
        node.reference = Some(Reference::Linked(name.into(), self.linked.len() - 1));
    }

    fn count(&mut self, more: usize) -> Result<(), ReferenceError> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > self.limits.schema_nodes {
            return Err(ReferenceError::TooManyNodes(self.limits.schema_nodes));
        }
        Ok(())
    }

    fn within_depth(&self, depth: usize) -> Result<(), ReferenceError> {
        // One level for the root itself.
        if depth > self.limits.schema_depth + 1 {
            return Err(ReferenceError::NestsTooDeep(self.limits.schema_depth));
        }
        Ok(())
    }
}

/// The names of definitions that contain themselves, in order; refuses cycles of references alone and long chains.
fn recursive<'a>(definitions: &'a Nodes, limits: &Limits) -> Result<Vec<&'a str>, ReferenceError> {
    let mut search = Search {
        edges: BTreeMap::new(),
        order: BTreeMap::new(),
        heights: BTreeMap::new(),
        open: Vec::new(),
        recursive: BTreeSet::new(),
        limits,
    };
    for (name, node) in definitions {
        follow_aliases(name, node, definitions)?;
        let mut names = BTreeSet::new();
        referred(node, definitions, &mut names)?;
        search.edges.insert(name, names);
    }
    for name in definitions.keys() {
        if !search.order.contains_key(name.as_str()) {
            search.visit(name, 0)?;
        }
    }
    Ok(search.recursive.into_iter().collect())
}

fn follow_aliases<'a>(
    name: &'a str,
    mut node: &'a Node,
    definitions: &'a Nodes,
) -> Result<(), ReferenceError> {
    let mut seen = BTreeSet::from([name]);
    while let Some(reference) = &node.reference {
        let next = reference.name();
        node = definitions
            .get(next)
            .ok_or_else(|| ReferenceError::Unknown(next.to_owned()))?;
        if !seen.insert(next) {
            return Err(ReferenceError::Cycle(name.to_owned()));
        }
    }
    Ok(())
}

fn referred<'a>(
    node: &Node,
    definitions: &'a Nodes,
    names: &mut BTreeSet<&'a str>,
) -> Result<(), ReferenceError> {
    if let Some(reference) = &node.reference {
        let (name, _) = definitions
            .get_key_value(reference.name())
            .ok_or_else(|| ReferenceError::Unknown(reference.name().to_owned()))?;
        names.insert(name);
    }
    let mut outcome = Ok(());
    node.each_child(&mut |child| {
        if outcome.is_ok() {
            outcome = referred(child, definitions, names);
        }
    });
    outcome
}

/// Tarjan's search for strongly connected definitions.
struct Search<'a, 'l> {
    edges: BTreeMap<&'a str, BTreeSet<&'a str>>,
    order: BTreeMap<&'a str, usize>,
    /// Steps of the longest chain below a definition whose circle is known; a circle is one step.
    heights: BTreeMap<&'a str, usize>,
    open: Vec<&'a str>,
    recursive: BTreeSet<&'a str>,
    limits: &'l Limits,
}

impl<'a> Search<'a, '_> {
    /// Answers the lowest order reachable from the definition.
    fn visit(&mut self, name: &'a str, depth: usize) -> Result<usize, ReferenceError> {
        if depth > self.limits.reference_depth {
            return Err(ReferenceError::TooDeep(self.limits.reference_depth));
        }
        let own = self.order.len();
        self.order.insert(name, own);
        self.open.push(name);
        let mut lowest = own;
        let targets: Vec<&'a str> = self
            .edges
            .get(name)
            .into_iter()
            .flatten()
            .copied()
            .collect();
        for target in &targets {
            match self.order.get(target) {
                None => lowest = lowest.min(self.visit(target, depth + 1)?),
                Some(order) if self.open.contains(target) => lowest = lowest.min(*order),
                Some(_) => {}
            }
        }
        if lowest == own {
            self.conclude(name, targets.contains(&name))?;
        }
        Ok(lowest)
    }

    /// The definitions above this one on the stack form a circle with it.
    fn conclude(&mut self, name: &'a str, refers_to_itself: bool) -> Result<(), ReferenceError> {
        let position = self
            .open
            .iter()
            .position(|open| *open == name)
            .unwrap_or_default();
        let circle = self.open.split_off(position);
        let targets = circle
            .iter()
            .filter_map(|name| self.edges.get(name))
            .flatten();
        let below = targets.filter_map(|target| self.heights.get(target)).max();
        let height = below.map_or(0, |below| below + 1);
        if height > self.limits.reference_depth {
            return Err(ReferenceError::TooDeep(self.limits.reference_depth));
        }
        self.heights
            .extend(circle.iter().map(|name| (*name, height)));
        if circle.len() > 1 || refers_to_itself {
            self.recursive.extend(circle);
        }
        Ok(())
    }
}
