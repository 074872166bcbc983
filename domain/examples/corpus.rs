//! Runs the case tests that authors wrote for their own packages: `DIR/cases.json`, `{schemas, cases}`.
//!
//! `cargo run -p domain --example corpus -- DIR`. Each case names a settings and a values schema, a document and the verdict, as
//! it is and after defaults. Prints each case that differs; exit code 1 if one does, 2 if the folder cannot be read.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use domain::settings::defaults::apply_defaults;
use domain::settings::limits::Limits;
use domain::settings::package::{Compiled, PackageSchemas};
use domain::settings::validate::message;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Corpus {
    schemas: BTreeMap<String, Value>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    module: String,
    kind: String,
    valid: bool,
    document: Value,
    settings: Option<String>,
    values: Option<String>,
    valid_after_defaults: Option<bool>,
    error_contains: Option<String>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

const LIMITS: Limits = Limits::DEFAULT;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: corpus DIR");
        return ExitCode::from(2);
    };
    match run(Path::new(&folder)) {
        Ok(failed) => ExitCode::from(u8::from(failed > 0)),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let text = std::fs::read_to_string(folder.join("cases.json"))?;
    let corpus: Corpus = serde_json::from_str(&text)?;
    let mut failed = 0;
    for (position, case) in corpus.cases.iter().enumerate() {
        if let Err(problem) = check(case, &corpus.schemas) {
            failed += 1;
            println!(
                "FAILED {position} {} ({})\n  {problem}\n",
                case.module, case.kind
            );
        }
    }
    println!("{} passed, {failed} failed", corpus.cases.len() - failed);
    Ok(failed)
}

fn check(case: &Case, schemas: &BTreeMap<String, Value>) -> Result<(), Box<dyn Error>> {
    let written = |id: &Option<String>| {
        id.as_ref()
            .and_then(|id| schemas.get(id))
            .cloned()
            .unwrap_or_default()
    };
    let package =
        PackageSchemas::from_documents(&written(&case.settings), &written(&case.values), &LIMITS)?;
    let schema = match case.kind.as_str() {
        "configValues" => package.settings,
        "values" => package.values,
        "helmValues" => package.values.as_ref().map(Compiled::strict),
        other => return Err(format!("no runner knows the kind {other}").into()),
    };
    let Some(schema) = schema else {
        return Ok(());
    };
    verdict(case, &schema, &case.document, case.valid, "as it is")?;
    let mut defaulted = case.document.clone();
    apply_defaults(
        &mut defaulted,
        &schema.schema,
        LIMITS.settings_bytes,
        &LIMITS,
    )?;
    let expected = case.valid_after_defaults.unwrap_or(case.valid);
    verdict(case, &schema, &defaulted, expected, "after defaults")
}

fn verdict(
    case: &Case,
    schema: &Compiled,
    document: &Value,
    expected: bool,
    when: &str,
) -> Result<(), Box<dyn Error>> {
    let violations = schema.conform(document, None, &LIMITS);
    let messages: Vec<String> = violations
        .iter()
        .map(|violation| message(&case.module, violation))
        .collect();
    let text = messages.join("\n  ");
    if violations.is_empty() != expected {
        return Err(format!(
            "{when}: expected valid: {expected}, got {}\n  {text}",
            violations.is_empty()
        )
        .into());
    }
    let named = |part: &String| {
        without_indices(&text).contains(part.as_str())
            || violations
                .iter()
                .any(|violation| is_parent(&without_indices(violation.path.as_str()), part))
    };
    match &case.error_contains {
        Some(part) if !expected && !named(part) => {
            Err(format!("{when}: expected an error with {part:?}, got\n  {text}").into())
        }
        _ => Ok(()),
    }
}

/// The authors' texts name no list positions.
fn without_indices(text: &str) -> String {
    text.split('[')
        .enumerate()
        .map(|(position, part)| match part.split_once(']') {
            Some((index, rest))
                if position > 0 && index.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                rest.to_owned()
            }
            _ if position > 0 => format!("[{part}"),
            _ => part.to_owned(),
        })
        .collect()
}

/// The authors' library goes on below a value of a wrong type; here that value itself is named.
fn is_parent(path: &str, named: &str) -> bool {
    named
        .strip_prefix(path)
        .is_some_and(|rest| !path.is_empty() && rest.starts_with('.'))
}
