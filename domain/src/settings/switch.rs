//! Mode switches: which confirmations a change of a discriminator needs, and whether they were given (section 10, S8, S19).
//!
//! Whether a missing acknowledgement refuses the change is the server's option; this file only says what is missing.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::document::Path;
use super::schema::Schema;
use super::schema::node::{Node, SWITCH};

/// The annotation of an Application that acknowledges destructive switches.
pub const ACKNOWLEDGEMENT: &str = "applications.deckhouse.io/allow-destructive-settings-switch";

/// How serious a switch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Impact {
    /// Said for information.
    #[default]
    Info,
    /// Said with emphasis.
    Warning,
    /// Applied only after an explicit acknowledgement.
    Destructive,
}

/// One confirmation that a change asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// The object that holds the discriminator; the root is empty.
    pub path: String,
    /// The discriminator.
    pub field: String,
    /// Its old value as text.
    pub from: String,
    /// Its new value as text.
    pub to: String,
    /// How serious the switch is.
    pub impact: Impact,
    /// Markdown by language code.
    pub messages: BTreeMap<String, String>,
}

impl Confirmation {
    /// How the switch is written in the annotation [`ACKNOWLEDGEMENT`]: `<path>=<from>-><to>`.
    #[must_use]
    pub fn entry(&self) -> String {
        format!("{}={}->{}", self.place(), self.from, self.to)
    }

    /// The discriminator's own path.
    #[must_use]
    pub fn place(&self) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{}", self.path, self.field)
    }

    /// The text in English, else in any language (S19).
    #[must_use]
    pub fn text(&self) -> &str {
        self.messages
            .get("en")
            .or_else(|| self.messages.values().next())
            .map_or("", String::as_str)
    }
}

/// The confirmations that a change needs; both sides have schema defaults, or the old side is what was applied (S19).
#[must_use]
pub fn confirmations(schema: &Schema, old: &Value, new: &Value) -> Vec<Confirmation> {
    let mut found = Vec::new();
    visit(schema, schema.root(), old, new, &Path::Root, &mut found);
    found
}

/// Recursion ends with the documents, which are bounded.
fn visit(
    schema: &Schema,
    node: &Node,
    old: &Value,
    new: &Value,
    path: &Path<'_>,
    found: &mut Vec<Confirmation>,
) {
    if !node.marks.switch {
        return;
    }
    let (Some(old_fields), Some(new_fields)) = (old.as_object(), new.as_object()) else {
        return;
    };
    let node = schema.resolve(node);
    for branch in node
        .branches()
        .into_iter()
        .flat_map(|branches| &branches.one_of)
    {
        let branch = schema.resolve(branch);
        let Some(items) = branch.extensions.get(SWITCH).and_then(Value::as_array) else {
            continue;
        };
        for (field, discriminator) in branch.properties() {
            let (Some(from), Some(to)) = (text(old_fields.get(field)), text(new_fields.get(field)))
            else {
                continue;
            };
            let values = schema.resolve(discriminator).enumeration.iter().flatten();
            let leaves_branch = from != to
                && values
                    .filter_map(|value| text(Some(value)))
                    .any(|value| value == from);
            if leaves_branch {
                found.extend(items.iter().filter(|item| leads_to(item, &to)).map(|item| {
                    Confirmation {
                        path: path.to_string(),
                        field: field.clone(),
                        from: from.clone(),
                        to: to.clone(),
                        impact: impact(item),
                        messages: messages(item),
                    }
                }));
            }
        }
    }
    for (key, property) in node.properties() {
        if let (Some(old), Some(new)) = (old_fields.get(key), new_fields.get(key)) {
            visit(schema, property, old, new, &path.key(key), found);
        }
    }
}

/// Booleans as `true` and `false`, numbers in JSON notation; `2.0` is `2`. Lists, objects and `null` choose no branch.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => {
            let real = super::document::real(number);
            #[allow(clippy::cast_possible_truncation)] // Checked to be whole and in range.
            let text = if number.is_f64() && real.fract() == 0.0 && real.abs() < 1e15 {
                (real as i64).to_string()
            } else {
                number.to_string()
            };
            Some(text)
        }
        _ => None,
    }
}

fn leads_to(item: &Value, to: &str) -> bool {
    let targets = item.get("to").and_then(Value::as_array);
    targets
        .into_iter()
        .flatten()
        .any(|target| target.as_str() == Some(to))
}

fn impact(item: &Value) -> Impact {
    match item.get("impact").and_then(Value::as_str) {
        Some("warning") => Impact::Warning,
        Some("destructive") => Impact::Destructive,
        _ => Impact::Info,
    }
}

fn messages(item: &Value) -> BTreeMap<String, String> {
    let messages = item.get("messages").and_then(Value::as_object);
    messages
        .into_iter()
        .flatten()
        .filter_map(|(language, text)| Some((language.clone(), text.as_str()?.to_owned())))
        .collect()
}

/// The destructive switches that this request does not acknowledge: an entry counts only in the request that adds it (S19).
#[must_use]
pub fn unacknowledged<'c>(
    confirmations: &'c [Confirmation],
    annotation: Option<&str>,
    old_annotation: Option<&str>,
) -> Vec<&'c Confirmation> {
    confirmations
        .iter()
        .filter(|confirmation| confirmation.impact == Impact::Destructive)
        .filter(|confirmation| {
            let entry = confirmation.entry();
            !has_entry(annotation, &entry) || has_entry(old_annotation, &entry)
        })
        .collect()
}

/// The list is not split, because a value may hold a comma itself.
fn has_entry(annotation: Option<&str>, entry: &str) -> bool {
    let Some(list) = annotation else {
        return false;
    };
    list.match_indices(entry).any(|(start, found)| {
        let before = list.get(..start).unwrap_or_default().trim_end();
        let after = list
            .get(start + found.len()..)
            .unwrap_or_default()
            .trim_start();
        (before.is_empty() || before.ends_with(',')) && (after.is_empty() || after.starts_with(','))
    })
}
