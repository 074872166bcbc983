//! Steps 3 to 10 of section 8 for one decoded request.
//!
//! The effective settings are built once, with the schema of the version asked for (S5), and each step reads them.

use std::cell::Cell;

use serde_json::Value;

use super::{
    Answer, Application, Applied, Bundle, Facts, NAME_MAX, Outcome, Pending, VersionFacts,
};
use crate::settings::document::equal;
use crate::settings::effective::{EffectiveError, as_given, effective};
use crate::settings::immutable;
use crate::settings::limits::Limits;
use crate::settings::package::PackageSchemas;
use crate::settings::rules::cost::Budget;
use crate::settings::switch::{ACKNOWLEDGEMENT, confirmations, unacknowledged};
use crate::violation::{FieldPath, Kind, Verdict, Violation};

/// What was missing when the check of an installed version could not be asked.
const CHECK_LATER: &str = "the package's settings check will run when the settings are applied";

/// One request in work.
pub(super) struct Review<'a> {
    new: &'a Application<'a>,
    old: Option<&'a Application<'a>>,
    facts: &'a Facts<'a>,
    limits: &'a Limits,
    /// Whether rules cost more than the limits allow.
    over_budget: &'a Cell<bool>,
    /// The schemas of the version asked for, if there is such a version and it publishes any.
    schemas: Option<&'a PackageSchemas>,
    /// `spec.settings`, completed.
    effective: Value,
}

impl<'a> Review<'a> {
    /// Steps 3 and 4, and the settings that all others look at.
    pub(super) fn new(
        new: &'a Application<'a>,
        old: Option<&'a Application<'a>>,
        facts: &'a Facts<'a>,
        (limits, over_budget): (&'a Limits, &'a Cell<bool>),
    ) -> Result<Self, Answer> {
        if new.name.len() > NAME_MAX {
            let text = format!(
                "has {} bytes, an Application's name has at most {NAME_MAX}: choose a shorter one",
                new.name.len()
            );
            return Err(Answer::refused_one("metadata.name", Kind::TooLong, text));
        }
        if !facts.package_exists {
            let text = format!(
                "there is no ApplicationPackage {:?}: choose one of `kubectl get applicationpackages`",
                new.package
            );
            return Err(Answer::refused_one("spec.packageName", Kind::Invalid, text));
        }
        let applied = old.map_or(Applied::Nothing, |old| old.applied);
        if applied == Applied::Unreadable {
            let text = "is no map of settings, so the change cannot be compared with what is applied: repair the status";
            return Err(Answer::refused_one(
                "status.lastAppliedConfiguration",
                Kind::Invalid,
                text,
            ));
        }
        let mut review = Self {
            new,
            old,
            facts,
            limits,
            over_budget,
            schemas: None,
            effective: Value::Null,
        };
        review.schemas = match facts.version.map(|version| version.schemas) {
            Some(Ok(schemas)) => Some(schemas),
            Some(Err(problem)) => {
                let text = format!("the published settings schema cannot be used: {problem}");
                return Err(review.about(vec![Violation::new(
                    "spec.packageVersion",
                    Kind::Invalid,
                    text,
                )]));
            }
            None => None,
        };
        review.effective = review.effective().map_err(|error| {
            let kind = match error {
                EffectiveError::NotAnObject | EffectiveError::NoSchema => Kind::Invalid,
                _ => Kind::TooLong,
            };
            review.about(vec![Violation::new(
                "spec.settings",
                kind,
                error.to_string(),
            )])
        })?;
        Ok(review)
    }

    /// Without a published schema there is nothing to complete.
    fn effective(&self) -> Result<Value, EffectiveError> {
        match self
            .schemas
            .and_then(|schemas| Some((schemas, schemas.settings.as_ref()?)))
        {
            None => as_given(self.new.settings, self.limits),
            Some((schemas, settings)) => effective(
                self.new.settings,
                &settings.schema,
                &schemas.grants,
                self.facts.catalogs,
                self.applied(),
                self.limits,
            ),
        }
    }

    fn applied(&self) -> Option<&'a Value> {
        self.old.and_then(|old| old.applied.settings())
    }

    /// A version is installed, as the stored object says.
    fn installed(&self) -> Option<&'a str> {
        self.old.and_then(|old| old.installed)
    }

    /// A refusal of steps 6 to 9.
    fn about(&self, violations: Vec<Violation>) -> Answer {
        let new = self.new;
        Answer {
            verdict: Verdict::refused(violations),
            about: Some(format!(
                "Application {}/{} (package {}, version {})",
                new.namespace, new.name, new.package, new.version
            )),
            ..Answer::default()
        }
    }

    pub(super) fn judge(self) -> Outcome {
        let violations = self.installed_check();
        if !violations.is_empty() {
            return Outcome::Done(Answer::refused(violations));
        }
        let mut rest = self.later_steps();
        if !self.wants_hook() {
            return Outcome::Done(rest);
        }
        match self.facts.bundle {
            Bundle::WithCheck => Outcome::AskHook(Pending {
                settings: self.effective,
                rest,
            }),
            Bundle::WithoutCheck => Outcome::Done(rest),
            Bundle::NotLoaded => {
                // What is refused is never applied.
                if rest.verdict.is_allowed() {
                    rest.verdict.warnings.push(CHECK_LATER.to_owned());
                }
                Outcome::Done(rest)
            }
        }
    }

    /// Step 5 without the package's own check: rules with what is applied as their old value (S6), and grants.
    fn installed_check(&self) -> Vec<Violation> {
        let (Some(_), Some(schemas)) = (self.installed(), self.schemas) else {
            return Vec::new();
        };
        let mut violations = self.check_settings(schemas, self.applied());
        violations.extend(
            schemas.grants.errors.iter().map(|error| {
                Violation::new("spec.packageVersion", Kind::Invalid, error.to_string())
            }),
        );
        violations.extend(
            schemas
                .grants
                .validate(self.new.settings, self.facts.catalogs)
                .into_iter()
                .map(in_settings),
        );
        violations
    }

    fn check_settings(&self, schemas: &PackageSchemas, old: Option<&Value>) -> Vec<Violation> {
        let Some(settings) = &schemas.settings else {
            return Vec::new();
        };
        let mut budget = Budget::of(self.limits.rule_units);
        let found = settings.conform_within(&self.effective, old, &mut budget, self.limits);
        self.over_budget.set(budget.is_exhausted());
        found.into_iter().map(in_settings).collect()
    }

    /// The check of the installed version runs only if that version stays and the settings change (S5).
    fn wants_hook(&self) -> bool {
        let unchanged = self
            .applied()
            .is_some_and(|applied| equal(applied, &self.effective));
        self.installed() == Some(self.new.version) && !unchanged
    }

    /// Steps 6 to 10.
    fn later_steps(&self) -> Answer {
        let version = match self.version() {
            Ok(version) => version,
            Err(violation) => return self.about(vec![violation]),
        };
        // Step 7. An installed application's settings were checked in step 5, by the same schema and more rules.
        if let (None, Some(schemas)) = (self.installed(), self.schemas) {
            let violations = self.check_settings(schemas, None);
            if !violations.is_empty() {
                return self.about(violations);
            }
        }
        let frozen = self.frozen();
        if !frozen.is_empty() {
            return self.about(frozen);
        }
        if !version.requirements.is_allowed() {
            return self.about(version.requirements.violations.clone());
        }
        self.switches(version.requirements.warnings.clone())
    }

    /// Step 6.
    fn version(&self) -> Result<VersionFacts<'a>, Violation> {
        let id = self.new.version_id(self.facts.default_repository);
        let name = id.object_name();
        let problem = match self.facts.version {
            None => "does not exist: choose a version that is published",
            Some(version) if version.draft => {
                "is a draft, its metadata is not loaded yet: try again, or choose another version"
            }
            Some(version) => return Ok(version),
        };
        let text = format!("ApplicationPackageVersion {name} {problem}");
        Err(Violation::new("spec.packageVersion", Kind::Invalid, text))
    }

    /// Step 8.
    fn frozen(&self) -> Vec<Violation> {
        let schema = self.schemas.and_then(|schemas| schemas.settings.as_ref());
        let (Some(settings), Some(applied)) = (schema, self.applied()) else {
            return Vec::new();
        };
        immutable::check(&settings.schema, applied, &self.effective, self.limits)
            .into_iter()
            .map(in_settings)
            .collect()
    }

    /// A destructive switch warns where it is not acknowledged in this request, or is refused if the server says so (S8, S19).
    fn switches(&self, mut warnings: Vec<String>) -> Answer {
        let schema = self.schemas.and_then(|schemas| schemas.settings.as_ref());
        let (Some(settings), Some(applied), Some(old)) = (schema, self.applied(), self.old) else {
            return Answer {
                verdict: Verdict {
                    violations: Vec::new(),
                    warnings,
                },
                about: None,
                ..Answer::default()
            };
        };
        let found = confirmations(&settings.schema, applied, &self.effective);
        let missing = unacknowledged(&found, self.new.acknowledgement, old.acknowledgement);
        if self.facts.enforce_destructive_switch && !missing.is_empty() {
            let violations = missing.iter().map(|confirmation| {
                let text = format!(
                    "{} To go on, add {:?} to the annotation {ACKNOWLEDGEMENT}",
                    confirmation.text(),
                    confirmation.entry()
                );
                in_settings(Violation::new(
                    confirmation.place().as_str(),
                    Kind::Forbidden,
                    text,
                ))
            });
            return self.about(violations.collect());
        }
        warnings.extend(missing.iter().map(|confirmation| {
            format!(
                "spec.settings.{}: {}",
                confirmation.entry(),
                confirmation.text()
            )
        }));
        Answer {
            verdict: Verdict {
                violations: Vec::new(),
                warnings,
            },
            about: None,
            ..Answer::default()
        }
    }
}

/// A violation of the settings, as a path into the Application.
fn in_settings(mut violation: Violation) -> Violation {
    let path = violation.path.as_str();
    let dot = if path.is_empty() || path.starts_with('[') {
        ""
    } else {
        "."
    };
    violation.path = FieldPath::new(format!("spec.settings{dot}{path}"));
    violation
}
