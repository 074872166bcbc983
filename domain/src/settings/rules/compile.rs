//! One rule of `x-deckhouse-validations`: from its text to something that can be evaluated again and again (section 5.3).
//!
//! The text is bounded ([`super::limits`]), parsed, checked ([`super::check`]) and rewritten ([`super::dialect`]). The parser is the
//! interpreter's faster one; a property test holds it against its slower one. A rule is immutable and cheap to clone.

use std::sync::{Arc, OnceLock};

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

/// A rule: its text, and what was made of it when it was first needed.
///
/// Most package versions that are loaded are never asked, so a rule that is not used takes no more room than its text.
#[derive(Clone, Debug)]
pub struct Rule(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Box<str>,
    message: Box<str>,
    limits: RuleLimits,
    compiled: OnceLock<Result<Compiled, CompileError>>,
}

#[derive(Debug)]
struct Compiled {
    /// As evaluated.
    expression: Expression,
    patterns: Box<[RulePattern]>,
    transition: bool,
    /// The pairs of kinds of `self` and `oldSelf` that the rule can work on, one bit each.
    works: u16,
}

const KINDS: [Container; 3] = [Container::Object, Container::Array, Container::Other];

const fn bit(own: Container, old: Container) -> u16 {
    1 << (own as u16 * 3 + old as u16)
}

impl Rule {
    /// A rule that is compiled when it is first needed.
    #[must_use]
    pub fn new(expression: &str, message: &str, limits: &RuleLimits) -> Self {
        Self(Arc::new(Inner {
            source: expression.into(),
            message: message.into(),
            limits: *limits,
            compiled: OnceLock::new(),
        }))
    }

    /// A rule that is compiled now.
    ///
    /// # Errors
    /// [`CompileError::Source`] and [`CompileError::Syntax`].
    pub fn parse(
        expression: &str,
        message: &str,
        limits: &RuleLimits,
    ) -> Result<Self, CompileError> {
        let rule = Self::new(expression, message, limits);
        rule.compiled()?;
        Ok(rule)
    }

    fn compiled(&self) -> Result<&Compiled, CompileError> {
        let compiled = self
            .0
            .compiled
            .get_or_init(|| compile(&self.0.source, &self.0.limits));
        compiled.as_ref().map_err(Clone::clone)
    }

    /// Whether the rule was needed already.
    pub(super) fn is_compiled(&self) -> bool {
        self.0.compiled.get().is_some()
    }

    /// Whether the rule is one, and can work on values of these kinds.
    ///
    /// # Errors
    /// [`CompileError`].
    pub fn check(&self, own: Container, old: Container) -> Result<(), CompileError> {
        if self.compiled()?.works & bit(own, old) != 0 {
            return Ok(());
        }
        // Only the answers were kept; the reason is found again.
        check(&parse(&self.0.source, &self.0.limits)?, own, old).map_err(CompileError::Check)
    }

    /// Whether the rule is one, and can work on values of at least one of these kinds, old values being of the same kind.
    ///
    /// # Errors
    /// [`CompileError`], of the first kind.
    pub fn check_any(&self, kinds: &[Container]) -> Result<(), CompileError> {
        let mut first = None;
        for kind in kinds {
            match self.check(*kind, *kind) {
                Ok(()) => return Ok(()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(()), Err)
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
        self.compiled().is_ok_and(|compiled| compiled.transition)
    }

    /// The literal regular expressions of the rule.
    #[must_use]
    pub fn patterns(&self) -> &[RulePattern] {
        self.compiled().map_or(&[], |compiled| &compiled.patterns)
    }

    /// The tree that is evaluated.
    ///
    /// # Errors
    /// The rule is none.
    pub(super) fn expression(&self) -> Result<&Expression, CompileError> {
        self.compiled().map(|compiled| &compiled.expression)
    }
}

fn parse(source: &str, limits: &RuleLimits) -> Result<Expression, CompileError> {
    check_source(source, limits).map_err(CompileError::Source)?;
    PrattParser::default()
        .parse(source)
        .map_err(|errors| CompileError::Syntax(first_line(&errors)))
}

fn compile(source: &str, limits: &RuleLimits) -> Result<Compiled, CompileError> {
    let mut expression = parse(source, limits)?;
    let transition = mentions_old(&expression);
    let mut works = 0;
    for own in KINDS {
        // Without `oldSelf` in the rule its kind makes no difference.
        let olds = if transition {
            &KINDS[..]
        } else {
            &[Container::Other]
        };
        for old in olds {
            if check(&expression, own, *old).is_ok() {
                works |= bit(own, *old);
            }
        }
        if !transition && works & bit(own, Container::Other) != 0 {
            works |= bit(own, Container::Object) | bit(own, Container::Array);
        }
    }
    let patterns = dialect::rewrite(&mut expression);
    Ok(Compiled {
        expression,
        patterns: patterns.into(),
        transition,
        works,
    })
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
