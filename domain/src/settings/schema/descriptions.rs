//! Russian descriptions for the form: `doc-ru-settings.yaml` as a map from place to text (section 3.5).
//!
//! The file repeats the property tree with `description` texts only. It never affects validation, so whatever else it
//! holds is ignored.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::settings::document::token;
use crate::settings::limits::Limits;

/// The texts are over [`Limits::descriptions_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the descriptions have more than {most} bytes together: shorten them")]
pub struct DescriptionsTooLarge {
    /// The limit.
    pub most: usize,
}

/// The texts of a file by the JSON pointer of the schema node they describe, such as `/properties/db/properties/size`; the
/// root's pointer is empty.
///
/// # Errors
/// They are over the limit: with both schemas they would not fit into one object.
pub fn descriptions(
    document: &Value,
    limits: &Limits,
) -> Result<BTreeMap<String, String>, DescriptionsTooLarge> {
    let mut found = BTreeMap::new();
    visit(document, &mut String::new(), &mut found);
    let bytes: usize = found
        .iter()
        .map(|(pointer, text)| pointer.len() + text.len())
        .sum();
    if bytes > limits.descriptions_bytes {
        return Err(DescriptionsTooLarge {
            most: limits.descriptions_bytes,
        });
    }
    Ok(found)
}

/// Recursion ends with the document, which was loaded within a depth.
fn visit(node: &Value, pointer: &mut String, found: &mut BTreeMap<String, String>) {
    let Some(keywords) = node.as_object() else {
        return;
    };
    if let Some(Value::String(text)) = keywords.get("description") {
        found.insert(pointer.clone(), text.clone());
    }
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "definitions" | "dependencies",
                Value::Object(nodes),
            ) => {
                for (name, node) in nodes {
                    let step = format!("/{keyword}/{}", token(name));
                    below(node, &step, pointer, found);
                }
            }
            ("allOf" | "anyOf" | "oneOf" | "items", Value::Array(nodes)) => {
                for (position, node) in nodes.iter().enumerate() {
                    below(node, &format!("/{keyword}/{position}"), pointer, found);
                }
            }
            ("items" | "additionalProperties" | "additionalItems" | "not", node) => {
                below(node, &format!("/{keyword}"), pointer, found);
            }
            _ => {}
        }
    }
}

fn below(node: &Value, step: &str, pointer: &mut String, found: &mut BTreeMap<String, String>) {
    let length = pointer.len();
    pointer.push_str(step);
    visit(node, pointer, found);
    pointer.truncate(length);
}
