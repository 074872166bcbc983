//! From the steps of a run to the conditions that people see (section 1.1).
//!
//! A condition has a chain: the first false step of it supplies reason and message. Chains: install = all; update = from
//! `ReadyOnFilesystem`; settings view = from `Configured`; late = from `HooksProcessed`. `Scaled` ends no chain: whether workloads are
//! rolled out is a condition of its own.

use super::steps::{Reason, Standing, Step, Steps, Why};

const INSTALL: &[Step] = &[
    Step::RequirementsMet,
    Step::ReadyOnFilesystem,
    Step::Loaded,
    Step::Configured,
    Step::HooksProcessed,
    Step::ManifestsApplied,
];
const UPDATE: &[Step] = &[
    Step::ReadyOnFilesystem,
    Step::Loaded,
    Step::Configured,
    Step::HooksProcessed,
    Step::ManifestsApplied,
];
const SETTINGS: &[Step] = &[
    Step::Configured,
    Step::HooksProcessed,
    Step::ManifestsApplied,
];
const BUNDLE: &[Step] = &[Step::ReadyOnFilesystem, Step::Loaded];
const LATE: &[Step] = &[Step::HooksProcessed, Step::ManifestsApplied];

/// A condition's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// The first installation finished.
    Installed,
    /// A new version is in place.
    UpdateInstalled,
    /// The wanted settings, hooks and manifests are applied.
    ConfigurationApplied,
    /// Workloads are rolled out.
    Scaled,
    /// The controller keeps the instance in the wanted state.
    Managed,
    /// The instance can be used.
    Ready,
}

impl Type {
    /// As conditions have it; also the reason of one that is true.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "Installed",
            Self::UpdateInstalled => "UpdateInstalled",
            Self::ConfigurationApplied => "ConfigurationApplied",
            Self::Scaled => "Scaled",
            Self::Managed => "Managed",
            Self::Ready => "Ready",
        }
    }
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// True; its reason is its type, its message empty.
    True,
    /// False.
    False(Why),
    /// Unknown.
    Unknown(Why),
}

impl Says {
    /// The status on the wire.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False(_) => "False",
            Self::Unknown(_) => "Unknown",
        }
    }

    /// Why it is not true.
    #[must_use]
    pub const fn why(&self) -> Option<&Why> {
        match self {
            Self::True => None,
            Self::False(why) | Self::Unknown(why) => Some(why),
        }
    }
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub type_: Type,
    /// What it says.
    pub says: Says,
}

impl Condition {
    /// The reason on the wire.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.says
            .why()
            .map_or(self.type_.as_str(), |why| why.reason.as_str())
    }

    /// The message on the wire.
    #[must_use]
    pub fn message(&self) -> &str {
        self.says.why().map_or("", |why| &why.message)
    }
}

/// What is known of an Application beside the run's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // four facts, none of which follows from another
pub struct Past {
    /// `Installed` was true once.
    pub installed: bool,
    /// Another version than the first was asked for once: `UpdateInstalled` is reported from then on.
    pub updated: bool,
    /// The version asked for is not the one that is installed.
    pub version_changes: bool,
    /// It is being deleted.
    pub deleting: bool,
}

/// The conditions to report, in a fixed order.
#[must_use]
pub fn conditions(steps: &Steps, past: Past) -> Vec<Condition> {
    let mut reported = vec![Type::Installed];
    let installed = installed(steps, past);
    if past.installed || installed == Says::True {
        if past.updated || past.version_changes {
            reported.push(Type::UpdateInstalled);
        }
        reported.extend([
            Type::ConfigurationApplied,
            Type::Scaled,
            Type::Managed,
            Type::Ready,
        ]);
    }
    let says = |type_| {
        if past.deleting {
            return Says::False(Why::new(
                Reason::Deleting,
                "the Application is being deleted",
            ));
        }
        match type_ {
            Type::Installed => installed.clone(),
            Type::UpdateInstalled => update_installed(steps, past),
            Type::ConfigurationApplied => configuration_applied(steps),
            Type::Scaled => scaled(steps),
            Type::Managed | Type::Ready => kept(steps),
        }
    };
    reported
        .into_iter()
        .map(|type_| Condition {
            type_,
            says: says(type_),
        })
        .collect()
}

/// Sticky, except when a requirement is lost.
fn installed(steps: &Steps, past: Past) -> Says {
    if past.installed {
        return steps
            .first_false(&[Step::RequirementsMet])
            .map_or(Says::True, |lost| Says::False(lost.clone()));
    }
    along(steps, INSTALL, waiting)
}

/// Only a change of the version can make it false.
fn update_installed(steps: &Steps, past: Past) -> Says {
    if !past.version_changes {
        return Says::True;
    }
    along(steps, UPDATE, |steps| {
        if *steps.of(Step::HooksProcessed) == Standing::True {
            applying()
        } else {
            waiting(steps)
        }
    })
}

fn configuration_applied(steps: &Steps) -> Says {
    let before = steps
        .first_false(&[Step::RequirementsMet])
        .or_else(|| steps.first_false(BUNDLE));
    if let Some(why) = before {
        return Says::Unknown(why.clone());
    }
    if let Some(why) = steps.first_false(SETTINGS) {
        return Says::False(why.clone());
    }
    if steps.pending.is_none() && steps.are_done(SETTINGS) {
        Says::True
    } else {
        Says::False(applying())
    }
}

fn scaled(steps: &Steps) -> Says {
    match steps.of(Step::Scaled) {
        Standing::True => Says::True,
        Standing::False(why) => Says::False(why.clone()),
        Standing::Unknown => Says::Unknown(Why::new(
            Reason::Reconciling,
            "the workloads could not be observed yet",
        )),
    }
}

/// `Managed` and, after the first installation, `Ready`: what breaks them is the bundle, a hook or the release. Settings alone never
/// do, because what is in force stays in force.
fn kept(steps: &Steps) -> Says {
    if let Some(lost) = steps.first_false(&[Step::RequirementsMet]) {
        return Says::Unknown(lost.clone());
    }
    let failed = steps
        .first_false(BUNDLE)
        .or_else(|| steps.first_false(LATE))
        .filter(|why| !why.reason.is_progress());
    failed.map_or(Says::True, |why| Says::False(why.clone()))
}

/// True once the whole chain is done.
fn along(steps: &Steps, chain: &[Step], otherwise: impl Fn(&Steps) -> Why) -> Says {
    if let Some(what) = &steps.pending {
        return Says::False(Why::new(Reason::Pending, what.as_str()));
    }
    if let Some(why) = steps.first_false(chain) {
        return Says::False(why.clone());
    }
    if steps.are_done(chain) {
        Says::True
    } else {
        Says::False(otherwise(steps))
    }
}

fn waiting(_: &Steps) -> Why {
    Why::new(Reason::Pending, "the run has not come to its end yet")
}

fn applying() -> Why {
    Why::new(Reason::ApplyingManifests, "the manifests are being applied")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use super::*;

    const RUNNING: Past = Past {
        installed: true,
        updated: false,
        version_changes: false,
        deleting: false,
    };
    const UPDATING: Past = Past {
        version_changes: true,
        updated: true,
        ..RUNNING
    };

    fn failed(step: Step, reason: Reason) -> Steps {
        let all = Steps::default().done_until(Step::Scaled);
        all.with(step, Standing::False(Why::new(reason, "no")))
    }

    /// As a line: the conditions that are not true, with their reason.
    fn told(steps: &Steps, past: Past) -> String {
        let untrue = conditions(steps, past)
            .into_iter()
            .filter(|condition| condition.says != Says::True)
            .map(|condition| {
                format!(
                    "{}={}/{}",
                    condition.type_.as_str(),
                    condition.says.status(),
                    condition.reason()
                )
            });
        untrue.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn until_it_is_true_installed_is_the_only_condition_and_the_first_failed_step_is_its_reason() {
        for (step, reason) in [
            (Step::RequirementsMet, Reason::RequirementsUnmet),
            (Step::ReadyOnFilesystem, Reason::DownloadFailed),
            (Step::Loaded, Reason::LoadFromFilesystemFailed),
            (Step::Configured, Reason::SettingsInvalid),
            (Step::HooksProcessed, Reason::HookInitializationFailed),
            (Step::HooksProcessed, Reason::HookFailed),
            (Step::ManifestsApplied, Reason::ManifestsApplyFailed),
        ] {
            let steps = failed(step, reason);
            let found = conditions(&steps, Past::default());
            assert_eq!(found.len(), 1);
            let expected = format!("Installed=False/{}", reason.as_str());
            assert_eq!(told(&steps, Past::default()), expected);
        }
        assert_eq!(
            told(&Steps::default(), Past::default()),
            "Installed=False/Pending"
        );
        let both = failed(Step::Configured, Reason::SettingsInvalid).with(
            Step::ReadyOnFilesystem,
            Standing::False(Why::new(Reason::DownloadFailed, "no")),
        );
        assert_eq!(
            told(&both, Past::default()),
            "Installed=False/DownloadFailed"
        );
    }

    #[test]
    fn pending_wins_over_every_step() {
        let mut steps = failed(Step::Configured, Reason::SettingsInvalid);
        steps.pending = Some("two others are before it".to_owned());
        let found = conditions(&steps, Past::default());
        let installed = found.first().expect("there is one");
        assert_eq!(installed.reason(), "Pending");
        assert_eq!(installed.message(), "two others are before it");
    }

    #[test]
    fn a_true_condition_has_its_type_as_reason_and_no_message() {
        let steps = Steps::default().done_until(Step::Scaled);
        let found = conditions(&steps, Past::default());
        assert_eq!(found.len(), 5);
        for condition in found {
            assert_eq!(condition.says.status(), "True");
            assert_eq!(condition.reason(), condition.type_.as_str());
            assert_eq!(condition.message(), "");
        }
    }

    #[test]
    fn settings_refused_on_a_running_instance_break_configuration_applied_alone() {
        let steps = failed(Step::Configured, Reason::SettingsInvalid);
        assert_eq!(
            told(&steps, RUNNING),
            "ConfigurationApplied=False/SettingsInvalid"
        );
        assert_eq!(
            told(&steps, UPDATING),
            "UpdateInstalled=False/SettingsInvalid ConfigurationApplied=False/SettingsInvalid"
        );
    }

    #[test]
    fn installed_is_sticky_except_when_a_requirement_is_lost() {
        let steps = failed(Step::ManifestsApplied, Reason::ManifestsApplyFailed);
        assert_eq!(
            told(&steps, RUNNING),
            "ConfigurationApplied=False/ManifestsApplyFailed Managed=False/ManifestsApplyFailed Ready=False/ManifestsApplyFailed"
        );
        let lost = failed(Step::RequirementsMet, Reason::RequirementsUnmet);
        assert_eq!(
            told(&lost, RUNNING),
            "Installed=False/RequirementsUnmet ConfigurationApplied=Unknown/RequirementsUnmet \
             Managed=Unknown/RequirementsUnmet Ready=Unknown/RequirementsUnmet"
        );
    }

    #[test]
    fn update_installed_appears_with_the_first_version_change_and_ignores_requirements() {
        let steps = Steps::default().done_until(Step::Scaled);
        let has = |past| {
            let found = conditions(&steps, past);
            found
                .iter()
                .any(|condition| condition.type_ == Type::UpdateInstalled)
        };
        let after = Past {
            updated: true,
            ..RUNNING
        };
        assert!(!has(RUNNING) && has(UPDATING) && has(after));
        let lost = failed(Step::RequirementsMet, Reason::RequirementsUnmet);
        assert!(!told(&lost, UPDATING).contains("UpdateInstalled"));
        let download = failed(Step::ReadyOnFilesystem, Reason::DownloadFailed);
        assert_eq!(
            told(&download, UPDATING),
            "UpdateInstalled=False/DownloadFailed ConfigurationApplied=Unknown/DownloadFailed \
             Managed=False/DownloadFailed Ready=False/DownloadFailed"
        );
        let hooks = Steps::default().done_until(Step::HooksProcessed);
        assert!(told(&hooks, UPDATING).starts_with("UpdateInstalled=False/ApplyingManifests"));
    }

    #[test]
    fn workloads_that_are_not_rolled_out_break_scaled_alone() {
        for reason in [Reason::Reconciling, Reason::Degraded] {
            let expected = format!("Scaled=False/{}", reason.as_str());
            assert_eq!(told(&failed(Step::Scaled, reason), RUNNING), expected);
        }
        let unseen = Steps::default().done_until(Step::ManifestsApplied);
        assert_eq!(told(&unseen, RUNNING), "Scaled=Unknown/Reconciling");
    }

    #[test]
    fn while_it_is_deleted_every_condition_is_false_with_that_reason() {
        let steps = Steps::default().done_until(Step::Scaled);
        let deleting = Past {
            deleting: true,
            ..UPDATING
        };
        let found = conditions(&steps, deleting);
        assert_eq!(found.len(), 6);
        assert!(found.iter().all(|condition| {
            condition.says.status() == "False" && condition.reason() == "Deleting"
        }));
    }
}
