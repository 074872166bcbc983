//! Findings as kubectl would print them, or as JSON for programs.
//!
//! Decides words, places (mistakes to standard error, results to standard output) and the exit code. It judges nothing.

use std::fmt::Write as _;
use std::io;

use serde::Serialize;
use webhook::{Cause, field_error, for_terminal};

use super::judge::{Checked, Finding};
use crate::cli::OutputFormat;
use crate::commands::manifests::Input;
use crate::commands::{DONE, FAILED, UNREADABLE, print};

/// What a call says.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Objects of ours.
    checked: usize,
    /// Those that would be refused.
    invalid: usize,
    /// Objects of other kinds.
    skipped: usize,
    objects: Vec<Object>,
    unreadable: Vec<Unreadable>,
}

#[derive(Debug, Serialize)]
struct Object {
    file: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    name: String,
    valid: bool,
    causes: Vec<Cause>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Unreadable {
    file: String,
    message: String,
}

impl Report {
    pub(super) fn of(input: &Input, checked: Checked) -> Self {
        let objects: Vec<Object> = checked.findings.into_iter().map(Object::of).collect();
        Self {
            checked: objects.len(),
            invalid: objects.iter().filter(|object| !object.valid).count(),
            skipped: checked.skipped,
            objects,
            unreadable: input
                .unread
                .iter()
                .map(|(file, why)| Unreadable {
                    file: file.clone(),
                    message: why.to_string(),
                })
                .collect(),
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match (self.unreadable.is_empty(), self.invalid) {
            (false, _) => UNREADABLE,
            (true, 0) => DONE,
            (true, _) => FAILED,
        }
    }

    pub(super) fn show(&self, format: OutputFormat) -> io::Result<()> {
        match format {
            OutputFormat::Json => {
                let json = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
                print(&format!("{json}\n"))
            }
            OutputFormat::Text => {
                eprint!("{}", self.mistakes());
                print(&self.summary())
            }
        }
    }

    fn mistakes(&self) -> String {
        let mut text = String::new();
        for unreadable in &self.unreadable {
            let _ = writeln!(text, "{}: {}", unreadable.file, unreadable.message);
        }
        for object in &self.objects {
            for warning in &object.warnings {
                let _ = writeln!(
                    text,
                    "{}: Warning: {} {:?}: {warning}",
                    object.file, object.kind, object.name
                );
            }
            if object.valid {
                continue;
            }
            let _ = write!(
                text,
                "{}: The {} {:?} is invalid:",
                object.file, object.kind, object.name
            );
            let lone = object.causes.len() == 1;
            for cause in &object.causes {
                let mark = if lone { " " } else { "\n* " };
                let _ = write!(text, "{mark}{}: {}", cause.field, cause.message);
            }
            text.push('\n');
        }
        text
    }

    fn summary(&self) -> String {
        let mut text = format!("{} checked, {} invalid", self.checked, self.invalid);
        if self.skipped > 0 {
            let _ = write!(text, ", {} of other kinds skipped", self.skipped);
        }
        if !self.unreadable.is_empty() {
            let _ = write!(text, ", {} unreadable", self.unreadable.len());
        }
        text.push('\n');
        text
    }
}

impl Object {
    fn of(finding: Finding) -> Self {
        Self {
            file: finding.file,
            kind: finding.kind,
            namespace: for_terminal(&finding.namespace),
            name: for_terminal(&finding.name),
            valid: finding.violations.is_empty(),
            causes: finding.violations.iter().map(field_error).collect(),
            warnings: finding
                .warnings
                .iter()
                .map(|text| for_terminal(text))
                .collect(),
        }
    }
}
