//! Rule `bilingual`: each schema has a Russian translation beside it, and each translation its schema (section 11).

use std::collections::BTreeMap;

use super::{FOLDER, Findings, Level, Rule, TESTS, TRANSLATION};

/// The values schema needs no translation.
const EXEMPT: &str = "values.yaml";

pub(super) fn check(schemas: &BTreeMap<&str, &[u8]>, findings: &mut Findings) {
    for path in schemas.keys() {
        let name = path.trim_start_matches(FOLDER);
        let (other, text) = match name.strip_prefix(TRANSLATION) {
            Some(schema) => (
                format!("{FOLDER}{schema}"),
                format!(
                    "translates {schema}, which does not exist: remove it, or correct its name"
                ),
            ),
            None if name == EXEMPT || name.ends_with(TESTS) => continue,
            None => (
                format!("{FOLDER}{TRANSLATION}{name}"),
                format!("has no translation: add {TRANSLATION}{name} beside it"),
            ),
        };
        if !schemas.contains_key(other.as_str()) {
            findings.add(Rule::Bilingual, Level::Error, path, "", text);
        }
    }
}
