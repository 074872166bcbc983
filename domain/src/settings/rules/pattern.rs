//! A regular expression of `matches`: compiled once, when it is first needed, with a bound on what it may become (S24).
//!
//! The engine is linear in text and expression, so their product bounds the time. This file evaluates no rule.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use cel_interpreter::common::types::Type;
use cel_interpreter::common::value::{StaticVal, Val};
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::settings::schema::re2;

/// Bytes of one expression as written.
pub const PATTERN_BYTES: usize = 1024;
/// States of one expression's automaton.
pub const STATES: u64 = 4_000;
/// Bytes of one compiled expression.
const COMPILED_BYTES: usize = 512 * 1024;
/// Groups in groups.
const NEST: u32 = 50;
/// Bytes of the search cache that one thread may fill.
const CACHE: usize = 128 * 1024;

/// Why an expression of `matches` is of no use; an evaluation error of the rule (section 5.3).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulePatternError {
    /// Over [`PATTERN_BYTES`].
    #[error("the regular expression has {found} bytes, the limit is {PATTERN_BYTES}")]
    TooLong {
        /// Bytes found.
        found: usize,
    },
    /// No RE2 expression.
    #[error("the regular expression is not valid: {0}")]
    Syntax(String),
    /// Over what it may take when compiled.
    #[error(
        "the compiled regular expression is over {COMPILED_BYTES} bytes: make its counted repetitions smaller"
    )]
    TooBig,
}

/// A regular expression of a rule; a clone shares what was compiled.
#[derive(Clone, Debug)]
pub struct RulePattern(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Box<str>,
    read: Result<Read, RulePatternError>,
    compiled: OnceLock<Result<Regex, RulePatternError>>,
}

/// What is known of an expression before it is compiled.
#[derive(Debug)]
struct Read {
    translated: Box<str>,
    states: u64,
}

impl RulePattern {
    /// Reads the expression without compiling it.
    #[must_use]
    pub fn new(source: &str) -> Self {
        Self(Arc::new(Inner {
            source: source.into(),
            read: read(source),
            compiled: OnceLock::new(),
        }))
    }

    /// As written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// True if the expression matches somewhere in the text.
    ///
    /// # Errors
    /// The expression is none, or too big.
    pub fn is_match(&self, text: &str) -> Result<bool, RulePatternError> {
        let read = self.0.read.as_ref().map_err(Clone::clone)?;
        let compiled = self.0.compiled.get_or_init(|| compile(&read.translated));
        compiled
            .as_ref()
            .map(|regex| regex.is_match(text))
            .map_err(Clone::clone)
    }

    /// How many states the engine may have to follow for each byte of a text, at least one.
    ///
    /// # Errors
    /// The expression is none, or too big.
    pub fn states(&self) -> Result<u64, RulePatternError> {
        self.0
            .read
            .as_ref()
            .map(|read| read.states)
            .map_err(Clone::clone)
    }
}

fn read(source: &str) -> Result<Read, RulePatternError> {
    if source.len() > PATTERN_BYTES {
        return Err(RulePatternError::TooLong {
            found: source.len(),
        });
    }
    let syntax =
        |error: &dyn std::fmt::Display| RulePatternError::Syntax(last_line(&error.to_string()));
    let translated = re2::translate(source).map_err(|error| syntax(&error))?;
    let tree = regex_syntax::ParserBuilder::new()
        .nest_limit(NEST)
        .build()
        .parse(&translated)
        .map_err(|error| syntax(&error))?;
    let states = states(&tree).max(1);
    if states > STATES {
        return Err(RulePatternError::TooBig);
    }
    Ok(Read {
        translated: translated.into(),
        states,
    })
}

fn compile(translated: &str) -> Result<Regex, RulePatternError> {
    RegexBuilder::new(translated)
        .size_limit(COMPILED_BYTES)
        .dfa_size_limit(CACHE)
        .nest_limit(NEST)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => RulePatternError::TooBig,
            other => RulePatternError::Syntax(last_line(&other.to_string())),
        })
}

/// States of the automaton, in the order of magnitude: counted repetitions are copies of what they repeat.
fn states(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) if !class.is_ascii() => {
            class.ranges().len() as u64 + 4
        }
        HirKind::Class(_) | HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min).max(1);
            states(&repetition.sub)
                .saturating_mul(u64::from(copies))
                .saturating_add(1)
        }
        HirKind::Capture(capture) => states(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .fold(1, |sum, part| states(part).saturating_add(sum)),
    }
}

/// The engine's message draws the expression over several lines; the last one says what is wrong.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

/// The type of a compiled expression, which no rule can name.
pub const PATTERN_TYPE: Type = Type::new_unspecified_type("pattern");

impl Val for RulePattern {
    fn get_type(&self) -> &Type {
        <Self as Val>::cel_type()
    }

    fn cel_type() -> &'static Type {
        static PATTERN: Type = PATTERN_TYPE;
        &PATTERN
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for RulePattern {}
