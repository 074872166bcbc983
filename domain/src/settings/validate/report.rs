//! Where violations go: all of them with texts, or only whether there is one.

use crate::settings::document::Path;
use crate::violation::{FieldPath, Kind, Violation};

/// A violation, and its place as a JSON pointer for those who look the field up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where in the document.
    pub pointer: String,
    /// What is wrong.
    pub violation: Violation,
}

/// Takes violations; texts are made only by those that keep them.
pub(super) trait Report {
    /// A violation at a path.
    fn add(&mut self, path: &Path<'_>, kind: Kind, text: impl FnOnce() -> String);
    /// True if nothing more can change the outcome.
    fn is_decided(&self) -> bool;
}

/// Keeps violations up to a bound.
pub(super) struct All {
    kept: Vec<Finding>,
    most: usize,
    full: bool,
}

impl All {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            full: false,
        }
    }

    pub(super) fn kept(&self) -> &[Finding] {
        &self.kept
    }

    /// The violations, with one at the root that says what was not looked at.
    pub(super) fn finish(mut self, exhausted: bool) -> Vec<Finding> {
        let at_root = |kind, text: String| Finding {
            pointer: String::new(),
            violation: Violation::new("", kind, text),
        };
        if exhausted {
            self.kept.push(at_root(
                Kind::TooLong,
                "is too expensive to check against its schema: make the settings smaller, or the schema's alternatives fewer"
                    .to_owned(),
            ));
        } else if self.full {
            let text = format!(
                "has more than {} violations, the rest is left out",
                self.most
            );
            self.kept.push(at_root(Kind::Invalid, text));
        }
        self.kept
    }
}

impl Report for All {
    fn add(&mut self, path: &Path<'_>, kind: Kind, text: impl FnOnce() -> String) {
        if self.kept.len() < self.most {
            self.kept.push(Finding {
                pointer: path.pointer(),
                violation: Violation::new(FieldPath::new(path.to_string()), kind, text()),
            });
        } else {
            self.full = true;
        }
    }

    fn is_decided(&self) -> bool {
        self.full
    }
}

/// Only whether there is a violation.
#[derive(Default)]
pub(super) struct First {
    pub(super) found: bool,
}

impl Report for First {
    fn add(&mut self, _: &Path<'_>, _: Kind, _: impl FnOnce() -> String) {
        self.found = true;
    }

    fn is_decided(&self) -> bool {
        self.found
    }
}

/// A violation as one line, `<root>.<path> in body <problem>` (section 5.2); `root` is the package's name.
#[must_use]
pub fn message(root: &str, violation: &Violation) -> String {
    let path = violation.path.as_str();
    let dot = if path.is_empty() || path.starts_with('[') {
        ""
    } else {
        "."
    };
    format!("{root}{dot}{path} in body {}", violation.text)
}
