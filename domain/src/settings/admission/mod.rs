//! The validating webhook for Applications: the steps of section 8 as functions over facts.
//!
//! [`review`] answers from the request and from caches. Where a package's own check has to be asked it returns what to ask, and
//! [`Pending::finish`] ends the review with the answer. Nothing here runs a process, and nothing is skipped because only
//! metadata changed; a dry run is like any other.

mod application;
mod steps;

use std::cell::Cell;

use serde_json::Value;

pub use application::{Application, Applied};

use super::grants::Catalogs;
use super::limits::Limits;
use super::package::PackageSchemas;
use crate::violation::{Kind, Verdict, Violation};

/// The longest name of an Application, in bytes: objects are named `d8a-<instance>-<suffix>`.
pub const NAME_MAX: usize = 24;

/// What is asked for, with the objects as they were sent.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// A new Application.
    Create(&'a Value),
    /// A change; without the stored object it is refused.
    Update {
        /// The stored object.
        old: Option<&'a Value>,
        /// The wanted one.
        new: &'a Value,
    },
    /// A deletion, which is never refused.
    Delete,
}

/// What the caches hold for one Application.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The repository that an empty `packageRepositoryName` means.
    pub default_repository: &'a str,
    /// An `ApplicationPackage` of that name exists.
    pub package_exists: bool,
    /// The `ApplicationPackageVersion` whose spec names the package, repository and version asked for (S27).
    pub version: Option<VersionFacts<'a>>,
    /// What the project was granted, of the Application's namespace.
    pub catalogs: &'a Catalogs,
    /// The bundle of the installed version on this replica.
    pub bundle: Bundle,
    /// `--enforce-destructive-switch` (S8).
    pub enforce_destructive_switch: bool,
}

/// What is known of a package version.
#[derive(Clone, Copy, Debug)]
pub struct VersionFacts<'a> {
    /// Its metadata has not been loaded.
    pub draft: bool,
    /// The published schemas, compiled, or why they cannot be.
    pub schemas: Result<&'a PackageSchemas, &'a str>,
    /// What its requirements say of this cluster (S23); it depends on nothing in the request, so it may be kept.
    pub requirements: &'a Verdict,
}

/// Whether this replica can ask the package's own check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bundle {
    /// The bundle is not loaded here; nothing is loaded during a request.
    NotLoaded,
    /// Loaded, and the package has no check.
    WithoutCheck,
    /// Loaded, and the package has a check.
    WithCheck,
}

/// How far a review came.
#[derive(Clone, Debug)]
#[must_use]
pub enum Outcome {
    /// Judged.
    Done(Answer),
    /// The package's check must be asked.
    AskHook(Pending),
}

/// The answer to a review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    /// Allowed or refused, and warnings.
    pub verdict: Verdict,
    /// What the refusal is about, for steps 6 to 9: namespace and name, package and version.
    pub about: Option<String>,
    /// It is refused because the rules may cost more than [`Limits::rule_units`]: who asked with less than the default may ask again
    /// where more time can be spent.
    pub over_budget: bool,
}

/// A review that waits for the package's check.
#[derive(Clone, Debug)]
#[must_use]
pub struct Pending {
    /// The effective settings, for the check.
    pub settings: Value,
    /// What the other steps say, once the check has allowed.
    rest: Answer,
}

/// What a package's check answered (section 9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAnswer {
    /// False refuses.
    pub valid: bool,
    /// Why.
    pub message: String,
    /// Shown to the client.
    pub warnings: Vec<String>,
}

impl Answer {
    fn refused(violations: Vec<Violation>) -> Self {
        Self {
            verdict: Verdict::refused(violations),
            ..Self::default()
        }
    }

    fn refused_one(path: &str, kind: Kind, text: impl Into<String>) -> Self {
        Self::refused(vec![Violation::new(path, kind, text)])
    }

    /// The refusal as one text: what it is about, then every violation with its path.
    #[must_use]
    pub fn message(&self) -> String {
        let listed: Vec<String> = self
            .verdict
            .violations
            .iter()
            .map(ToString::to_string)
            .collect();
        let about = self
            .about
            .as_ref()
            .map(|about| format!("{about}: "))
            .unwrap_or_default();
        format!("{about}{}", listed.join("; "))
    }
}

impl Pending {
    /// Ends the review. An answer that could not be had (the check failed, timed out, said nothing readable) refuses with its text.
    pub fn finish(self, answer: Result<HookAnswer, String>) -> Answer {
        match answer {
            Err(failure) => {
                let text = format!("the package's settings check failed: {failure}");
                Answer::refused_one("spec.settings", Kind::Invalid, text)
            }
            Ok(HookAnswer {
                valid: false,
                message,
                ..
            }) => {
                let text = if message.is_empty() {
                    "the package's settings check refuses these settings".to_owned()
                } else {
                    message
                };
                Answer::refused_one("spec.settings", Kind::Invalid, text)
            }
            Ok(HookAnswer { warnings, .. }) => {
                let mut rest = self.rest;
                rest.verdict.warnings.splice(0..0, warnings);
                rest
            }
        }
    }
}

/// Judges a request, in the order of section 8.
pub fn review(request: Request<'_>, facts: &Facts<'_>, limits: &Limits) -> Outcome {
    let (old, new) = match request {
        Request::Delete => return Outcome::Done(Answer::default()),
        Request::Create(new) => (None, new),
        Request::Update { old: None, .. } => {
            let text = "the stored object was not sent, so the change cannot be judged: try again";
            return Outcome::Done(Answer::refused_one("metadata", Kind::Required, text));
        }
        Request::Update {
            old: Some(old),
            new,
        } => (Some(old), new),
    };
    let read =
        |object| Application::read(object).map_err(|violation| Answer::refused(vec![violation]));
    let (new, old) = match (read(new), old.map(read).transpose()) {
        (Ok(new), Ok(old)) => (new, old),
        (Err(refused), _) | (_, Err(refused)) => return Outcome::Done(refused),
    };
    if new.deleting {
        return Outcome::Done(Answer::default());
    }
    let over_budget = Cell::new(false);
    match steps::Review::new(&new, old.as_ref(), facts, (limits, &over_budget)) {
        Ok(review) => match review.judge() {
            Outcome::Done(answer) => Outcome::Done(Answer {
                over_budget: over_budget.get(),
                ..answer
            }),
            asked @ Outcome::AskHook(_) => asked,
        },
        Err(refused) => Outcome::Done(refused),
    }
}
