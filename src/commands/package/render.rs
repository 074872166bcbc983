//! `tenantry package render-settings DIR`: what settings come to, before a cluster sees them.
//!
//! Decides how it is shown, and the exit code. What settings come to is the domain's.

use std::fmt::Write as _;
use std::io;

use domain::packages::configure::{Configured, Wanted, configure, values_of};
use domain::packages::documents::{Documents, usable};
use domain::packages::files::Scope;
use domain::settings::grants::Catalogs;
use domain::settings::limits::Limits;
use domain::settings::switch::{ACKNOWLEDGEMENT, Confirmation, Impact, unacknowledged};
use serde::Serialize;
use serde_json::Value;
use webhook::{Cause, field_error, for_terminal};

use super::input::{self, InputError, Settings};
use crate::cli::{OutputFormat, RenderOptions};
use crate::commands::{DONE, FAILED, UNREADABLE, print};

/// What a call says.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    accepted: bool,
    /// Why nothing could be judged: the package is wrong, or the settings cannot be completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    effective_settings: Value,
    values: Value,
    violations: Vec<Cause>,
    confirmations: Vec<Shown>,
    warnings: Vec<String>,
}

/// A confirmation, and how it is given.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    confirmation: Confirmation,
    /// How the switch is written in the annotation.
    entry: String,
    /// Only destructive switches need one.
    acknowledged: bool,
}

/// What was read.
struct Given {
    documents: Documents,
    settings: Settings,
    applied: Option<Value>,
    catalogs: Catalogs,
}

/// Renders and reports; gives the exit code.
pub(super) fn render(options: &RenderOptions) -> u8 {
    let report = match read(options) {
        Ok(Ok(given)) => judged(&given),
        Ok(Err(wrong)) => Report::refused(wrong),
        Err(error) => {
            eprintln!("tenantry: {error}");
            return UNREADABLE;
        }
    };
    if let Err(error) = report.show(options.output) {
        eprintln!("tenantry: standard output cannot be written to: {error}");
        return UNREADABLE;
    }
    if report.accepted { DONE } else { FAILED }
}

/// A package that can be read and not used is no unreadable input: its author is told.
fn read(options: &RenderOptions) -> Result<Result<Given, String>, InputError> {
    let files = input::package(&options.package, Scope::Publication)?;
    let settings = input::settings(&options.settings)?;
    let applied = options.previous.as_deref().map(input::applied);
    let catalogs = options.grants.as_deref().map(input::catalogs);
    let (applied, catalogs) = (applied.transpose()?.flatten(), catalogs.transpose()?);
    Ok(Documents::read(&files, &Limits::DEFAULT)
        .map_err(|error| error.to_string())
        .map(|documents| Given {
            documents,
            settings,
            applied,
            catalogs: catalogs.unwrap_or_default(),
        }))
}

fn judged(given: &Given) -> Report {
    let limits = &Limits::DEFAULT;
    let schemas = match usable(&given.documents, limits) {
        Ok(schemas) => schemas,
        Err(error) => return Report::refused(error.to_string()),
    };
    let wanted = Wanted {
        settings: &given.settings.settings,
        applied: given.applied.as_ref(),
        catalogs: &given.catalogs,
    };
    let configured = match configure(&schemas, wanted, limits) {
        Ok(configured) => configured,
        Err(error) => return Report::refused(error.to_string()),
    };
    let mut report = match values_of(&schemas, &configured.settings, limits) {
        Ok((values, told)) => Report {
            values,
            // Of settings that are refused it would say the same once more.
            warnings: told
                .into_iter()
                .filter(|_| configured.violations.is_empty())
                .map(|violation| format!("a hook that changes values would fail: {violation}"))
                .collect(),
            ..Report::default()
        },
        Err(error) => return Report::refused(error.to_string()),
    };
    report.take(configured, given.settings.acknowledgement.as_deref());
    report
}

impl Report {
    fn refused(error: String) -> Self {
        Self {
            error: Some(error),
            ..Self::default()
        }
    }

    fn take(&mut self, configured: Configured, acknowledgement: Option<&str>) {
        self.accepted = configured.violations.is_empty();
        self.effective_settings = configured.settings;
        self.violations = configured.violations.iter().map(field_error).collect();
        let missing = unacknowledged(&configured.confirmations, acknowledgement, None);
        self.confirmations = configured
            .confirmations
            .iter()
            .map(|confirmation| Shown {
                entry: confirmation.entry(),
                acknowledged: !missing.contains(&confirmation),
                confirmation: confirmation.clone(),
            })
            .collect();
    }

    fn show(&self, format: OutputFormat) -> io::Result<()> {
        match format {
            OutputFormat::Json => {
                let json = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
                print(&format!("{json}\n"))
            }
            OutputFormat::Text => {
                eprint!("{}", self.mistakes());
                print(&self.results()?)
            }
        }
    }

    fn mistakes(&self) -> String {
        let mut text = String::new();
        if let Some(error) = &self.error {
            let _ = writeln!(text, "{}", for_terminal(error));
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "Warning: {}", for_terminal(warning));
        }
        for cause in &self.violations {
            let _ = writeln!(text, "{}: {}", cause.field, cause.message);
        }
        text
    }

    fn results(&self) -> io::Result<String> {
        let mut text = String::new();
        if self.error.is_none() {
            for (title, document) in [
                ("effective settings", &self.effective_settings),
                ("values", &self.values),
            ] {
                let _ = writeln!(text, "# {title}\n{}", yaml(document)?);
            }
            for shown in &self.confirmations {
                text.push_str(&shown.line());
            }
        }
        text.push_str(if self.accepted {
            "# accepted\n"
        } else {
            "# refused\n"
        });
        Ok(text)
    }
}

impl Shown {
    fn line(&self) -> String {
        let impact = match self.confirmation.impact {
            Impact::Info => "info",
            Impact::Warning => "warning",
            Impact::Destructive => "destructive",
        };
        let said = for_terminal(self.confirmation.text());
        let mut line = format!(
            "# to confirm, {impact}: {}: {said}\n",
            for_terminal(&self.entry)
        );
        if !self.acknowledged {
            let _ = writeln!(
                line,
                "#   acknowledge it with the annotation {ACKNOWLEDGEMENT}: {}",
                for_terminal(&self.entry)
            );
        }
        line
    }
}

/// YAML quotes what a terminal would obey.
fn yaml(document: &Value) -> io::Result<String> {
    serde_saphyr::to_string(document)
        .map(|text| text.trim_end().to_owned())
        .map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn h20_what_a_terminal_would_obey_is_quoted_in_yaml() {
        let text = yaml(&json!({"a\u{1b}[2J": "b\u{1b}[31m\u{7}"})).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text}");
        let back: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(back, json!({"a\u{1b}[2J": "b\u{1b}[31m\u{7}"}));
    }
}
