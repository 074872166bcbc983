//! What is published of a schema: the file as written, with the keywords of section 3.5 and nothing else.
//!
//! References, `x-extend` and open objects stay as written; those who read the copy link and close it. What could not be used
//! later (a value of a wrong type, a broken pattern, endless defaults, a size over S20) refuses publication.

use serde_json::Value;

use super::extensions::{ShapeError, published};
use super::{DecodeError, Node, ReferenceError, Schema, decode, encode, refs};
use crate::settings::defaults::{DefaultsError, apply_defaults};
use crate::settings::document::size_within;
use crate::settings::limits::Limits;
use crate::settings::rules::set::{BrokenRule, Rules, TooManyRules};

/// Why a schema is not published (`MetadataLoaded=False/InvalidSchema`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// It is no schema.
    #[error(transparent)]
    Decode(DecodeError),
    /// A reference leads nowhere.
    #[error(transparent)]
    Reference(ReferenceError),
    /// An extension has a value of a wrong type.
    #[error(transparent)]
    Extension(ShapeError),
    /// A pattern does not compile.
    #[error("{pointer} {problem}")]
    Pattern {
        /// Where it stands.
        pointer: String,
        /// Why it does not compile.
        problem: super::pattern::PatternError,
    },
    /// There are too many rules.
    #[error(transparent)]
    TooManyRules(TooManyRules),
    /// A rule can never be evaluated.
    #[error("{0}")]
    Rule(BrokenRule),
    /// Defaults go on for ever, or add too much.
    #[error("the schema's defaults cannot be applied to empty settings: {0}")]
    Defaults(DefaultsError),
    /// The published schema is over [`Limits::published_bytes`].
    #[error("the published schema has more than {most} bytes: shorten descriptions and examples")]
    TooLarge {
        /// The limit.
        most: usize,
    },
}

/// The copy of a schema file for `status.packageSchemas`.
///
/// # Errors
/// The schema cannot be used, or is over a limit.
pub fn publish(document: &Value, limits: &Limits) -> Result<Value, PublishError> {
    let node = decode::decode(document, limits).map_err(PublishError::Decode)?;
    check_node(&node, "")?;
    let open = refs::link(node.clone(), limits).map_err(PublishError::Reference)?;
    check_use(&Schema::close(open), limits)?;
    let written = encode::encode(&node, &|key, value| published(key, value).ok().flatten());
    if size_within(&written, limits.published_bytes).is_none() {
        return Err(PublishError::TooLarge {
            most: limits.published_bytes,
        });
    }
    Ok(written)
}

fn check_node(node: &Node, pointer: &str) -> Result<(), PublishError> {
    for (key, value) in &node.extensions.0 {
        published(key, value).map_err(|problem| PublishError::Extension(problem.at(pointer)))?;
    }
    let own = node
        .text
        .iter()
        .filter_map(|text| text.pattern.as_ref())
        .map(|pattern| (pattern, "pattern"));
    let keys = node
        .patterns()
        .map(|(pattern, _)| (pattern, "patternProperties"));
    for (pattern, keyword) in own.chain(keys) {
        if let Some(problem) = pattern.broken() {
            return Err(PublishError::Pattern {
                pointer: super::join(pointer, keyword),
                problem: problem.clone(),
            });
        }
    }
    let mut outcome = Ok(());
    node.each_placed_child(&mut |steps, child| {
        if outcome.is_ok() {
            outcome = check_node(child, &super::join(pointer, steps));
        }
    });
    outcome
}

/// What only shows once the schema is put together: rules and defaults.
fn check_use(schema: &Schema, limits: &Limits) -> Result<(), PublishError> {
    let rules = Rules::collect(schema, &limits.rules).map_err(PublishError::TooManyRules)?;
    if let Some(broken) = rules.broken(schema).into_iter().next() {
        return Err(PublishError::Rule(broken));
    }
    let mut settings = Value::Object(serde_json::Map::new());
    apply_defaults(&mut settings, schema, limits.settings_bytes, limits)
        .map_err(PublishError::Defaults)
}
