//! Regular expressions of schemas: RE2's syntax and meaning on a linear-time engine (section 5.2).
//!
//! A pattern is compiled once per document and shared. One that does not compile is kept as broken: validation fails the
//! value, publication refuses the schema. `re2` translates; this file bounds what compiling may cost (S20).

use std::collections::HashMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::re2;
use crate::settings::limits::Limits;

/// Why a pattern is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The text is over [`Limits::pattern_bytes`].
    #[error("the pattern has {found} bytes, the limit is {most}")]
    TooLong {
        /// Bytes of the pattern.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// The text is no RE2 expression.
    #[error("the pattern is no RE2 expression: {0}")]
    Syntax(String),
    /// Compiled, it is over [`Limits::pattern_compiled_bytes`].
    #[error("the compiled pattern is over {most} bytes: make its counted repetitions smaller")]
    TooBig {
        /// The limit.
        most: usize,
    },
    /// All patterns of the document are over [`Limits::patterns_compiled_bytes`].
    #[error(
        "the compiled patterns of the schema are over {most} bytes together: use fewer or smaller ones"
    )]
    TooMuch {
        /// The limit.
        most: usize,
    },
}

impl PatternError {
    /// True if a limit was exceeded, which refuses a schema at load; bad syntax only fails the values (section 5.2).
    #[must_use]
    pub const fn is_limit(&self) -> bool {
        !matches!(self, Self::Syntax(_))
    }
}

/// A compiled pattern; a clone shares the compiled form.
#[derive(Clone, Debug)]
pub struct Pattern(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    source: Box<str>,
    regex: Result<Regex, PatternError>,
}

impl Pattern {
    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// Why it does not compile, if it does not.
    #[must_use]
    pub fn broken(&self) -> Option<&PatternError> {
        self.0.regex.as_ref().err()
    }

    /// True if the pattern matches somewhere in the text; a broken pattern matches nothing.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0
            .regex
            .as_ref()
            .is_ok_and(|regex| regex.is_match(text))
    }
}

/// The patterns of one document: each text is compiled once, within one budget.
#[derive(Debug)]
pub struct Patterns {
    known: HashMap<Box<str>, Pattern>,
    charged: usize,
    limits: Limits,
}

/// What most patterns fit into; a bigger one is charged [`Limits::pattern_compiled_bytes`].
const SMALL: usize = 64 * 1024;
/// The search cache that one thread may keep for one pattern.
const CACHE: usize = 128 * 1024;
/// Groups in groups; RE2 allows more, and no schema needs them.
const NEST: u32 = 100;

impl Patterns {
    /// None yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            known: HashMap::new(),
            charged: 0,
            limits: *limits,
        }
    }

    /// The compiled form of a text, from before if it was seen.
    pub fn compile(&mut self, source: &str) -> Pattern {
        if let Some(known) = self.known.get(source) {
            return known.clone();
        }
        let pattern = Pattern(Arc::new(Compiled {
            source: source.into(),
            regex: self.build(source),
        }));
        self.known.insert(source.into(), pattern.clone());
        pattern
    }

    fn build(&mut self, source: &str) -> Result<Regex, PatternError> {
        if source.len() > self.limits.pattern_bytes {
            return Err(PatternError::TooLong {
                found: source.len(),
                most: self.limits.pattern_bytes,
            });
        }
        let translated =
            re2::translate(source).map_err(|error| PatternError::Syntax(error.to_string()))?;
        let most = self.limits.pattern_compiled_bytes;
        match self.build_within(&translated, SMALL.min(most)) {
            Err(PatternError::TooBig { .. }) if most > SMALL => {
                self.build_within(&translated, most)
            }
            built => built,
        }
    }

    fn build_within(&mut self, translated: &str, most: usize) -> Result<Regex, PatternError> {
        self.charged = self.charged.saturating_add(most);
        if self.charged > self.limits.patterns_compiled_bytes {
            return Err(PatternError::TooMuch {
                most: self.limits.patterns_compiled_bytes,
            });
        }
        RegexBuilder::new(translated)
            .size_limit(most)
            .dfa_size_limit(CACHE)
            .nest_limit(NEST)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(most) => PatternError::TooBig { most },
                other => PatternError::Syntax(last_line(&other.to_string())),
            })
    }
}

/// The engine's message draws the pattern over several lines; the last one says what is wrong.
fn last_line(text: &str) -> String {
    text.lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .to_owned()
}
