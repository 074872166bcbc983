//! A run of an Application: where it stopped, what that means for its steps, and when to look again (section 9).
//!
//! The order is fixed: version → requirements → download → load → configure → hooks → apply. A run that stops changes nothing that is in
//! force; a lost requirement takes the release down, and keeps the Application.

use std::time::Duration;

use super::steps::{Reason, Standing, Step, Steps, Why};
use crate::tenancy::reason::Retry;

/// While workloads are being rolled out they are looked at again after this.
pub const ROLLOUT_PAUSE: Duration = Duration::from_secs(5);
/// What may come by itself, such as a version that is published, is looked for again after this.
pub const WAIT: Duration = Duration::from_secs(10);

/// Where a run stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Something is waited for before anything is done.
    Waiting(String),
    /// A requirement is not met, or was lost.
    Unmet(String),
    /// The bundle could not be downloaded.
    NotDownloaded(String),
    /// The bundle could not be loaded.
    NotLoaded(String),
    /// The settings are refused; those in force stay so.
    Refused(String),
    /// The package's hooks cannot be run.
    NoHooks(String),
    /// The release could not be applied.
    NotApplied(String),
    /// `spec.maintenance` keeps manifests from being applied.
    Paused,
    /// The release is as wanted; how its workloads stand.
    Applied(Standing),
}

impl Stop {
    /// How the steps stand.
    #[must_use]
    pub fn steps(&self) -> Steps {
        let steps = Steps::default();
        let stopped = |after: Option<Step>, at: Step, reason: Reason, text: &str| {
            let why = Why::new(reason, text);
            let done = after.map_or_else(Steps::default, |last| Steps::default().done_until(last));
            done.with(at, Standing::False(why))
        };
        match self {
            Self::Waiting(text) => {
                let mut waiting = steps;
                waiting.pending = Some(text.clone());
                waiting
            }
            Self::Unmet(text) => {
                stopped(None, Step::RequirementsMet, Reason::RequirementsUnmet, text)
            }
            Self::NotDownloaded(text) => stopped(
                Some(Step::RequirementsMet),
                Step::ReadyOnFilesystem,
                Reason::DownloadFailed,
                text,
            ),
            Self::NotLoaded(text) => stopped(
                Some(Step::ReadyOnFilesystem),
                Step::Loaded,
                Reason::LoadFromFilesystemFailed,
                text,
            ),
            Self::Refused(text) => stopped(
                Some(Step::Loaded),
                Step::Configured,
                Reason::SettingsInvalid,
                text,
            ),
            Self::NoHooks(text) => stopped(
                Some(Step::Configured),
                Step::HooksProcessed,
                Reason::HookInitializationFailed,
                text,
            ),
            Self::NotApplied(text) => stopped(
                Some(Step::HooksProcessed),
                Step::ManifestsApplied,
                Reason::ManifestsApplyFailed,
                text,
            ),
            Self::Paused => steps.done_until(Step::HooksProcessed),
            Self::Applied(workloads) => steps
                .done_until(Step::ManifestsApplied)
                .with(Step::Scaled, workloads.clone()),
        }
    }

    /// When to look again. Failures use the long back-off of applications (15 s to 2 h).
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Waiting(_) => Retry::After(WAIT),
            Self::Applied(Standing::False(_) | Standing::Unknown) => Retry::After(ROLLOUT_PAUSE),
            // Only another spec or a grant helps; the slow timer looks at grants.
            Self::Refused(_) | Self::Paused | Self::Applied(_) => Retry::Slow,
            Self::Unmet(_)
            | Self::NotDownloaded(_)
            | Self::NotLoaded(_)
            | Self::NoHooks(_)
            | Self::NotApplied(_) => Retry::Backoff,
        }
    }

    /// True if everything that is wanted is applied: then, and only then, it is recorded as applied.
    #[must_use]
    pub const fn is_applied(&self) -> bool {
        matches!(self, Self::Applied(_))
    }
}

#[cfg(test)]
mod tests {
    use super::super::conditions::{Condition, Past, Says, Type, conditions};
    use super::super::summary::{State, summary};
    use super::*;

    const RUNNING: Past = Past {
        installed: true,
        updated: false,
        version_changes: false,
        deleting: false,
    };

    fn says(stop: &Stop, past: Past, type_: Type) -> Option<Says> {
        let found = conditions(&stop.steps(), past);
        let mut found = found.into_iter().filter(|found| found.type_ == type_);
        found.next().map(|found| found.says)
    }

    fn state(stop: &Stop, past: Past) -> State {
        summary(&conditions(&stop.steps(), past), past).state
    }

    #[test]
    fn a_first_run_that_stops_says_where_in_installed_alone() {
        for (stop, reason) in [
            (Stop::Waiting("x".to_owned()), "Pending"),
            (Stop::Unmet("x".to_owned()), "RequirementsUnmet"),
            (Stop::NotDownloaded("x".to_owned()), "DownloadFailed"),
            (Stop::NotLoaded("x".to_owned()), "LoadFromFilesystemFailed"),
            (Stop::Refused("x".to_owned()), "SettingsInvalid"),
            (Stop::NoHooks("x".to_owned()), "HookInitializationFailed"),
            (Stop::NotApplied("x".to_owned()), "ManifestsApplyFailed"),
        ] {
            let found = conditions(&stop.steps(), Past::default());
            let told: Vec<&str> = found.iter().map(Condition::reason).collect();
            assert_eq!(told, [reason]);
            assert!(!stop.is_applied());
        }
    }

    #[test]
    fn refused_settings_of_a_running_instance_break_neither_ready_nor_managed() {
        let stop = Stop::Refused("size: no".to_owned());
        assert_eq!(says(&stop, RUNNING, Type::Ready), Some(Says::True));
        assert_eq!(says(&stop, RUNNING, Type::Managed), Some(Says::True));
        let refused = says(&stop, RUNNING, Type::ConfigurationApplied);
        assert!(matches!(refused, Some(Says::False(why)) if why.reason == Reason::SettingsInvalid));
        assert_eq!(state(&stop, RUNNING), State::Degraded);
    }

    #[test]
    fn a_lost_requirement_suspends_and_a_run_that_came_to_its_end_is_ready() {
        let lost = Stop::Unmet("kubernetes".to_owned());
        assert_eq!(state(&lost, RUNNING), State::Suspended);
        let done = Stop::Applied(Standing::True);
        assert!(done.is_applied());
        assert_eq!(state(&done, Past::default()), State::Ready);
        assert_eq!(done.retry(), Retry::Slow);
        let rolling = Stop::Applied(Standing::False(Why::new(Reason::Reconciling, "1 of 2")));
        assert_eq!(state(&rolling, RUNNING), State::Updating);
        assert_eq!(rolling.retry(), Retry::After(ROLLOUT_PAUSE));
    }

    #[test]
    fn maintenance_applies_nothing_and_keeps_what_is_in_force() {
        assert!(!Stop::Paused.is_applied());
        assert_eq!(says(&Stop::Paused, RUNNING, Type::Ready), Some(Says::True));
    }
}
