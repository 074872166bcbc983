//! JSON to typed schema nodes (section 3.1, step 2).
//!
//! Unknown keywords are ignored, `null` is the same as absent, every `x-*` key is kept as written. A keyword of a wrong type
//! refuses the schema, with its place; what section 5.2 tolerates is tolerated. References are only recorded here.

mod error;
mod keywords;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use error::{DecodeError, DecodeProblem};
use keywords::{any, present};

use crate::settings::limits::Limits;
use crate::settings::schema::node::{
    Additional, Branches, Dependency, Extensions, Items, ListRules, Node, Nodes, Notes,
    NumberRules, ObjectRules, PatternNodes, Reference, TextRules, Types,
};
use crate::settings::schema::pattern::{Pattern, Patterns};

/// Reads a schema document; `null` is the empty schema.
///
/// # Errors
/// The first keyword of a wrong type, a remote reference, or a limit.
pub fn decode(document: &Value, limits: &Limits) -> Result<Node, DecodeError> {
    let mut decoder = Decoder {
        patterns: Patterns::new(limits),
        nodes: 0,
        limits: *limits,
        pointer: Vec::new(),
    };
    decoder.node(document)
}

struct Decoder {
    patterns: Patterns,
    nodes: usize,
    limits: Limits,
    pointer: Vec<String>,
}

type Decoded<T> = Result<T, DecodeError>;
const SCHEMA: &str = "a schema: a map of keywords";
const COUNT: &str = "a whole number that is not negative";

impl Decoder {
    fn error<T>(&self, problem: DecodeProblem) -> Decoded<T> {
        Err(DecodeError {
            pointer: self.pointer.join("."),
            problem,
        })
    }

    fn below<T>(
        &mut self,
        step: impl Into<String>,
        read: impl FnOnce(&mut Self) -> Decoded<T>,
    ) -> Decoded<T> {
        self.pointer.push(step.into());
        let value = read(self);
        self.pointer.pop();
        value
    }

    fn node(&mut self, value: &Value) -> Decoded<Node> {
        let keywords = match value {
            Value::Object(keywords) => keywords,
            Value::Null => return Ok(Node::default()),
            _ => return self.error(DecodeProblem::Shape(SCHEMA)),
        };
        self.nodes += 1;
        if self.nodes > self.limits.schema_nodes {
            return self.error(DecodeProblem::TooManyNodes(self.limits.schema_nodes));
        }
        // A node nests by one or two steps (`items`, `properties.a`), so this bounds the recursion.
        if self.pointer.len() > self.limits.schema_depth * 2 {
            return self.error(DecodeProblem::TooDeep(self.limits.schema_depth));
        }
        let extensions = extensions(keywords);
        if let Some(reference) = self.text(keywords, "$ref")? {
            let reference = self.below("$ref", |me| me.reference(&reference))?;
            return self.referring(reference, keywords, extensions);
        }
        Ok(Node {
            types: self.types(keywords)?,
            nullable: self.flag(keywords, "nullable")?,
            default: keywords.get("default").cloned(),
            enumeration: self.values(keywords, "enum")?,
            text: self.text_rules(keywords)?,
            number: self.number_rules(keywords)?,
            list: self.list_rules(keywords)?,
            object: self.object_rules(keywords)?,
            branches: self.branches(keywords)?,
            notes: self.notes(keywords)?,
            extensions,
            ..Node::default()
        })
    }

    /// Beside a reference only `x-deckhouse-*` counts (section 3.5); the root's definitions are where references lead.
    fn referring(
        &mut self,
        reference: Reference,
        keywords: &Map<String, Value>,
        mut extensions: Extensions,
    ) -> Decoded<Node> {
        extensions
            .0
            .retain(|key, _| key.starts_with("x-deckhouse-"));
        let definitions = if self.pointer.is_empty() {
            self.nodes(keywords, "definitions")?
        } else {
            None
        };
        Ok(Node {
            reference: Some(reference),
            extensions,
            notes: definitions.map(|definitions| {
                Box::new(Notes {
                    definitions: Some(definitions),
                    ..Notes::default()
                })
            }),
            ..Node::default()
        })
    }

    fn reference(&self, text: &str) -> Decoded<Reference> {
        match text.strip_prefix("#/definitions/") {
            Some(name) if !name.is_empty() && !name.contains('/') => Ok(Reference::Named(
                name.replace("~1", "/").replace("~0", "~").into(),
            )),
            _ => self.error(DecodeProblem::Remote(text.to_owned())),
        }
    }

    fn types(&mut self, keywords: &Map<String, Value>) -> Decoded<Types> {
        const SHAPE: &str = "a type name or a list of type names";
        match keywords.get("type") {
            None | Some(Value::Null) => Ok(Types::default()),
            Some(Value::String(name)) if name.is_empty() => Ok(Types::default()),
            Some(Value::String(name)) => Ok(Types::one(name)),
            Some(Value::Array(names)) => {
                let names: Option<Vec<Box<str>>> = names
                    .iter()
                    .map(|name| name.as_str().map(Into::into))
                    .collect();
                match names {
                    Some(names) => Ok(Types::list(names)),
                    None => self.wrong("type", SHAPE),
                }
            }
            Some(_) => self.wrong("type", SHAPE),
        }
    }

    fn text_rules(&mut self, keywords: &Map<String, Value>) -> Decoded<Option<Box<TextRules>>> {
        if !any(keywords, &["maxLength", "minLength", "pattern", "format"]) {
            return Ok(None);
        }
        let pattern = match self.text(keywords, "pattern")? {
            Some(source) => Some(self.below("pattern", |me| me.pattern(&source))?),
            None => None,
        };
        Ok(Some(Box::new(TextRules {
            max_length: self.count(keywords, "maxLength")?,
            min_length: self.count(keywords, "minLength")?,
            pattern,
            format: self.text(keywords, "format")?,
        })))
    }

    /// Bad syntax is kept and fails the values (section 5.2); what is over a limit refuses the schema.
    fn pattern(&mut self, source: &str) -> Decoded<Pattern> {
        let pattern = self.patterns.compile(source);
        match pattern.broken() {
            Some(error) if error.is_limit() => self.error(DecodeProblem::Pattern(error.clone())),
            _ => Ok(pattern),
        }
    }

    fn number_rules(&mut self, keywords: &Map<String, Value>) -> Decoded<Option<Box<NumberRules>>> {
        if !any(
            keywords,
            &[
                "maximum",
                "minimum",
                "multipleOf",
                "exclusiveMaximum",
                "exclusiveMinimum",
            ],
        ) {
            return Ok(None);
        }
        Ok(Some(Box::new(NumberRules {
            maximum: self.number(keywords, "maximum")?,
            exclusive_maximum: self.modifier(keywords, "exclusiveMaximum")?,
            minimum: self.number(keywords, "minimum")?,
            exclusive_minimum: self.modifier(keywords, "exclusiveMinimum")?,
            multiple_of: self.number(keywords, "multipleOf")?,
        })))
    }

    fn list_rules(&mut self, keywords: &Map<String, Value>) -> Decoded<Option<Box<ListRules>>> {
        if !any(
            keywords,
            &[
                "items",
                "additionalItems",
                "maxItems",
                "minItems",
                "uniqueItems",
            ],
        ) {
            return Ok(None);
        }
        let items = match keywords.get("items") {
            Some(one @ Value::Object(_)) => Some(Items::One(Box::new(
                self.below("items", |me| me.node(one))?,
            ))),
            Some(Value::Array(_)) => Some(Items::Tuple(self.node_list(keywords, "items")?)),
            // Public packages have a string here; it is ignored (section 5.2).
            _ => None,
        };
        Ok(Some(Box::new(ListRules {
            items,
            additional: self.additional(keywords, "additionalItems")?,
            max_items: self.count(keywords, "maxItems")?,
            min_items: self.count(keywords, "minItems")?,
            unique: self.flag(keywords, "uniqueItems")?,
        })))
    }

    fn object_rules(&mut self, keywords: &Map<String, Value>) -> Decoded<Option<Box<ObjectRules>>> {
        let known = [
            "properties",
            "patternProperties",
            "additionalProperties",
            "required",
            "maxProperties",
            "minProperties",
            "dependencies",
        ];
        if !any(keywords, &known) {
            return Ok(None);
        }
        Ok(Some(Box::new(ObjectRules {
            properties: self.nodes(keywords, "properties")?,
            patterns: self.pattern_properties(keywords)?,
            additional: self.additional(keywords, "additionalProperties")?,
            required: self.strings(keywords, "required")?,
            max_properties: self.count(keywords, "maxProperties")?,
            min_properties: self.count(keywords, "minProperties")?,
            dependencies: self.dependencies(keywords)?,
        })))
    }

    fn pattern_properties(
        &mut self,
        keywords: &Map<String, Value>,
    ) -> Decoded<Option<PatternNodes>> {
        let Some(nodes) = self.nodes(keywords, "patternProperties")? else {
            return Ok(None);
        };
        let mut patterns = PatternNodes::new();
        for (source, node) in nodes {
            let pattern = self.below("patternProperties", |me| {
                me.below(source.as_str(), |me| me.pattern(&source))
            })?;
            patterns.insert(source, (pattern, node));
        }
        Ok(Some(patterns))
    }

    fn dependencies(
        &mut self,
        keywords: &Map<String, Value>,
    ) -> Decoded<Option<BTreeMap<String, Dependency>>> {
        let Some(entries) = self.map(keywords, "dependencies")? else {
            return Ok(None);
        };
        let mut dependencies = BTreeMap::new();
        for (key, value) in entries {
            let dependency = match value {
                Value::Object(_) => {
                    let node = self.below("dependencies", |me| {
                        me.below(key.as_str(), |me| me.node(value))
                    })?;
                    Dependency::Schema(Box::new(node))
                }
                Value::Array(_) => {
                    Dependency::Keys(self.below("dependencies", |me| me.strings(entries, key))?)
                }
                _ => continue,
            };
            dependencies.insert(key.clone(), dependency);
        }
        Ok(Some(dependencies))
    }

    fn branches(&mut self, keywords: &Map<String, Value>) -> Decoded<Option<Box<Branches>>> {
        if !any(keywords, &["allOf", "anyOf", "oneOf", "not"]) {
            return Ok(None);
        }
        let not = match present(keywords, "not") {
            Some(value) => Some(Box::new(self.below("not", |me| me.node(value))?)),
            None => None,
        };
        Ok(Some(Box::new(Branches {
            all_of: self.node_list(keywords, "allOf")?,
            any_of: self.node_list(keywords, "anyOf")?,
            one_of: self.node_list(keywords, "oneOf")?,
            not,
        })))
    }

    fn notes(&mut self, keywords: &Map<String, Value>) -> Decoded<Option<Box<Notes>>> {
        let known = [
            "id",
            "$schema",
            "title",
            "description",
            "externalDocs",
            "example",
            "definitions",
        ];
        if !any(keywords, &known) {
            return Ok(None);
        }
        Ok(Some(Box::new(Notes {
            id: self.text(keywords, "id")?,
            dialect: self.text(keywords, "$schema")?,
            title: self.text(keywords, "title")?,
            description: self.text(keywords, "description")?,
            external_docs: self
                .map(keywords, "externalDocs")?
                .cloned()
                .map(Value::Object),
            example: keywords.get("example").cloned(),
            definitions: self.nodes(keywords, "definitions")?,
        })))
    }

    fn additional(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
    ) -> Decoded<Option<Additional>> {
        Ok(match present(keywords, keyword) {
            None => None,
            Some(schema @ Value::Object(_)) => Some(Additional::Schema(Box::new(
                self.below(keyword, |me| me.node(schema))?,
            ))),
            Some(Value::Bool(false)) => Some(Additional::Forbidden),
            Some(_) => Some(Additional::Allowed),
        })
    }

    fn nodes(&mut self, keywords: &Map<String, Value>, keyword: &str) -> Decoded<Option<Nodes>> {
        let Some(entries) = self.map(keywords, keyword)? else {
            return Ok(None);
        };
        let mut nodes = Nodes::new();
        for (key, value) in entries {
            let node = self.below(keyword, |me| me.below(key.as_str(), |me| me.node(value)))?;
            nodes.insert(key.clone(), Box::new(node));
        }
        Ok(Some(nodes))
    }

    fn node_list(&mut self, keywords: &Map<String, Value>, keyword: &str) -> Decoded<Vec<Node>> {
        match present(keywords, keyword) {
            None => Ok(Vec::new()),
            Some(Value::Array(entries)) => {
                let mut nodes = Vec::with_capacity(entries.len());
                for (position, value) in entries.iter().enumerate() {
                    nodes.push(self.below(keyword, |me| {
                        me.below(position.to_string(), |me| me.node(value))
                    })?);
                }
                Ok(nodes)
            }
            Some(_) => self.wrong(keyword, "a list of schemas"),
        }
    }
}

fn extensions(keywords: &Map<String, Value>) -> Extensions {
    Extensions(
        keywords
            .iter()
            .filter(|(key, _)| key.starts_with("x-"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}
