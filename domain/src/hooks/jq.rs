//! jq filters of Kubernetes bindings and of `JQPatch`: compiled, and applied to one object.
//!
//! A filter is a function of its object: what would read something else (`env`, `$ENV`, `input`, `import`, `now` …) does not
//! exist here and is refused by its name. A filter may run for ever and compiling it recurses: the caller gives a thread with a
//! stack, a deadline and a bound of memory.

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::Val;
use serde_json::Value;

use super::limits::HookLimits;

/// What a filter may not name, because it would read or write something else than its object.
const FORBIDDEN: [&str; 17] = [
    "env",
    "$ENV",
    "input",
    "inputs",
    "input_filename",
    "input_line_number",
    "import",
    "include",
    "now",
    "localtime",
    "strflocaltime",
    "debug",
    "debug_empty",
    "stderr",
    "stderr_empty",
    "halt",
    "halt_error",
];

/// Why a filter is refused, or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JqError {
    /// Over [`HookLimits::jq_bytes`].
    #[error("the jq filter has {found} bytes, the limit is {most}")]
    TooLong {
        /// Its bytes.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// It names what a filter may not.
    #[error(
        "the jq filter uses `{name}`, which a filter may not: it sees its object and nothing else"
    )]
    Forbidden {
        /// The name.
        name: String,
    },
    /// It is not jq.
    #[error("the jq filter does not compile: {0}")]
    Syntax(String),
    /// The object cannot be read.
    #[error("the object is not readable to jq: {0}")]
    Object(String),
    /// It failed on this object.
    #[error("the jq filter failed: {0}")]
    Runtime(String),
    /// Its outputs together are too large.
    #[error("the jq filter gives more than {most} bytes")]
    TooMuch {
        /// The limit.
        most: usize,
    },
    /// An output that JSON cannot say.
    #[error("the jq filter gives a value that is not JSON")]
    NotJson,
}

type Filter = jaq_core::Filter<data::JustLut<Val>>;

/// A compiled filter.
pub struct Jq {
    filter: Filter,
}

impl std::fmt::Debug for Jq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jq").finish_non_exhaustive()
    }
}

impl Jq {
    /// Compiles a filter.
    ///
    /// # Errors
    /// It is too long, is not jq, or names what it may not.
    pub fn compile(text: &str, limits: &HookLimits) -> Result<Self, JqError> {
        if text.len() > limits.jq_bytes {
            return Err(JqError::TooLong {
                found: text.len(),
                most: limits.jq_bytes,
            });
        }
        let is_known = |name: &str| !FORBIDDEN.contains(&name);
        let definitions = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs())
            .filter(|definition| is_known(definition.name));
        let functions = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs())
            .filter(|(name, _, _)| is_known(name));
        let arena = Arena::default();
        let program = File {
            code: text,
            path: (),
        };
        let modules = Loader::new(definitions)
            .load(&arena, program)
            .map_err(|errors| unreadable(&errors))?;
        // A data file is only read when the filter runs, but naming one is refused here.
        jaq_core::load::import(&modules, |_| Err(String::new()))
            .map_err(|errors| unreadable(&errors))?;
        let filter = Compiler::default()
            .with_funs(functions)
            .compile(modules)
            .map_err(|errors| undefined(&errors))?;
        Ok(Self { filter })
    }

    /// Applies it: no output is `null`, one is itself, several are a list.
    ///
    /// # Errors
    /// It fails on this object, or gives too much, or what is no JSON.
    pub fn apply(&self, object: &Value, limits: &HookLimits) -> Result<Value, JqError> {
        let input = jaq_json::read::parse_single(object.to_string().as_bytes())
            .map_err(|error| JqError::Object(error.to_string()))?;
        let context = Ctx::<data::JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        let mut outputs = Vec::new();
        let mut size = 0_usize;
        for output in self.filter.id.run((context, input)).map(unwrap_valr) {
            let output = output.map_err(|error| JqError::Runtime(short(&error.to_string())))?;
            let text = output.to_string();
            size = size.saturating_add(text.len());
            if size > limits.output_bytes {
                return Err(JqError::TooMuch {
                    most: limits.output_bytes,
                });
            }
            outputs.push(serde_json::from_str(&text).map_err(|_| JqError::NotJson)?);
        }
        Ok(match outputs.len() {
            0 => Value::Null,
            1 => outputs.pop().unwrap_or_default(),
            _ => Value::Array(outputs),
        })
    }
}

fn unreadable(errors: &jaq_core::load::Errors<&str, ()>) -> JqError {
    use jaq_core::load::Error;
    let said = errors.iter().find_map(|(_, error)| match error {
        Error::Io(_) => Some(JqError::Forbidden {
            name: "import".to_owned(),
        }),
        Error::Lex(errors) => errors.first().map(|(expected, found)| {
            JqError::Syntax(format!("{} before {:?}", expected.as_str(), short(found)))
        }),
        Error::Parse(errors) => errors.first().map(|(expected, found)| {
            JqError::Syntax(format!(
                "{} expected before {:?}",
                expected.as_str(),
                short(found)
            ))
        }),
    });
    said.unwrap_or_else(|| JqError::Syntax("not jq".to_owned()))
}

fn undefined(errors: &jaq_core::compile::Errors<&str, ()>) -> JqError {
    let first = errors.iter().flat_map(|(_, errors)| errors).next();
    let Some((name, kind)) = first else {
        return JqError::Syntax("not jq".to_owned());
    };
    if FORBIDDEN.contains(name) {
        return JqError::Forbidden {
            name: (*name).to_owned(),
        };
    }
    JqError::Syntax(format!("{} {:?} is not known", kind.as_str(), short(name)))
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}
