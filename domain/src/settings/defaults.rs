//! Schema defaults (section 4.1): what is absent and has a default is set, and what was set is completed in turn.
//!
//! Only `properties` and single-schema `items` are walked. `null` is present, a root default and `default: null` are none.
//! Defaults of recursive definitions could go on for ever, so what they add is bounded (S20).

use serde_json::Value;

use super::document::size_within;
use super::limits::Limits;
use super::schema::Schema;
use super::schema::node::Node;

/// Why defaults could not be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefaultsError {
    /// What defaults add is over the bound.
    #[error(
        "defaults add more than {most} bytes: make the settings smaller, or the schema's defaults"
    )]
    TooLarge {
        /// The bound, in bytes.
        most: usize,
    },
    /// Defaults or the document nest deeper than [`Limits::settings_depth`].
    #[error("with defaults applied, maps and lists nest deeper than {most} levels")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// Over [`Limits::steps`].
    #[error("the document has too many objects with too many defaults")]
    TooExpensive,
}

/// Completes a document. `most_added` bounds the bytes that defaults may add.
///
/// # Errors
/// A bound was exceeded; the document is then of no use.
pub fn apply_defaults(
    document: &mut Value,
    schema: &Schema,
    most_added: usize,
    limits: &Limits,
) -> Result<(), DefaultsError> {
    let mut walk = Walk {
        schema,
        most_added,
        left: most_added,
        steps: limits.steps,
        most_depth: limits.settings_depth,
    };
    walk.complete(document, schema.root(), 0)
}

struct Walk<'s> {
    schema: &'s Schema,
    most_added: usize,
    left: usize,
    steps: usize,
    most_depth: usize,
}

impl Walk<'_> {
    fn complete(
        &mut self,
        value: &mut Value,
        node: &Node,
        depth: usize,
    ) -> Result<(), DefaultsError> {
        let node = self.schema.resolve(node);
        match value {
            Value::Object(object) => {
                let properties = node.properties();
                self.enter(depth, properties.len())?;
                for (key, property) in properties {
                    if let Some(present) = object.get_mut(key) {
                        self.complete(present, property, depth + 1)?;
                    } else if let Some(default) = self.schema.resolve(property).usable_default() {
                        self.charge(default)?;
                        let mut added = default.clone();
                        self.complete(&mut added, property, depth + 1)?;
                        object.insert(key.clone(), added);
                    }
                }
            }
            Value::Array(list) => {
                if let Some(items) = node.every_item() {
                    self.enter(depth, list.len())?;
                    for value in list {
                        self.complete(value, items, depth + 1)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn enter(&mut self, depth: usize, steps: usize) -> Result<(), DefaultsError> {
        if depth >= self.most_depth {
            return Err(DefaultsError::TooDeep {
                most: self.most_depth,
            });
        }
        self.steps = self
            .steps
            .checked_sub(steps)
            .ok_or(DefaultsError::TooExpensive)?;
        Ok(())
    }

    fn charge(&mut self, default: &Value) -> Result<(), DefaultsError> {
        let too_large = DefaultsError::TooLarge {
            most: self.most_added,
        };
        let bytes = size_within(default, self.left).ok_or(too_large)?;
        self.left = self.left.checked_sub(bytes).ok_or(too_large)?;
        Ok(())
    }
}
