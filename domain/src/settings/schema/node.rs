//! One schema node, typed: the keywords of section 5.2, the notes that only publication keeps, and every `x-*` extension.
//!
//! Keywords are grouped by the kind of value they speak of, and a group that a node does not use takes no room. This file
//! reads no JSON and decides nothing.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::pattern::Pattern;
pub use super::types::{Type, Types};

/// A node's number within one closed schema, from 0 without gaps: an index for what others keep per node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Schema nodes by property name or pattern. Boxed, because a map keeps room for eleven entries and most have fewer.
pub type Nodes = BTreeMap<String, Box<Node>>;

/// `patternProperties`: schema nodes by pattern text, with the compiled pattern.
pub type PatternNodes = BTreeMap<String, (Pattern, Box<Node>)>;

/// One schema node. The default is `{}`, which every value satisfies.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The number in its closed schema; 0 before closing.
    pub id: NodeId,
    /// What stands at or below the node in its closed schema; nothing before closing.
    pub marks: Marks,
    /// `$ref`; when set, no other keyword of the node counts.
    pub reference: Option<Reference>,
    /// `type`.
    pub types: Types,
    /// `nullable`.
    pub nullable: bool,
    /// `default`, also when it is `null`.
    pub default: Option<Value>,
    /// `enum`.
    pub enumeration: Option<Vec<Value>>,
    /// Keywords about strings.
    pub text: Option<Box<TextRules>>,
    /// Keywords about numbers.
    pub number: Option<Box<NumberRules>>,
    /// Keywords about lists.
    pub list: Option<Box<ListRules>>,
    /// Keywords about objects.
    pub object: Option<Box<ObjectRules>>,
    /// `allOf`, `anyOf`, `oneOf`, `not`.
    pub branches: Option<Box<Branches>>,
    /// What validation does not read.
    pub notes: Option<Box<Notes>>,
    /// Every `x-*` key as written; [`super::super::schema::node::Extensions`] names the known ones.
    pub extensions: Extensions,
}

/// What stands at or below a node of a closed schema, so that walks leave out what cannot concern them. A reference counts as
/// leading to every recursive definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// `x-deckhouse-immutable: true`.
    pub frozen: bool,
    /// `x-deckhouse-enum-switch-settings`.
    pub switch: bool,
}

impl Marks {
    /// Joins what another node has.
    pub const fn add(&mut self, other: Self) {
        self.frozen |= other.frozen;
        self.switch |= other.switch;
    }
}

/// `$ref`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// As decoded: a definition's name in the same document.
    Named(Box<str>),
    /// As linked: the definition's name, and its place in the table of recursive definitions.
    Linked(Box<str>, usize),
}

impl Reference {
    /// The definition's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Linked(name, _) => name,
        }
    }
}

/// Keywords about strings.
#[derive(Clone, Debug, Default)]
pub struct TextRules {
    /// `maxLength`, in code points.
    pub max_length: Option<u64>,
    /// `minLength`, in code points.
    pub min_length: Option<u64>,
    /// `pattern`, compiled.
    pub pattern: Option<Pattern>,
    /// `format`, also of numbers, where it is not enforced.
    pub format: Option<Box<str>>,
}

/// Keywords about numbers.
#[derive(Clone, Debug, Default)]
pub struct NumberRules {
    /// `maximum`.
    pub maximum: Option<Number>,
    /// `exclusiveMaximum`, the boolean modifier.
    pub exclusive_maximum: bool,
    /// `minimum`.
    pub minimum: Option<Number>,
    /// `exclusiveMinimum`, the boolean modifier.
    pub exclusive_minimum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<Number>,
}

/// `items`.
#[derive(Clone, Debug)]
pub enum Items {
    /// One schema for all elements.
    One(Box<Node>),
    /// A schema per position.
    Tuple(Vec<Node>),
}

/// `additionalProperties` or `additionalItems`.
#[derive(Clone, Debug)]
pub enum Additional {
    /// `true`, and any value that is neither `false` nor a schema.
    Allowed,
    /// `false`.
    Forbidden,
    /// A schema.
    Schema(Box<Node>),
}

/// Keywords about lists.
#[derive(Clone, Debug, Default)]
pub struct ListRules {
    /// `items`.
    pub items: Option<Items>,
    /// `additionalItems`, read beside a tuple only.
    pub additional: Option<Additional>,
    /// `maxItems`.
    pub max_items: Option<u64>,
    /// `minItems`.
    pub min_items: Option<u64>,
    /// `uniqueItems`.
    pub unique: bool,
}

/// One value of `dependencies`.
#[derive(Clone, Debug)]
pub enum Dependency {
    /// Keys that must be present too.
    Keys(Vec<String>),
    /// A schema that the object must satisfy too.
    Schema(Box<Node>),
}

/// Keywords about objects.
#[derive(Clone, Debug, Default)]
pub struct ObjectRules {
    /// `properties`.
    pub properties: Option<Nodes>,
    /// `patternProperties`, by pattern text.
    pub patterns: Option<PatternNodes>,
    /// `additionalProperties`.
    pub additional: Option<Additional>,
    /// `required`.
    pub required: Vec<String>,
    /// `maxProperties`.
    pub max_properties: Option<u64>,
    /// `minProperties`.
    pub min_properties: Option<u64>,
    /// `dependencies`.
    pub dependencies: Option<BTreeMap<String, Dependency>>,
}

/// Composition: branches restrict and are never closed (section 3.4).
#[derive(Clone, Debug, Default)]
pub struct Branches {
    /// `allOf`.
    pub all_of: Vec<Node>,
    /// `anyOf`.
    pub any_of: Vec<Node>,
    /// `oneOf`.
    pub one_of: Vec<Node>,
    /// `not`.
    pub not: Option<Box<Node>>,
}

/// Keywords that validation does not read.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// `id`.
    pub id: Option<Box<str>>,
    /// `$schema`.
    pub dialect: Option<Box<str>>,
    /// `title`.
    pub title: Option<Box<str>>,
    /// `description`.
    pub description: Option<Box<str>>,
    /// `externalDocs`.
    pub external_docs: Option<Value>,
    /// `example`.
    pub example: Option<Value>,
    /// `definitions`; after linking only for writing the schema back.
    pub definitions: Option<Nodes>,
}

/// The `x-*` keys of a node, with the readings of the documented ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extensions(pub BTreeMap<String, Value>);

/// `x-deckhouse-grantable-resource`.
pub const GRANTABLE: &str = "x-deckhouse-grantable-resource";
/// `x-deckhouse-validations`.
pub const VALIDATIONS: &str = "x-deckhouse-validations";
/// `x-deckhouse-immutable`.
pub const IMMUTABLE: &str = "x-deckhouse-immutable";
/// `x-deckhouse-enum-switch-settings`.
pub const SWITCH: &str = "x-deckhouse-enum-switch-settings";
/// `x-extend`.
pub const EXTEND: &str = "x-extend";
/// `x-required-for-helm`.
pub const REQUIRED_FOR_HELM: &str = "x-required-for-helm";

impl Extensions {
    /// An extension as written.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// True if the node is frozen: only JSON `true` is a mark (section 6, S11).
    #[must_use]
    pub fn is_immutable(&self) -> bool {
        matches!(self.get(IMMUTABLE), Some(Value::Bool(true)))
    }

    /// The catalogue that a field is bound to; a value that is no string binds nothing (section 7).
    #[must_use]
    pub fn grantable(&self) -> Option<&str> {
        self.get(GRANTABLE).and_then(Value::as_str)
    }

    /// The rules of the node as written; what is wrong with them is decided where they are compiled (section 5.3).
    #[must_use]
    pub fn validations(&self) -> Option<&Value> {
        self.get(VALIDATIONS)
    }
}

impl Node {
    /// `properties`, empty if absent.
    #[must_use]
    pub fn properties(&self) -> &Nodes {
        static NONE: Nodes = BTreeMap::new();
        self.object
            .as_ref()
            .and_then(|object| object.properties.as_ref())
            .unwrap_or(&NONE)
    }

    /// The schema of a key that `properties` names.
    #[must_use]
    pub fn property(&self, key: &str) -> Option<&Self> {
        self.properties().get(key).map(Box::as_ref)
    }

    /// `patternProperties` in the order of their patterns.
    pub fn patterns(&self) -> impl Iterator<Item = &(Pattern, Box<Self>)> {
        self.object
            .iter()
            .filter_map(|object| object.patterns.as_ref())
            .flat_map(BTreeMap::values)
    }

    /// `additionalProperties`.
    #[must_use]
    pub fn additional(&self) -> Option<&Additional> {
        self.object
            .as_ref()
            .and_then(|object| object.additional.as_ref())
    }

    /// The schema of keys that no property and no pattern names, if `additionalProperties` is one.
    #[must_use]
    pub fn additional_schema(&self) -> Option<&Self> {
        match self.additional() {
            Some(Additional::Schema(node)) => Some(node),
            _ => None,
        }
    }

    /// The schema of a key that `properties` does not name: the first pattern that matches, in the order of the pattern texts,
    /// else `additionalProperties` (sections 5.3 and 6).
    #[must_use]
    pub fn other_key(&self, key: &str) -> Option<&Self> {
        self.patterns()
            .find(|(pattern, _)| pattern.is_match(key))
            .map(|(_, node)| node.as_ref())
            .or_else(|| self.additional_schema())
    }

    /// `items` if it is one schema for all elements.
    #[must_use]
    pub fn every_item(&self) -> Option<&Self> {
        match self.list.as_ref().and_then(|list| list.items.as_ref()) {
            Some(Items::One(node)) => Some(node),
            _ => None,
        }
    }

    /// The schema of the element at a position: `items`, its tuple entry, or `additionalItems` behind a tuple.
    #[must_use]
    pub fn item(&self, position: usize) -> Option<&Self> {
        let list = self.list.as_ref()?;
        match list.items.as_ref()? {
            Items::One(node) => Some(node),
            Items::Tuple(nodes) => nodes.get(position).or(match &list.additional {
                Some(Additional::Schema(node)) => Some(node),
                _ => None,
            }),
        }
    }

    /// A `oneOf`, `anyOf`, `allOf` or `not`, if the node has one.
    #[must_use]
    pub fn branches(&self) -> Option<&Branches> {
        self.branches.as_deref()
    }

    /// `dependencies` whose value is a schema, by key.
    pub fn dependency_schemas(&self) -> impl Iterator<Item = (&String, &Self)> {
        self.object
            .iter()
            .filter_map(|object| object.dependencies.as_ref())
            .flatten()
            .filter_map(|(key, dependency)| match dependency {
                Dependency::Schema(node) => Some((key, node.as_ref())),
                Dependency::Keys(_) => None,
            })
    }

    /// The default that defaulting uses: `default: null` is none (section 4.1).
    #[must_use]
    pub fn usable_default(&self) -> Option<&Value> {
        self.default.as_ref().filter(|default| !default.is_null())
    }
}
