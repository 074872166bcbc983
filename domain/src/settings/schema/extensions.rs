//! The documented `x-deckhouse-*` extensions: the JSON type of each, and what of it is published (section 3.5).
//!
//! Every other `x-*` key is kept in a loaded schema and dropped from a published one. What an extension means is decided where
//! it is used.

use serde_json::{Map, Value};

use super::node::{GRANTABLE, IMMUTABLE, SWITCH, VALIDATIONS};

/// `x-deckhouse-ui-order`.
pub const UI_ORDER: &str = "x-deckhouse-ui-order";
/// `x-deckhouse-ui-group`.
pub const UI_GROUP: &str = "x-deckhouse-ui-group";
/// `x-deckhouse-ui-advanced`.
pub const UI_ADVANCED: &str = "x-deckhouse-ui-advanced";
/// `x-deckhouse-ui-validation-message`.
pub const UI_MESSAGE: &str = "x-deckhouse-ui-validation-message";
/// `x-deckhouse-ui-resource-name`.
pub const UI_RESOURCE: &str = "x-deckhouse-ui-resource-name";

/// An extension's value has a wrong type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer} must be {expected}")]
pub struct ShapeError {
    /// Where it stands, steps joined with dots.
    pub pointer: String,
    /// What it must be.
    pub expected: &'static str,
}

impl ShapeError {
    fn new(pointer: impl Into<String>, expected: &'static str) -> Self {
        Self {
            pointer: pointer.into(),
            expected,
        }
    }

    /// The same error, seen from further up.
    #[must_use]
    pub fn at(mut self, pointer: &str) -> Self {
        self.pointer = super::join(pointer, &self.pointer);
        self
    }
}

/// What is published of an extension; `None` for one that is dropped, `null` or not documented.
///
/// # Errors
/// A documented extension has a value of a wrong type. `x-deckhouse-immutable` never has: only `true` is a mark (S11).
pub fn published(key: &str, value: &Value) -> Result<Option<Value>, ShapeError> {
    if value.is_null() {
        return Ok(None);
    }
    match key {
        GRANTABLE | UI_GROUP | UI_MESSAGE => text(key, value).map(Some),
        IMMUTABLE => Ok(value.is_boolean().then(|| value.clone())),
        UI_ADVANCED => match value {
            Value::Bool(_) => Ok(Some(value.clone())),
            _ => Err(ShapeError::new(key, "true or false")),
        },
        UI_ORDER => order(key, value).map(Some),
        UI_RESOURCE => resource(key, value).map(Some),
        VALIDATIONS => entries(key, value, "a list of rules", &rule).map(Some),
        SWITCH => entries(key, value, "a list of switches", &switch).map(Some),
        _ => Ok(None),
    }
}

fn text(pointer: &str, value: &Value) -> Result<Value, ShapeError> {
    match value {
        Value::String(_) => Ok(value.clone()),
        _ => Err(ShapeError::new(pointer, "a text")),
    }
}

/// A whole number, also one written as `10.0`.
fn order(pointer: &str, value: &Value) -> Result<Value, ShapeError> {
    let whole = value.as_i64().or_else(|| {
        #[allow(clippy::cast_possible_truncation)] // Checked to be whole and in range.
        value
            .as_f64()
            .filter(|real| real.fract() == 0.0 && real.abs() < 9e15)
            .map(|real| real as i64)
    });
    whole
        .map(Value::from)
        .ok_or_else(|| ShapeError::new(pointer, "a whole number"))
}

type Entry<'a> = &'a dyn Fn(&str, &Map<String, Value>) -> Result<Map<String, Value>, ShapeError>;

fn entries(
    pointer: &str,
    value: &Value,
    expected: &'static str,
    entry: Entry<'_>,
) -> Result<Value, ShapeError> {
    let list = value
        .as_array()
        .ok_or_else(|| ShapeError::new(pointer, expected))?;
    list.iter()
        .enumerate()
        .map(|(position, value)| {
            let pointer = format!("{pointer}.{position}");
            let fields = value
                .as_object()
                .ok_or_else(|| ShapeError::new(pointer.as_str(), "a map"))?;
            entry(&pointer, fields).map(Value::Object)
        })
        .collect()
}

/// Copies the named fields that are present, each read by its own function.
type Field<'a> = (
    &'a str,
    &'a dyn Fn(&str, &Value) -> Result<Value, ShapeError>,
);

fn fields(
    pointer: &str,
    given: &Map<String, Value>,
    known: &[Field<'_>],
) -> Result<Map<String, Value>, ShapeError> {
    let mut kept = Map::new();
    for (name, read) in known {
        if let Some(value) = given.get(*name).filter(|value| !value.is_null()) {
            kept.insert(
                (*name).to_owned(),
                read(&format!("{pointer}.{name}"), value)?,
            );
        }
    }
    Ok(kept)
}

fn rule(pointer: &str, given: &Map<String, Value>) -> Result<Map<String, Value>, ShapeError> {
    fields(pointer, given, &[("expression", &text), ("message", &text)])
}

fn switch(pointer: &str, given: &Map<String, Value>) -> Result<Map<String, Value>, ShapeError> {
    fields(
        pointer,
        given,
        &[("to", &texts), ("impact", &text), ("messages", &text_map)],
    )
}

fn resource(pointer: &str, value: &Value) -> Result<Value, ShapeError> {
    let given = value
        .as_object()
        .ok_or_else(|| ShapeError::new(pointer, "a map with apiVersion and kind"))?;
    fields(
        pointer,
        given,
        &[
            ("apiVersion", &text),
            ("kind", &text),
            ("labelSelector", &selector),
        ],
    )
    .map(Value::Object)
}

fn selector(pointer: &str, value: &Value) -> Result<Value, ShapeError> {
    let given = value
        .as_object()
        .ok_or_else(|| ShapeError::new(pointer, "a label selector"))?;
    fields(
        pointer,
        given,
        &[
            ("matchLabels", &text_map),
            ("matchExpressions", &requirements),
        ],
    )
    .map(Value::Object)
}

fn requirements(pointer: &str, value: &Value) -> Result<Value, ShapeError> {
    entries(
        pointer,
        value,
        "a list of requirements",
        &|pointer, given| {
            fields(
                pointer,
                given,
                &[("key", &text), ("operator", &text), ("values", &texts)],
            )
        },
    )
}

fn texts(pointer: &str, value: &Value) -> Result<Value, ShapeError> {
    match value.as_array() {
        Some(list) if list.iter().all(Value::is_string) => Ok(value.clone()),
        _ => Err(ShapeError::new(pointer, "a list of texts")),
    }
}

fn text_map(pointer: &str, value: &Value) -> Result<Value, ShapeError> {
    match value.as_object() {
        Some(map) if map.values().all(Value::is_string) => Ok(value.clone()),
        _ => Err(ShapeError::new(pointer, "a map of texts")),
    }
}
