//! `tenantry package verify DIR`: what is wrong or doubtful in a package's files.
//!
//! Decides how findings are shown, and the exit code. What a finding is, is the domain's.

use std::fmt::Write as _;
use std::io;

use domain::packages::files::Scope;
use domain::settings::limits::Limits;
use domain::settings::verify::{Finding, Level, passes, verify as findings_of};
use serde::Serialize;
use webhook::for_terminal;

use super::input;
use crate::cli::{OutputFormat, VerifyOptions};
use crate::commands::{DONE, FAILED, UNREADABLE, print};

/// What a call says.
#[derive(Debug, Serialize)]
struct Report {
    errors: usize,
    warnings: usize,
    findings: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    level: &'static str,
    rule: &'static str,
    file: String,
    /// Steps joined with dots; empty if the file as a whole is meant.
    pointer: String,
    message: String,
}

/// Verifies and reports; gives the exit code.
pub(super) fn verify(options: &VerifyOptions) -> u8 {
    let files = match input::package(&options.package, Scope::Verification) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("tenantry: {error}");
            return UNREADABLE;
        }
    };
    let findings = findings_of(files.by_path(), &Limits::DEFAULT);
    if let Err(error) = Report::of(&findings).show(options.output) {
        eprintln!("tenantry: standard output cannot be written to: {error}");
        return UNREADABLE;
    }
    if passes(&findings) { DONE } else { FAILED }
}

impl Report {
    fn of(findings: &[Finding]) -> Self {
        let count = |level| findings.iter().filter(|found| found.level == level).count();
        Self {
            errors: count(Level::Error),
            warnings: count(Level::Warning),
            findings: findings.iter().map(Shown::of).collect(),
        }
    }

    /// Findings are the result that was asked for: they go to standard output in both forms.
    fn show(&self, format: OutputFormat) -> io::Result<()> {
        match format {
            OutputFormat::Json => {
                let json = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
                print(&format!("{json}\n"))
            }
            OutputFormat::Text => print(&self.text()),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for found in &self.findings {
            let place = if found.pointer.is_empty() {
                String::new()
            } else {
                format!(" {}", found.pointer)
            };
            let _ = writeln!(
                text,
                "{}: {}{place}: {} ({})",
                found.level, found.file, found.message, found.rule
            );
        }
        let _ = writeln!(
            text,
            "{}, {}",
            counted(self.errors, "error"),
            counted(self.warnings, "warning")
        );
        text
    }
}

impl Shown {
    fn of(finding: &Finding) -> Self {
        Self {
            level: finding.level.as_str(),
            rule: finding.rule.as_str(),
            file: for_terminal(&finding.path),
            pointer: for_terminal(&finding.pointer),
            message: for_terminal(&finding.text),
        }
    }
}

fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
