//! Typed schema nodes back to JSON, with the keywords of section 3.5.
//!
//! Which extensions are written is the caller's choice; what is `false`, empty or absent is left out, except where a value
//! may be anything (`default`, `example`, `enum`, `additional*`). This file checks nothing.

use serde_json::{Map, Value};

use crate::settings::document::token;

use super::node::{
    Additional, Branches, Dependency, Items, ListRules, Node, Notes, NumberRules, ObjectRules,
    TextRules,
};

/// What is written of an extension, if anything.
pub type Keep<'a> = &'a dyn Fn(&str, &Value) -> Option<Value>;

/// Writes a node; `keep` says what is written of an extension.
#[must_use]
pub fn encode(node: &Node, keep: Keep<'_>) -> Value {
    let mut writer = Writer {
        keywords: Map::new(),
        keep,
    };
    writer.node(node);
    Value::Object(writer.keywords)
}

struct Writer<'a> {
    keywords: Map<String, Value>,
    keep: Keep<'a>,
}

impl Writer<'_> {
    fn put(&mut self, keyword: &str, value: impl Into<Value>) {
        self.keywords.insert(keyword.to_owned(), value.into());
    }

    fn put_if<T: Into<Value>>(&mut self, keyword: &str, value: Option<T>) {
        if let Some(value) = value {
            self.put(keyword, value);
        }
    }

    fn text(&mut self, keyword: &str, text: Option<&str>) {
        self.put_if(keyword, text.filter(|text| !text.is_empty()));
    }

    fn flag(&mut self, keyword: &str, flag: bool) {
        self.put_if(keyword, flag.then_some(true));
    }

    fn child(&self, node: &Node) -> Value {
        encode(node, self.keep)
    }

    fn children<'n>(&self, nodes: impl IntoIterator<Item = (&'n String, &'n Box<Node>)>) -> Value {
        nodes
            .into_iter()
            .map(|(key, node)| (key.clone(), self.child(node)))
            .collect::<Map<_, _>>()
            .into()
    }

    fn list(&mut self, keyword: &str, nodes: &[Node]) {
        if !nodes.is_empty() {
            let nodes: Vec<Value> = nodes.iter().map(|node| self.child(node)).collect();
            self.put(keyword, nodes);
        }
    }

    fn node(&mut self, node: &Node) {
        for (key, value) in &node.extensions.0 {
            let kept = (self.keep)(key, value);
            self.put_if(key, kept);
        }
        if let Some(notes) = &node.notes {
            self.notes(notes);
        }
        if let Some(reference) = &node.reference {
            let name = token(reference.name());
            self.put("$ref", format!("#/definitions/{name}"));
            return;
        }
        self.types(node);
        self.flag("nullable", node.nullable);
        self.put_if("default", node.default.clone());
        self.put_if("enum", node.enumeration.clone());
        if let Some(text) = &node.text {
            self.text_rules(text);
        }
        if let Some(number) = &node.number {
            self.number_rules(number);
        }
        if let Some(list) = &node.list {
            self.list_rules(list);
        }
        if let Some(object) = &node.object {
            self.object_rules(object);
        }
        if let Some(branches) = &node.branches {
            self.branches(branches);
        }
    }

    fn types(&mut self, node: &Node) {
        let names = node.types.names();
        match names {
            [] => {}
            [name] if !node.types.is_list() => self.put("type", name.as_ref()),
            names => {
                let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
                self.put("type", names);
            }
        }
    }

    fn text_rules(&mut self, text: &TextRules) {
        self.put_if("maxLength", text.max_length);
        self.put_if("minLength", text.min_length);
        self.text(
            "pattern",
            text.pattern.as_ref().map(super::pattern::Pattern::source),
        );
        self.text("format", text.format.as_deref());
    }

    fn number_rules(&mut self, number: &NumberRules) {
        self.put_if("maximum", number.maximum.clone());
        self.flag("exclusiveMaximum", number.exclusive_maximum);
        self.put_if("minimum", number.minimum.clone());
        self.flag("exclusiveMinimum", number.exclusive_minimum);
        self.put_if("multipleOf", number.multiple_of.clone());
    }

    fn list_rules(&mut self, list: &ListRules) {
        match &list.items {
            Some(Items::One(node)) => {
                let node = self.child(node);
                self.put("items", node);
            }
            Some(Items::Tuple(nodes)) => self.list("items", nodes),
            None => {}
        }
        self.additional("additionalItems", list.additional.as_ref());
        self.put_if("maxItems", list.max_items);
        self.put_if("minItems", list.min_items);
        self.flag("uniqueItems", list.unique);
    }

    fn object_rules(&mut self, object: &ObjectRules) {
        if let Some(properties) = &object.properties {
            let properties = self.children(properties);
            self.put("properties", properties);
        }
        if let Some(patterns) = &object.patterns {
            let patterns = self.children(patterns.iter().map(|(source, (_, node))| (source, node)));
            self.put("patternProperties", patterns);
        }
        self.additional("additionalProperties", object.additional.as_ref());
        if !object.required.is_empty() {
            self.put("required", object.required.clone());
        }
        self.put_if("maxProperties", object.max_properties);
        self.put_if("minProperties", object.min_properties);
        if let Some(dependencies) = &object.dependencies {
            let written: Map<String, Value> = dependencies
                .iter()
                .map(|(key, dependency)| {
                    let value = match dependency {
                        Dependency::Keys(keys) => keys.clone().into(),
                        Dependency::Schema(node) => self.child(node),
                    };
                    (key.clone(), value)
                })
                .collect();
            self.put("dependencies", written);
        }
    }

    fn additional(&mut self, keyword: &str, additional: Option<&Additional>) {
        match additional {
            None => {}
            Some(Additional::Allowed) => self.put(keyword, true),
            Some(Additional::Forbidden) => self.put(keyword, false),
            Some(Additional::Schema(node)) => {
                let node = self.child(node);
                self.put(keyword, node);
            }
        }
    }

    fn branches(&mut self, branches: &Branches) {
        self.list("allOf", &branches.all_of);
        self.list("anyOf", &branches.any_of);
        self.list("oneOf", &branches.one_of);
        if let Some(not) = &branches.not {
            let not = self.child(not);
            self.put("not", not);
        }
    }

    fn notes(&mut self, notes: &Notes) {
        self.text("id", notes.id.as_deref());
        self.text("$schema", notes.dialect.as_deref());
        self.text("title", notes.title.as_deref());
        self.text("description", notes.description.as_deref());
        self.put_if("externalDocs", notes.external_docs.clone());
        self.put_if("example", notes.example.clone());
        if let Some(definitions) = &notes.definitions {
            let definitions = self.children(definitions);
            self.put("definitions", definitions);
        }
    }
}
