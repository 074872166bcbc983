//! One rule of `x-deckhouse-validations`: from its text to something that can be evaluated again and again (section 5.3).
//!
//! The text is bounded ([`super::limits`]), parsed, checked ([`super::check`]) and rewritten ([`super::dialect`]). The parser is the
//! interpreter's faster one; a property test holds it against its slower one. A rule is immutable and cheap to clone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use cel_interpreter::parser::{Expression, ParseErrors, PrattParser};

use super::check::{CheckError, Container, check, mentions_old};
use super::dialect;
use super::limits::{RuleLimits, SourceError, check_source};
use super::pattern::RulePattern;

/// Why a rule is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// Too big, or not made of tokens.
    #[error(transparent)]
    Source(SourceError),
    /// Not the grammar of CEL.
    #[error("{0}")]
    Syntax(String),
    /// It can never work on values of these kinds.
    #[error(transparent)]
    Check(CheckError),
}

impl CompileError {
    /// True if the rule is refused for its size alone (S20).
    #[must_use]
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::Source(error) if error.is_limit())
    }
}

/// A parsed rule. Whether it compiles may depend on what kind of values `self` and `oldSelf` are: ask [`Rule::check`].
#[derive(Clone, Debug)]
pub struct Rule(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Box<str>,
    message: Box<str>,
    /// As parsed, until the answers for all kinds of values are known it is needed for checking.
    parsed: Expression,
    /// As evaluated.
    rewritten: Expression,
    patterns: Box<[RulePattern]>,
    transition: bool,
    /// Pairs of kinds for which the check has passed, one bit each.
    passed: AtomicU16,
}

impl Rule {
    /// Parses a rule.
    ///
    /// # Errors
    /// [`CompileError::Source`] and [`CompileError::Syntax`].
    pub fn parse(
        expression: &str,
        message: &str,
        limits: &RuleLimits,
    ) -> Result<Self, CompileError> {
        check_source(expression, limits).map_err(CompileError::Source)?;
        let parsed = PrattParser::default()
            .parse(expression)
            .map_err(|errors| CompileError::Syntax(first_line(&errors)))?;
        let mut rewritten = parsed.clone();
        let patterns = dialect::rewrite(&mut rewritten);
        Ok(Self(Arc::new(Inner {
            source: expression.into(),
            message: message.into(),
            transition: mentions_old(&parsed),
            parsed,
            rewritten,
            patterns: patterns.into(),
            passed: AtomicU16::new(0),
        })))
    }

    /// Whether the rule can work on values of these kinds; the answer is remembered when it can.
    ///
    /// # Errors
    /// [`CompileError::Check`].
    pub fn check(&self, own: Container, old: Container) -> Result<(), CompileError> {
        let bit = 1_u16 << (own as u16 * 3 + old as u16);
        // Relaxed: the bit only saves work, and nothing else is read on its strength.
        if self.0.passed.load(Ordering::Relaxed) & bit != 0 {
            return Ok(());
        }
        check(&self.0.parsed, own, old).map_err(CompileError::Check)?;
        self.0.passed.fetch_or(bit, Ordering::Relaxed);
        Ok(())
    }

    /// The expression as its author wrote it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// What is reported when the rule says false.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// True if the expression mentions `oldSelf`: without an old value the rule is skipped.
    #[must_use]
    pub fn is_transition(&self) -> bool {
        self.0.transition
    }

    /// The tree that is evaluated.
    pub(super) fn expression(&self) -> &Expression {
        &self.0.rewritten
    }

    /// The literal regular expressions of the rule.
    #[must_use]
    pub fn patterns(&self) -> &[RulePattern] {
        &self.0.patterns
    }
}

/// Where the first mistake is and what it is, without the parser's drawing of the source.
fn first_line(errors: &ParseErrors) -> String {
    errors.errors.first().map_or_else(
        || "the expression cannot be parsed".to_owned(),
        |error| {
            let text = error.msg.trim_start_matches("Syntax error: ");
            let (line, column) = error.pos;
            if line > 0 {
                format!("at {line}:{column}: {text}")
            } else {
                text.to_owned()
            }
        },
    )
}
