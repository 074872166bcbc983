//! Keywords about objects (section 5.2).

use serde_json::{Map, Value};

use super::Validator;
use super::report::Report;
use crate::settings::document::Path;
use crate::settings::schema::node::{Additional, Dependency, Node, ObjectRules};
use crate::violation::Kind;

impl Validator<'_> {
    pub(super) fn check_object<R: Report>(
        &mut self,
        rules: &ObjectRules,
        object: &Map<String, Value>,
        whole: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        check_count(rules, object, path, report);
        self.check_required(rules, object, path, report);
        for (key, value) in object {
            if report.is_decided() {
                return;
            }
            self.check_entry(rules, key, value, &path.key(key), report);
        }
        for (key, dependency) in rules.dependencies.iter().flatten() {
            if object.contains_key(key) {
                self.check_dependency(dependency, object, whole, path, report);
            }
        }
    }

    /// A key whose schema has a default may be missing; a present key satisfies `required` whatever its value.
    fn check_required<R: Report>(
        &mut self,
        rules: &ObjectRules,
        object: &Map<String, Value>,
        path: &Path<'_>,
        report: &mut R,
    ) {
        if !self.charge(rules.required.len() / 8) {
            return;
        }
        for name in &rules.required {
            let defaulted = |node: &Node| self.schema.resolve(node).usable_default().is_some();
            let property = rules
                .properties
                .as_ref()
                .and_then(|properties| properties.get(name));
            if !object.contains_key(name) && !property.is_some_and(|node| defaulted(node)) {
                report.add(&path.key(name), Kind::Required, || "is required".to_owned());
            }
        }
    }

    fn check_entry<R: Report>(
        &mut self,
        rules: &ObjectRules,
        key: &str,
        value: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        let mut declared = false;
        if let Some(node) = rules
            .properties
            .as_ref()
            .and_then(|properties| properties.get(key))
        {
            declared = true;
            self.check_inside(node, value, path, report);
        }
        for (pattern, node) in rules.patterns.iter().flat_map(|patterns| patterns.values()) {
            if self.charge(1 + key.len() / 64) && pattern.is_match(key) {
                declared = true;
                self.check_inside(node, value, path, report);
            }
        }
        if declared {
            return;
        }
        match &rules.additional {
            Some(Additional::Forbidden) => {
                report.add(path, Kind::Forbidden, || {
                    "is a forbidden property".to_owned()
                });
            }
            Some(Additional::Schema(node)) => self.check_inside(node, value, path, report),
            Some(Additional::Allowed) | None => {}
        }
    }

    fn check_dependency<R: Report>(
        &mut self,
        dependency: &Dependency,
        object: &Map<String, Value>,
        whole: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        match dependency {
            Dependency::Keys(keys) => {
                for key in keys.iter().filter(|key| !object.contains_key(*key)) {
                    report.add(path, Kind::Required, || {
                        format!("has a dependency on {key}")
                    });
                }
            }
            Dependency::Schema(node) => self.check(node, whole, path, report),
        }
    }
}

fn check_count<R: Report>(
    rules: &ObjectRules,
    object: &Map<String, Value>,
    path: &Path<'_>,
    report: &mut R,
) {
    let count = u64::try_from(object.len()).unwrap_or(u64::MAX);
    if let Some(least) = rules.min_properties.filter(|least| count < *least) {
        report.add(path, Kind::Invalid, || {
            format!("should have at least {least} properties")
        });
    }
    if let Some(most) = rules.max_properties.filter(|most| count > *most) {
        report.add(path, Kind::TooLong, || {
            format!("should have at most {most} properties")
        });
    }
}
