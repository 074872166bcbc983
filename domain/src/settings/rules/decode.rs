//! `x-deckhouse-validations` of one node: a list of rules, or why it is none (section 5.3).
//!
//! What is wrong is kept and reported when the node is reached in a document. Nothing is compiled or evaluated here.

use serde_json::Value;

use super::compile::Rule;
use super::limits::RuleLimits;

/// The extension is not a list of rules: a configuration error of the package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a list.
    #[error("x-deckhouse-validations must be a list of rules")]
    NotAList,
    /// An entry that is no map, or an empty one.
    #[error("x-deckhouse-validations[{0}] must be a map with `expression` and `message`")]
    NotARule(usize),
    /// A field that is missing, empty or no text.
    #[error("x-deckhouse-validations[{position}].{field} must be a non-empty text")]
    Field {
        /// The entry.
        position: usize,
        /// The field.
        field: &'static str,
    },
}

/// Reads the extension's value; `messageExpression`, `fieldPath` and `reason` are accepted and ignored.
///
/// # Errors
/// [`ConfigError`], of the first thing that is wrong.
pub fn decode(extension: &Value, limits: &RuleLimits) -> Result<Box<[Rule]>, ConfigError> {
    let list = extension.as_array().ok_or(ConfigError::NotAList)?;
    list.iter()
        .enumerate()
        .map(|(position, entry)| {
            let fields = entry.as_object().filter(|fields| !fields.is_empty());
            let fields = fields.ok_or(ConfigError::NotARule(position))?;
            let text = |field: &'static str| {
                let text = fields.get(field).and_then(Value::as_str);
                text.filter(|text| !text.is_empty())
                    .ok_or(ConfigError::Field { position, field })
            };
            let (expression, message) = (text("expression")?, text("message")?);
            Ok(Rule::new(expression, message, limits))
        })
        .collect()
}
