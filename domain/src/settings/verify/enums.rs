//! Rule `enum`: values of `enum` are written in CamelCase (section 11).
//!
//! Every list under a key `enum`, anywhere in the document, is one; texts only.

use serde_json::Value;

use super::document::Document;
use super::walk::join;
use super::{Findings, Level, Rule};

pub(super) fn check(document: &Document<'_>, findings: &mut Findings) {
    if let Ok(content) = &document.content {
        anywhere(content, "", document.path, findings);
    }
}

fn anywhere(value: &Value, pointer: &str, path: &str, findings: &mut Findings) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let pointer = join(pointer, key);
                if let ("enum", Some(values)) = (key.as_str(), value.as_array()) {
                    for value in values.iter().filter_map(Value::as_str) {
                        if let Some(problem) = problem(value) {
                            let text = format!("value {value:?} {problem}");
                            findings.add(Rule::Enum, Level::Warning, path, pointer.as_str(), text);
                        }
                    }
                }
                anywhere(value, &pointer, path, findings);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                anywhere(item, &join(pointer, &position.to_string()), path, findings);
            }
        }
        _ => {}
    }
}

/// What is wrong with a value's spelling.
fn problem(value: &str) -> Option<&'static str> {
    let mut before = None;
    for letter in value.chars() {
        match letter {
            _ if before.is_none() && letter.is_alphabetic() && !letter.is_uppercase() => {
                return Some("should begin with a capital letter");
            }
            _ if letter.is_alphabetic() || letter.is_numeric() => {}
            '.' if before.is_some_and(char::is_numeric) => {}
            '.' => return Some("should have a dot only after a digit"),
            _ => return Some("should have letters and digits only"),
        }
        before = Some(letter);
    }
    None
}
