//! Reads and runs cases: `<category>.json` is a list of `{name, source, schema, values_schema?, old?, new?, context?, expect, note?}`.
//!
//! A category says what it got, as a map; each key that a case expects is compared with it. A key that nobody knows, in the
//! case, its context or its expectation, fails the case.

mod changes;
#[path = "../../cases/files.rs"]
mod files;
mod filling;
mod packages;
mod rules;
mod schemas;
mod webhook;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use domain::settings::document;
use domain::settings::limits::Limits;
use domain::settings::schema::{OpenSchema, Schema, open};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One case of one file.
#[derive(Debug)]
pub struct Case {
    category: String,
    name: String,
    /// What is written, or why it cannot be read: such a case fails, and the others go on.
    given: Result<Given, String>,
}

/// A case as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "source")]
    _source: Option<String>,
    #[serde(default)]
    schema: Value,
    #[serde(default)]
    values_schema: Value,
    #[serde(default)]
    old: Value,
    #[serde(default)]
    new: Value,
    #[serde(default)]
    context: Context,
    expect: Map<String, Value>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// The context of a case: each key must be read by its category.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Context(Map<String, Value>);

/// Why a case failed.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(format!("  {error}"))
    }
}

/// What a category got, by the keys of `expect`.
pub type Got = BTreeMap<&'static str, Value>;

/// All cases of a folder, by file and in order.
pub fn read(folder: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (path, written) in files::json::<Vec<Value>>(folder)? {
        let category = path.file_stem().unwrap_or_default().to_string_lossy();
        cases.extend(written.into_iter().enumerate().map(|(position, written)| {
            Case {
                category: category.clone().into_owned(),
                name: written["name"]
                    .as_str()
                    .map_or_else(|| format!("case {position}"), ToOwned::to_owned),
                given: serde_json::from_value(written).map_err(|error| error.to_string()),
            }
        }));
    }
    Ok(cases)
}

impl Case {
    /// Category and name.
    pub fn title(&self) -> String {
        format!("{}::{}", self.category, self.name)
    }

    /// Runs the case and compares.
    pub fn run(&self) -> Result<(), Failure> {
        let mut given = match &self.given {
            Ok(given) => given.clone_for_run(),
            Err(error) => return Err(Failure(format!("  the case cannot be read: {error}"))),
        };
        let got = match self.category.as_str() {
            "validation" => schemas::validation(&given),
            "extend" => schemas::extend(&given),
            "publish" => Ok(schemas::publish(&given)),
            "defaults" => filling::defaults(&mut given),
            "grants" => filling::grants(&mut given),
            "immutable" => changes::immutable(&mut given),
            "enum-switch" => changes::enum_switch(&mut given),
            "webhook" => webhook::webhook(&mut given),
            "cel" => rules::cel(&given),
            "verify" => packages::verify(&mut given),
            "orphans" => packages::orphans(&mut given),
            other => Err(Failure(format!("  no runner knows the category {other}"))),
        }?;
        if let Some(key) = given.context.0.keys().next() {
            return Err(Failure(format!("  nobody read `context.{key}`")));
        }
        compare(&given.expect, &got)
    }
}

impl Given {
    /// The context is taken apart while a case runs.
    fn clone_for_run(&self) -> Self {
        Self {
            _name: String::new(),
            _source: None,
            schema: self.schema.clone(),
            values_schema: self.values_schema.clone(),
            old: self.old.clone(),
            new: self.new.clone(),
            context: self.context.clone(),
            expect: self.expect.clone(),
            _note: None,
        }
    }

    /// The settings schema with references in place.
    fn open(&self) -> Result<Option<OpenSchema>, Failure> {
        open_document(&self.schema)
    }

    /// The closed settings schema; none is the empty one.
    fn closed(&self) -> Result<Schema, Failure> {
        Ok(Schema::close(self.open()?.unwrap_or_default()))
    }
}

impl Context {
    /// Takes a key; `None` if it is absent.
    fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key)
    }

    /// Takes a key that holds a text.
    fn take_text(&mut self, key: &str) -> Option<String> {
        self.take(key)
            .and_then(|value| value.as_str().map(ToOwned::to_owned))
    }

    /// Takes a key that holds a flag, `false` if absent.
    fn take_flag(&mut self, key: &str) -> bool {
        self.take(key) == Some(Value::Bool(true))
    }
}

/// A document as an open schema; `null` is none.
fn open_document(document: &Value) -> Result<Option<OpenSchema>, Failure> {
    if document.is_null() {
        return Ok(None);
    }
    Ok(Some(open(document, &Limits::DEFAULT)?))
}

/// Keys whose value is a set.
const SETS: [&str; 8] = [
    "paths", "fields", "findings", "deleted", "declared", "refs", "lookups", "messages",
];

fn compare(expect: &Map<String, Value>, got: &Got) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for (key, expected) in expect {
        match got.get(key.as_str()) {
            None => wrong.push(format!("  {key}: expected {expected}, but nothing was got")),
            Some(value) if agree(key, expected, value) => {}
            Some(value) => wrong.push(format!(
                "  {key}: expected {expected}\n  {key}: got      {value}"
            )),
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure(wrong.join("\n")))
    }
}

fn agree(key: &str, expected: &Value, got: &Value) -> bool {
    if SETS.contains(&key) {
        return match (expected.as_array(), got.as_array()) {
            (Some(expected), Some(got)) => document::equal(&set(expected), &set(got)),
            _ => false,
        };
    }
    if key == "published" {
        return document::equal(&schemas::lean(expected), &schemas::lean(got));
    }
    document::equal(expected, got)
}

fn set(values: &[Value]) -> Value {
    let mut sorted = values.to_vec();
    sorted.sort_by(document::compare);
    sorted.dedup_by(|left, right| document::equal(left, right));
    sorted.into()
}
