//! `allOf`, `anyOf`, `oneOf`, `not` (section 5.2).
//!
//! A failure is one violation at the object's own path. It says how many alternatives matched and what is missing for the
//! closest one, because a person cannot act on "found none valid".

use serde_json::Value;

use super::Validator;
use super::report::{All, Finding, Report};
use crate::settings::document::Path;
use crate::settings::schema::node::{Branches, Node};
use crate::violation::Kind;

/// Reasons that one failure quotes.
const REASONS: usize = 3;

impl Validator<'_> {
    pub(super) fn check_branches<R: Report>(
        &mut self,
        branches: &Branches,
        value: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        self.check_all_of(&branches.all_of, value, path, report);
        if !branches.any_of.is_empty()
            && !branches
                .any_of
                .iter()
                .any(|branch| self.satisfies(branch, value, path))
        {
            report.add(path, Kind::Invalid, || {
                let reason = self.closest(&branches.any_of, value, path);
                format!("must validate at least one schema (anyOf){reason}")
            });
        }
        self.check_one_of(&branches.one_of, value, path, report);
        if let Some(not) = &branches.not
            && self.satisfies(not, value, path)
        {
            report.add(path, Kind::Invalid, || {
                "must not validate the schema (not)".to_owned()
            });
        }
    }

    fn check_all_of<R: Report>(
        &mut self,
        branches: &[Node],
        value: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        let failed: Vec<&Node> = branches
            .iter()
            .filter(|branch| !self.satisfies(branch, value, path))
            .collect();
        if let Some(first) = failed.first() {
            report.add(path, Kind::Invalid, || {
                let matched = branches.len() - failed.len();
                let reason = self.closest(std::slice::from_ref(*first), value, path);
                format!(
                    "must validate all the schemas (allOf). Found {matched} of {} valid{reason}",
                    branches.len()
                )
            });
        }
    }

    fn check_one_of<R: Report>(
        &mut self,
        branches: &[Node],
        value: &Value,
        path: &Path<'_>,
        report: &mut R,
    ) {
        if branches.is_empty() {
            return;
        }
        let matched = branches
            .iter()
            .filter(|branch| self.satisfies(branch, value, path))
            .count();
        if matched == 1 {
            return;
        }
        report.add(path, Kind::Invalid, || {
            if matched > 1 {
                return format!("must validate one and only one schema (oneOf). Found {matched} valid alternatives");
            }
            let reason = self.closest(branches, value, path);
            format!("must validate one and only one schema (oneOf). Found none valid{reason}")
        });
    }

    /// What the branch with the fewest violations lacks.
    fn closest(&mut self, branches: &[Node], value: &Value, path: &Path<'_>) -> String {
        let mut closest: Option<Vec<Finding>> = None;
        for branch in branches {
            let mut report = All::new(REASONS);
            self.check(branch, value, path, &mut report);
            let fewer = closest
                .as_ref()
                .is_none_or(|kept| report.kept().len() < kept.len());
            if fewer && !report.kept().is_empty() {
                closest = Some(report.kept().to_vec());
            }
        }
        let reasons: Vec<String> = closest
            .unwrap_or_default()
            .iter()
            .map(|Finding { violation, .. }| {
                format!("{} {}", violation.path, violation.text)
                    .trim_start()
                    .to_owned()
            })
            .collect();
        if reasons.is_empty() {
            String::new()
        } else {
            format!(": {}", reasons.join(", "))
        }
    }
}
