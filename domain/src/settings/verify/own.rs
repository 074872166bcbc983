//! What the upstream rules do not look for: duplicate keys (S13), schemas and rules that publication would refuse (sections 3.5,
//! 5.3), keys beside `$ref`, marks that mean nothing (S11), contradictory requirements (section 2).

use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

use super::document::Document;
use super::walk::{Place, each_node, join};
use super::{Findings, Level, Rule};
use crate::settings::limits::Limits;
use crate::settings::package::SETTINGS_FILES;
use crate::settings::requirements::Requirements;
use crate::settings::rules::check::Container;
use crate::settings::rules::compile::Rule as Expression;
use crate::settings::rules::limits::RuleLimits;
use crate::settings::schema::node::{IMMUTABLE, VALIDATIONS};
use crate::settings::schema::publish::{PublishError, publish};

/// A file that no other rule could read, and keys that stand twice in a map.
pub(super) fn check_text(document: &Document<'_>, findings: &mut Findings) {
    let Some(text) = document.text.filter(|_| document.content.is_ok()) else {
        if let Err(problem) = &document.content {
            findings.add(
                Rule::Schema,
                Level::Error,
                document.path,
                "",
                problem.to_string(),
            );
        }
        return;
    };
    // Everything else about the file was found to be fine.
    let options =
        serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::Error, with_snippet: false };
    if let Err(serde_saphyr::Error::DuplicateMappingKey { key, location }) =
        serde_saphyr::from_str_with_options::<Option<Value>>(text, options)
    {
        let text = format!(
            "line {}: the key {:?} stands twice in one map, and only the last one counts",
            location.line(),
            key.unwrap_or_default()
        );
        findings.add(Rule::DuplicateKey, Level::Error, document.path, "", text);
    }
}

/// What publication would refuse, and what it would keep without effect.
pub(super) fn check_schema(document: &Document<'_>, limits: &Limits, findings: &mut Findings) {
    let Ok(content) = &document.content else {
        return;
    };
    if content.is_null() {
        return;
    }
    match publish(content, limits) {
        // The rule `extensions` has said so, with more of them, and rules are looked at one by one below.
        Err(PublishError::Extension(_)) if document.path != SETTINGS_FILES[1] => {}
        Err(PublishError::Rule(_) | PublishError::TooManyRules(_)) | Ok(_) => {}
        Err(problem) => findings.add(
            Rule::Schema,
            Level::Error,
            document.path,
            "",
            problem.to_string(),
        ),
    }
    let mut count = 0;
    each_node(content, &mut |place, fields| {
        if let Some(rules) = fields.get(VALIDATIONS) {
            count += rules.as_array().map_or(0, Vec::len);
            check_rules(document.path, place, fields, rules, findings);
        }
        if fields.contains_key("$ref") {
            check_reference(document.path, place, fields, findings);
        }
        let mark = fields.get(IMMUTABLE);
        if document.path == SETTINGS_FILES[1] && mark.is_some_and(|mark| !mark.is_boolean()) {
            let text = "only `true` freezes a field; this value has no effect";
            findings.add(
                Rule::Marks,
                Level::Warning,
                document.path,
                join(place.pointer, IMMUTABLE),
                text,
            );
        }
    });
    if count > RuleLimits::DEFAULT.rules {
        let text = format!(
            "has {count} rules, the limit is {}: merge some",
            RuleLimits::DEFAULT.rules
        );
        findings.add(Rule::Rules, Level::Error, document.path, "", text);
    }
}

fn check_rules(
    path: &str,
    place: Place<'_>,
    node: &Map<String, Value>,
    rules: &Value,
    findings: &mut Findings,
) {
    let pointer = join(place.pointer, VALIDATIONS);
    if place.branch {
        let text =
            "rules in branches and `not` are never evaluated: move them to the object itself";
        findings.add(Rule::Rules, Level::Warning, path, pointer, text);
        return;
    }
    let names: Vec<&str> = match node.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    for (position, entry) in rules.as_array().into_iter().flatten().enumerate() {
        // A wrong shape is what the rule `extensions` reports.
        let Some(expression) = entry
            .get("expression")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
        else {
            continue;
        };
        let at = join(&pointer, &format!("{position}.expression"));
        let rule = Expression::new(expression, "", &RuleLimits::DEFAULT);
        if let Err(problem) = rule.check_any(&Container::allowed(&names)) {
            findings.add(Rule::Rules, Level::Error, path, at, problem.to_string());
            continue;
        }
        for pattern in rule.patterns() {
            if let Err(problem) = pattern.states() {
                findings.add(
                    Rule::Rules,
                    Level::Error,
                    path,
                    at.as_str(),
                    problem.to_string(),
                );
            }
        }
    }
}

fn check_reference(
    path: &str,
    place: Place<'_>,
    node: &Map<String, Value>,
    findings: &mut Findings,
) {
    let counts = |key: &str| key == "$ref" || key.starts_with("x-deckhouse-");
    let ignored: Vec<_> = node
        .keys()
        .filter(|key| !counts(key))
        .map(String::as_str)
        .collect();
    if !ignored.is_empty() {
        let text = format!("has no effect beside $ref: {}", ignored.join(", "));
        findings.add(Rule::Reference, Level::Warning, path, place.pointer, text);
    }
}

/// The requirements of `package.yaml`.
pub(super) fn check_package(document: &Document<'_>, findings: &mut Findings) {
    let Ok(content) = &document.content else {
        return;
    };
    let requirements = content.get("requirements").unwrap_or(&Value::Null);
    if let Err(problems) = Requirements::parse(requirements) {
        for problem in problems {
            let pointer = join("requirements", &problem.place);
            findings.add(
                Rule::Requirements,
                Level::Error,
                document.path,
                pointer,
                problem.to_string(),
            );
        }
    }
}
