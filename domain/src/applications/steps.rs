//! The internal steps of a run, in order of precedence, and how each stands (section 1.1).
//!
//! It keeps them and finds the first that failed; which conditions follow is decided in [`super::conditions`].

/// A step of a run. `Pending` is no step of its own: it wins over all others (see [`Steps::pending`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// What the package requires is there.
    RequirementsMet,
    /// The bundle was downloaded.
    ReadyOnFilesystem,
    /// The bundle was loaded.
    Loaded,
    /// The settings are valid and stored.
    Configured,
    /// Hooks were initialised and ran.
    HooksProcessed,
    /// The release was applied.
    ManifestsApplied,
    /// Workloads are rolled out.
    Scaled,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Self; 7] = [
        Self::RequirementsMet,
        Self::ReadyOnFilesystem,
        Self::Loaded,
        Self::Configured,
        Self::HooksProcessed,
        Self::ManifestsApplied,
        Self::Scaled,
    ];
}

/// Why a step is not done; the reason of the conditions that it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Waits for its turn or for something else.
    Pending,
    /// A requirement is not met, or was lost.
    RequirementsUnmet,
    /// The bundle could not be downloaded.
    DownloadFailed,
    /// The bundle could not be loaded.
    LoadFromFilesystemFailed,
    /// The settings are refused.
    SettingsInvalid,
    /// A hook could not be initialised.
    HookInitializationFailed,
    /// A hook failed.
    HookFailed,
    /// The release could not be applied.
    ManifestsApplyFailed,
    /// The release is being applied.
    ApplyingManifests,
    /// Workloads are being rolled out.
    Reconciling,
    /// Workloads do not come up.
    Degraded,
    /// The Application is being deleted.
    Deleting,
}

impl Reason {
    /// As conditions have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::RequirementsUnmet => "RequirementsUnmet",
            Self::DownloadFailed => "DownloadFailed",
            Self::LoadFromFilesystemFailed => "LoadFromFilesystemFailed",
            Self::SettingsInvalid => "SettingsInvalid",
            Self::HookInitializationFailed => "HookInitializationFailed",
            Self::HookFailed => "HookFailed",
            Self::ManifestsApplyFailed => "ManifestsApplyFailed",
            Self::ApplyingManifests => "ApplyingManifests",
            Self::Reconciling => "Reconciling",
            Self::Degraded => "Degraded",
            Self::Deleting => "Deleting",
        }
    }

    /// True for work that goes on by itself, as opposed to something that is wrong.
    #[must_use]
    pub const fn is_progress(self) -> bool {
        matches!(
            self,
            Self::Pending | Self::ApplyingManifests | Self::Reconciling | Self::Deleting
        )
    }
}

/// Why, and what to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The reason.
    pub reason: Reason,
    /// What to know, fit for status.
    pub message: String,
}

impl Why {
    /// With a message.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// How a step stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Not reached in this run, or not observable.
    #[default]
    Unknown,
    /// Done.
    True,
    /// Failed, or known not to be done yet.
    False(Why),
}

/// How far a run came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// What is waited for before anything is done; wins over all steps.
    pub pending: Option<String>,
    standings: [Standing; Step::ALL.len()],
}

impl Steps {
    /// How a step stands.
    #[must_use]
    pub fn of(&self, step: Step) -> &Standing {
        self.standings
            .get(step as usize)
            .unwrap_or(&Standing::Unknown)
    }

    /// The same with one step set.
    #[must_use]
    pub fn with(mut self, step: Step, standing: Standing) -> Self {
        if let Some(place) = self.standings.get_mut(step as usize) {
            *place = standing;
        }
        self
    }

    /// The same with every step up to this one done.
    #[must_use]
    pub fn done_until(self, last: Step) -> Self {
        Step::ALL
            .into_iter()
            .filter(|step| *step <= last)
            .fold(self, |steps, step| steps.with(step, Standing::True))
    }

    /// The first of these that is false.
    pub(super) fn first_false(&self, chain: &[Step]) -> Option<&Why> {
        chain.iter().find_map(|step| match self.of(*step) {
            Standing::False(why) => Some(why),
            Standing::True | Standing::Unknown => None,
        })
    }

    /// True if all of these are done.
    pub(super) fn are_done(&self, chain: &[Step]) -> bool {
        chain.iter().all(|step| *self.of(*step) == Standing::True)
    }
}
