//! `status.summary`: an Application's state in one word, with what to know and what to do.
//!
//! It reads conditions and decides none.

use super::conditions::{Condition, Past, Says, Type};
use super::steps::{Reason, Why};

/// The state in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not installed yet, and nothing is wrong.
    Pending,
    /// It cannot be installed, or is not usable.
    Failed,
    /// Something new is being put in place.
    Updating,
    /// As wanted.
    Ready,
    /// Usable, and not as wanted.
    Degraded,
    /// Taken down because a requirement was lost.
    Suspended,
    /// Being deleted.
    Deleting,
}

impl State {
    /// On the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Failed => "Failed",
            Self::Updating => "Updating",
            Self::Ready => "Ready",
            Self::Degraded => "Degraded",
            Self::Suspended => "Suspended",
            Self::Deleting => "Deleting",
        }
    }
}

/// The summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The state.
    pub state: State,
    /// What to know; that of the condition which decides the state.
    pub message: String,
    /// What to do; empty if nothing.
    pub tip: &'static str,
}

/// The summary of these conditions, as [`super::conditions::conditions`] gives them.
#[must_use]
pub fn summary(conditions: &[Condition], past: Past) -> Summary {
    let says = |type_| {
        let found = conditions.iter().find(|found| found.type_ == type_);
        found.map(|found| &found.says)
    };
    let installed = says(Type::Installed).and_then(Says::why);
    if past.deleting {
        return of(State::Deleting, installed);
    }
    match installed {
        Some(why) if past.installed => return of(State::Suspended, Some(why)),
        // A requirement may be met later by itself, as for any other wait.
        Some(why) if why.reason.is_progress() || why.reason == Reason::RequirementsUnmet => {
            return of(State::Pending, Some(why));
        }
        Some(why) => return of(State::Failed, Some(why)),
        None => {}
    }
    if let Some(why) = says(Type::Ready).and_then(Says::why) {
        return of(State::Failed, Some(why));
    }
    let others = [
        Type::UpdateInstalled,
        Type::ConfigurationApplied,
        Type::Managed,
        Type::Scaled,
    ];
    let untrue = || others.into_iter().filter_map(|type_| says(type_)?.why());
    if let Some(why) = untrue().find(|why| !why.reason.is_progress()) {
        return of(State::Degraded, Some(why));
    }
    match untrue().next() {
        Some(why) => of(State::Updating, Some(why)),
        None => of(State::Ready, None),
    }
}

fn of(state: State, why: Option<&Why>) -> Summary {
    Summary {
        state,
        message: why.map(|why| why.message.clone()).unwrap_or_default(),
        tip: why.map_or("", |why| tip(why.reason)),
    }
}

const fn tip(reason: Reason) -> &'static str {
    match reason {
        Reason::Pending | Reason::ApplyingManifests | Reason::Reconciling | Reason::Deleting => "",
        Reason::RequirementsUnmet => {
            "Give the cluster what the package requires, or choose another version."
        }
        Reason::DownloadFailed => {
            "Look whether the package's registry can be reached and has this version."
        }
        Reason::LoadFromFilesystemFailed => "Ask the package's author to mend this version.",
        Reason::SettingsInvalid => "Correct spec.settings as the message says.",
        Reason::HookInitializationFailed | Reason::HookFailed => {
            "Look at the hook's log; it is tried again."
        }
        Reason::ManifestsApplyFailed => {
            "Look at the object that the message names; it is tried again."
        }
        Reason::Degraded => "Look at the Pods of the workloads that the message names.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::conditions::conditions;
    use crate::applications::steps::{Standing, Step, Steps};

    fn state(steps: &Steps, past: Past) -> State {
        summary(&conditions(steps, past), past).state
    }

    fn failed(step: Step, reason: Reason) -> Steps {
        let all = Steps::default().done_until(Step::Scaled);
        all.with(step, Standing::False(Why::new(reason, "no")))
    }

    #[test]
    fn each_state_is_told_by_the_conditions() {
        let new = Past::default();
        let running = Past {
            installed: true,
            ..new
        };
        let updating = Past {
            version_changes: true,
            updated: true,
            ..running
        };
        let deleting = Past {
            deleting: true,
            ..running
        };
        let done = Steps::default().done_until(Step::Scaled);
        let settings = failed(Step::Configured, Reason::SettingsInvalid);
        let lost = failed(Step::RequirementsMet, Reason::RequirementsUnmet);
        let hooks = Steps::default().done_until(Step::HooksProcessed);
        for (steps, past, expected) in [
            (&Steps::default(), new, State::Pending),
            (&lost, new, State::Pending),
            (&settings, new, State::Failed),
            (&done, new, State::Ready),
            (&done, running, State::Ready),
            (&settings, running, State::Degraded),
            (&settings, updating, State::Degraded),
            (&hooks, updating, State::Updating),
            (&lost, running, State::Suspended),
            (
                &failed(Step::HooksProcessed, Reason::HookFailed),
                running,
                State::Failed,
            ),
            (
                &failed(Step::Scaled, Reason::Reconciling),
                running,
                State::Updating,
            ),
            (
                &failed(Step::Scaled, Reason::Degraded),
                running,
                State::Degraded,
            ),
            (&done, deleting, State::Deleting),
        ] {
            assert_eq!(state(steps, past), expected, "{steps:?} {past:?}");
        }
    }

    #[test]
    fn message_and_tip_are_those_of_what_decides() {
        let past = Past {
            installed: true,
            ..Past::default()
        };
        let steps = failed(Step::Configured, Reason::SettingsInvalid);
        let told = summary(&conditions(&steps, past), past);
        assert_eq!(told.message, "no");
        assert_eq!(told.tip, "Correct spec.settings as the message says.");
    }
}
