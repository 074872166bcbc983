//! Rule `extensions`: the values of `x-deckhouse-*` keys have the right shapes (section 11).
//!
//! A missing key is reported at its parent's place, a wrong one at its own.

use serde_json::{Map, Value};

use super::document::Document;
use super::walk::{each_node, join};
use super::{Findings, Level, Rule};
use crate::settings::schema::extensions::{
    UI_ADVANCED, UI_GROUP, UI_MESSAGE, UI_ORDER, UI_RESOURCE,
};
use crate::settings::schema::node::{GRANTABLE, IMMUTABLE, SWITCH, VALIDATIONS};

const FAMILY: &str = "x-deckhouse-";
const IMPACTS: [&str; 3] = ["info", "warning", "destructive"];

pub(super) fn check(document: &Document<'_>, findings: &mut Findings) {
    let content = match &document.content {
        Ok(content) => content,
        Err(problem) => {
            findings.add(
                Rule::Extensions,
                Level::Error,
                document.path,
                "",
                problem.to_string(),
            );
            return;
        }
    };
    let mut shapes = Shapes {
        path: document.path,
        findings,
    };
    each_node(content, &mut |place, fields| {
        for (key, value) in fields {
            if key.starts_with(FAMILY) {
                shapes.extension(key, value, &join(place.pointer, key), fields);
            }
        }
    });
}

struct Shapes<'a> {
    path: &'a str,
    findings: &'a mut Findings,
}

impl Shapes<'_> {
    fn wrong(&mut self, pointer: &str, text: impl Into<String>) {
        self.findings
            .add(Rule::Extensions, Level::Error, self.path, pointer, text);
    }

    fn extension(&mut self, key: &str, value: &Value, pointer: &str, node: &Map<String, Value>) {
        match key {
            GRANTABLE => self.grantable(value, pointer, node),
            VALIDATIONS => self.validations(value, pointer),
            SWITCH => self.switches(value, pointer),
            UI_RESOURCE => self.resource(value, pointer),
            UI_ADVANCED | IMMUTABLE if !value.is_boolean() => {
                self.wrong(pointer, "must be true or false");
            }
            UI_ORDER if !is_whole(value) => self.wrong(pointer, "must be a whole number"),
            UI_MESSAGE | UI_GROUP if !value.is_string() => self.wrong(pointer, "must be a text"),
            UI_ADVANCED | IMMUTABLE | UI_ORDER | UI_MESSAGE | UI_GROUP => {}
            _ => self.findings.add(
                Rule::Extensions,
                Level::Warning,
                self.path,
                pointer,
                "is not a known extension and has no effect: check its spelling",
            ),
        }
    }

    fn grantable(&mut self, value: &Value, pointer: &str, node: &Map<String, Value>) {
        if value.as_str().is_none_or(str::is_empty) {
            self.wrong(
                pointer,
                "must be a non-empty text, the name of a grantable resource",
            );
        }
        let is_string = match node.get("type") {
            Some(Value::String(name)) => name == "string",
            Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
            _ => false,
        };
        if !is_string {
            self.wrong(pointer, "needs a field with `type: string`");
        }
    }

    fn validations(&mut self, value: &Value, pointer: &str) {
        self.entries(
            value,
            pointer,
            "must be a list of rules",
            |shapes, entry, pointer| {
                for field in ["expression", "message"] {
                    shapes.required_text(entry, field, pointer);
                }
                for field in ["messageExpression", "fieldPath", "reason"] {
                    if entry.get(field).is_some_and(|value| !value.is_string()) {
                        shapes.wrong(&join(pointer, field), "must be a text");
                    }
                }
            },
        );
    }

    fn switches(&mut self, value: &Value, pointer: &str) {
        self.entries(
            value,
            pointer,
            "must be a list of switches",
            |shapes, entry, pointer| {
                match entry.get("to") {
                    None => shapes.wrong(pointer, "needs `to`, a list of values"),
                    Some(Value::Array(to)) if !to.is_empty() && to.iter().all(Value::is_string) => {
                    }
                    Some(_) => {
                        shapes.wrong(&join(pointer, "to"), "must be a non-empty list of texts");
                    }
                }
                let impact = entry.get("impact");
                if impact.is_some_and(|impact| {
                    impact.as_str().is_none_or(|word| !IMPACTS.contains(&word))
                }) {
                    shapes.wrong(
                        &join(pointer, "impact"),
                        "must be info, warning or destructive",
                    );
                }
                let messages = entry.get("messages");
                let is_map = |messages: &Value| {
                    messages
                        .as_object()
                        .is_some_and(|map| map.values().all(Value::is_string))
                };
                if messages.is_some_and(|messages| !is_map(messages)) {
                    shapes.wrong(
                        &join(pointer, "messages"),
                        "must be a map of texts by language",
                    );
                }
            },
        );
    }

    fn resource(&mut self, value: &Value, pointer: &str) {
        let Some(fields) = value.as_object() else {
            self.wrong(pointer, "must be a map with `apiVersion` and `kind`");
            return;
        };
        self.required_text(fields, "apiVersion", pointer);
        self.required_text(fields, "kind", pointer);
        if fields
            .get("labelSelector")
            .is_some_and(|selector| !selector.is_object())
        {
            self.wrong(&join(pointer, "labelSelector"), "must be a label selector");
        }
    }

    fn entries(
        &mut self,
        value: &Value,
        pointer: &str,
        expected: &str,
        mut entry: impl FnMut(&mut Self, &Map<String, Value>, &str),
    ) {
        let Some(list) = value.as_array() else {
            self.wrong(pointer, expected);
            return;
        };
        for (position, value) in list.iter().enumerate() {
            let pointer = join(pointer, &position.to_string());
            match value.as_object() {
                Some(fields) => entry(self, fields, &pointer),
                None => self.wrong(&pointer, "must be a map"),
            }
        }
    }

    fn required_text(&mut self, fields: &Map<String, Value>, field: &str, pointer: &str) {
        match fields.get(field) {
            None => self.wrong(pointer, format!("needs `{field}`, a non-empty text")),
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(_) => self.wrong(&join(pointer, field), "must be a non-empty text"),
        }
    }
}

/// A whole number, also one written as `10.0`.
fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|real| real.fract() == 0.0)
}
