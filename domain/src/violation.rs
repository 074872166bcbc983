//! How a refusal looks: which field, what kind of mistake, what is wrong and what to do.
//!
//! Every rule of both halves reports through [`Violation`]; all of them are collected, never only the first. This file
//! decides no rule.

use std::fmt;

/// A path into an object as kubectl shows it, such as `spec.endpoint.host` or `spec.extensions[2]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(String);

impl FieldPath {
    /// A path from the object's root, already in dotted form.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// The same path with one more field.
    #[must_use]
    pub fn child(&self, field: &str) -> Self {
        Self(format!("{}.{field}", self.0))
    }

    /// The same path with a list index.
    #[must_use]
    pub fn index(&self, position: usize) -> Self {
        Self(format!("{}[{position}]", self.0))
    }

    /// The dotted form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for FieldPath {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

/// What kind of mistake a violation is; the webhook turns it into the cause's `reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A value that must be there is missing or empty.
    Required,
    /// A value that is not of the legal form.
    Invalid,
    /// A value outside a closed list.
    Unsupported,
    /// A value that may not change any more.
    Immutable,
    /// A value that is well formed but not allowed here.
    Forbidden,
    /// A value that stands twice in a set.
    Duplicate,
    /// A value, list or sum of lengths over its limit.
    TooLong,
}

/// One refusal, for the person who wrote the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which field.
    pub path: FieldPath,
    /// What kind of mistake.
    pub kind: Kind,
    /// What is wrong and what to do, in one sentence; never a secret.
    pub text: String,
}

impl Violation {
    /// A violation at a path.
    #[must_use]
    pub fn new(path: impl Into<FieldPath>, kind: Kind, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            kind,
            text: text.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// One or more violations; there is no empty value of this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// `Err` with everything collected, or `Ok(value)` when nothing was.
    ///
    /// # Errors
    /// The collected violations, if there is one.
    pub fn or<T>(collected: Vec<Violation>, value: impl FnOnce() -> Option<T>) -> Result<T, Self> {
        if !collected.is_empty() {
            return Err(Self(collected));
        }
        value().ok_or_else(|| {
            Self(vec![Violation::new(
                "spec",
                Kind::Invalid,
                "the object could not be read",
            )])
        })
    }

    /// All of them, in the order of the fields.
    #[must_use]
    pub fn as_slice(&self) -> &[Violation] {
        &self.0
    }

    /// All of them, owned.
    #[must_use]
    pub fn into_vec(self) -> Vec<Violation> {
        self.0
    }
}

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, violation) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{violation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

/// What admission says of a change: allowed if there is no violation; warnings are shown either way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Verdict {
    /// Why the change is refused; empty means allowed.
    pub violations: Vec<Violation>,
    /// What the person should know though the change is allowed.
    pub warnings: Vec<String>,
}

impl Verdict {
    /// No violation, no warning.
    pub fn allowed() -> Self {
        Self::default()
    }

    /// Refused for these reasons.
    pub fn refused(violations: Vec<Violation>) -> Self {
        Self {
            violations,
            warnings: Vec::new(),
        }
    }

    /// True if nothing was violated.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.violations.is_empty()
    }
}
