//! What an expression may be: nodes of the document, or a value that the rule makes, known only by its size.
//!
//! Bounds only; nothing here is charged.

use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::Value;

/// What an expression may be; several possibilities at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape<'d> {
    /// One of these nodes.
    nodes: Option<Rc<Nodes<'d>>>,
    /// A value that the rule makes.
    made: Option<Rc<Made<'d>>>,
    /// Any node of the document at all: too many to list.
    any: bool,
}

/// Nodes of the document, and the most that one of them can be, found when first needed.
#[derive(Debug)]
struct Nodes<'d> {
    listed: Box<[&'d Value]>,
    size: OnceCell<Size>,
}

/// The most that a made value can be.
#[derive(Clone, Debug)]
struct Made<'d> {
    size: Size,
    /// What its elements, keys and values may be.
    items: Shape<'d>,
}

/// How big a value is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Elements, entries or bytes.
    pub(super) length: u64,
    /// Units that copying it takes: a part of the document is only pointed at.
    pub(super) copy: u64,
    /// Units that copying its elements one by one takes.
    pub(super) inside: u64,
    /// Units that comparing it with its like takes.
    pub(super) compare: u64,
}

impl Size {
    const SCALAR: Self = Self {
        length: 0,
        copy: SCALAR,
        inside: SCALAR,
        compare: SCALAR,
    };

    pub(super) fn text(length: u64) -> Self {
        let units = SCALAR + length / BYTES;
        Self {
            length,
            copy: units,
            inside: units,
            compare: units,
        }
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self {
            length: self.length.max(other.length),
            copy: self.copy.max(other.copy),
            inside: self.inside.max(other.inside),
            compare: self.compare.max(other.compare),
        }
    }

    /// A container so long, each of whose elements is at most so big.
    pub(super) fn repeated(self, times: u64) -> Self {
        let copy = self.copy.saturating_mul(times).saturating_add(SCALAR);
        Self {
            length: times,
            copy,
            inside: copy,
            compare: self.compare.saturating_mul(times).saturating_add(SCALAR),
        }
    }

    /// A container with one more element.
    pub(super) fn with(self, element: Self) -> Self {
        let copy = self.copy.saturating_add(element.copy);
        Self {
            length: self.length.saturating_add(1),
            copy,
            inside: copy,
            compare: self.compare.saturating_add(element.compare),
        }
    }

    /// Two of the same kind in a row.
    pub(super) fn plus(self, other: Self) -> Self {
        let inside = self.inside.saturating_add(other.inside);
        Self {
            length: self.length.saturating_add(other.length),
            copy: inside,
            inside,
            compare: self.compare.saturating_add(other.compare),
        }
    }

    fn of(node: &Value) -> Self {
        match node {
            Value::String(text) => Self::text(text.len() as u64),
            Value::Array(_) | Value::Object(_) => {
                let length = length(node);
                Self {
                    length,
                    copy: POINTED,
                    inside: length * POINTED,
                    compare: weight(node),
                }
            }
            _ => Self::SCALAR,
        }
    }
}

/// Nodes that are listed one by one; more are any node.
const LISTED: usize = 2_048;
/// Bytes that are copied or compared in one unit.
const BYTES: u64 = 32;
/// A number, a flag, `null`, the head of a string.
const SCALAR: u64 = 3;
/// Weight of what is walked through in one unit.
const WALK: u64 = 8;
/// A container of the document, which is copied by pointing at it.
const POINTED: u64 = 5;
/// An entry of a map beside its value.
const ENTRY: u64 = 8;

impl<'d> Shape<'d> {
    pub(super) fn node(node: &'d Value) -> Self {
        Self {
            nodes: Some(Nodes::new(Box::new([node]))),
            ..Self::default()
        }
    }

    pub(super) fn scalar() -> Self {
        Self::made(Size::SCALAR, Self::default())
    }

    pub(super) fn text(length: u64) -> Self {
        Self::made(Size::text(length), Self::default())
    }

    pub(super) fn made(size: Size, items: Self) -> Self {
        Self {
            made: Some(Rc::new(Made { size, items })),
            ..Self::default()
        }
    }

    fn nodes(&self) -> &[&'d Value] {
        self.nodes.as_ref().map_or(&[], |nodes| &nodes.listed)
    }

    /// The texts it can be, if they are few and lie in the document.
    pub(super) fn texts(&self) -> Option<impl Iterator<Item = &'d str>> {
        let few = self.made.is_none() && !self.any && self.nodes().len() <= 8;
        few.then(|| self.nodes().iter().filter_map(|node| node.as_str()))
    }

    pub(super) fn may_be_map(&self) -> bool {
        self.any || self.made.is_some() || self.nodes().iter().any(|node| node.is_object())
    }
}

impl<'d> Nodes<'d> {
    fn new(listed: Box<[&'d Value]>) -> Rc<Self> {
        Rc::new(Self {
            listed,
            size: OnceCell::new(),
        })
    }
}

/// The two documents, and bounds over both.
pub(super) struct Document<'d> {
    own: &'d Value,
    old: Option<&'d Value>,
    /// The most that any node can be; found when first needed.
    bounds: Option<Size>,
    /// Units of work that finding bounds took, not yet paid.
    work: u64,
}

impl<'d> Document<'d> {
    pub(super) const fn new(own: &'d Value, old: Option<&'d Value>) -> Self {
        Self {
            own,
            old,
            bounds: None,
            work: 0,
        }
    }

    fn bounds(&mut self) -> Size {
        *self.bounds.get_or_insert_with(|| {
            let (own, old) = (
                Size::of(self.own),
                self.old.map(Size::of).unwrap_or_default(),
            );
            self.work += (own.compare + old.compare) / WALK;
            let length = longest(self.own).max(self.old.map_or(0, longest));
            Size {
                length,
                copy: Size::text(length).copy,
                inside: length * POINTED,
                compare: own.compare.max(old.compare),
            }
        })
    }

    /// Units of work done here since the last time.
    pub(super) const fn take_work(&mut self) -> u64 {
        std::mem::replace(&mut self.work, 0)
    }

    /// The most it can be.
    pub(super) fn size(&mut self, shape: &Shape<'d>) -> Size {
        let nodes = shape.nodes.as_ref().map_or_else(Size::default, |nodes| {
            *nodes.size.get_or_init(|| {
                let (mut most, mut all) = (Size::default(), 0);
                for size in nodes.listed.iter().map(|node| Size::of(node)) {
                    all += size.compare;
                    most = most.max(size);
                }
                self.work += all / WALK;
                most
            })
        });
        let made = shape
            .made
            .as_ref()
            .map_or_else(Size::default, |made| made.size);
        let any = if shape.any {
            self.bounds()
        } else {
            Size::default()
        };
        nodes.max(made).max(any)
    }

    /// Either of two.
    pub(super) fn join(&mut self, one: Shape<'d>, two: Shape<'d>) -> Shape<'d> {
        let nodes = match (one.nodes, two.nodes) {
            (Some(one), Some(two)) => self.listed(one.listed.iter().chain(&two.listed).copied()),
            (one, two) => (one.or(two), false),
        };
        let made = match (one.made, two.made) {
            (Some(one), Some(two)) => Some(Rc::new(Made {
                size: one.size.max(two.size),
                items: self.join(one.items.clone(), two.items.clone()),
            })),
            (one, two) => one.or(two),
        };
        Shape {
            nodes: nodes.0,
            made,
            any: one.any || two.any || nodes.1,
        }
    }

    fn listed(&mut self, nodes: impl Iterator<Item = &'d Value>) -> (Option<Rc<Nodes<'d>>>, bool) {
        let listed: Vec<_> = nodes.take(LISTED + 1).collect();
        self.work += listed.len() as u64;
        match listed.len() {
            0 => (None, false),
            found if found > LISTED => (None, true),
            _ => (Some(Nodes::new(listed.into())), false),
        }
    }

    fn below(&mut self, shape: &Shape<'d>, nodes: impl Iterator<Item = &'d Value>) -> Shape<'d> {
        let (nodes, too_many) = self.listed(nodes);
        let found = Shape {
            nodes,
            made: None,
            any: shape.any || too_many,
        };
        match &shape.made {
            Some(made) => self.join(found, made.items.clone()),
            None => found,
        }
    }

    /// The value under a key.
    pub(super) fn field(&mut self, shape: &Shape<'d>, key: &str) -> Shape<'d> {
        self.below(shape, shape.nodes().iter().filter_map(|node| node.get(key)))
    }

    /// Any element or entry.
    pub(super) fn inside(&mut self, shape: &Shape<'d>) -> Shape<'d> {
        let inside = shape.nodes().iter().flat_map(|node| {
            let items = node.as_array().into_iter().flatten();
            items.chain(
                node.as_object()
                    .into_iter()
                    .flat_map(|fields| fields.values()),
            )
        });
        self.below(shape, inside)
    }

    /// What a macro's variable may be: an element, or a key.
    pub(super) fn elements(&mut self, shape: &Shape<'d>) -> Shape<'d> {
        let items = self.below(
            shape,
            shape
                .nodes()
                .iter()
                .filter_map(|node| node.as_array())
                .flatten(),
        );
        let keys = shape.nodes().iter().filter_map(|node| node.as_object());
        match keys.flat_map(serde_json::Map::keys).map(String::len).max() {
            Some(longest) => self.join(items, Shape::text(longest as u64)),
            None => items,
        }
    }
}

fn length(node: &Value) -> u64 {
    match node {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.len() as u64,
        Value::Object(fields) => fields.len() as u64,
        _ => 0,
    }
}

fn longest(node: &Value) -> u64 {
    let inside = match node {
        Value::Array(items) => items.iter().map(longest).max(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| longest(value).max(key.len() as u64))
            .max(),
        _ => None,
    };
    length(node).max(inside.unwrap_or(0))
}

fn weight(node: &Value) -> u64 {
    match node {
        Value::String(text) => SCALAR + text.len() as u64 / BYTES,
        Value::Array(items) => SCALAR + items.iter().map(weight).sum::<u64>(),
        Value::Object(fields) => {
            let entries = fields
                .iter()
                .map(|(key, value)| ENTRY + key.len() as u64 / BYTES + weight(value));
            SCALAR * 2 + entries.sum::<u64>()
        }
        _ => SCALAR,
    }
}
