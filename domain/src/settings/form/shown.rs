//! Errors as the form shows them: at a field, and with the author's message instead of a schema's (section 10).

use serde::Serialize;
use serde_json::Value;

use crate::settings::limits::Limits;
use crate::settings::schema::extensions::UI_MESSAGE;
use crate::settings::schema::{Node, Schema};
use crate::settings::validate::{Finding, findings};

/// One error under one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Where, as a JSON pointer into the settings; the root is empty.
    pub pointer: String,
    /// What the person reads.
    pub text: String,
}

/// The schema's errors of effective settings. Where the field has a message of its own, that is shown, once; errors of rules
/// and grants do not come through here and keep their texts (S26).
#[must_use]
pub fn errors(effective: &Value, schema: &Schema, limits: &Limits) -> Vec<FieldError> {
    let mut shown: Vec<FieldError> = findings(effective, schema, limits)
        .into_iter()
        .map(|Finding { pointer, violation }| FieldError {
            text: message_at(schema, &pointer).unwrap_or(violation.text),
            pointer,
        })
        .collect();
    shown.dedup();
    shown
}

fn message_at(schema: &Schema, pointer: &str) -> Option<String> {
    let node = node_at(schema, pointer)?;
    let message = node.extensions.get(UI_MESSAGE)?.as_str()?;
    (!message.is_empty()).then(|| message.to_owned())
}

/// The node that describes a place of the settings.
fn node_at<'s>(schema: &'s Schema, pointer: &str) -> Option<&'s Node> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(schema.root(), |node, step| {
            let key = step.replace("~1", "/").replace("~0", "~");
            let element = key.parse().ok().and_then(|position| node.item(position));
            let child = node
                .property(&key)
                .or(element)
                .or_else(|| node.other_key(&key))?;
            Some(schema.resolve(child))
        })
}
