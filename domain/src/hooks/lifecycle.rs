//! When hooks run: the lifecycle bindings and their order, and what a failed or a changing run means for the pipeline.

use super::binding::Hook;

/// A moment in the life of an application that hooks can bind to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lifecycle {
    /// Once per load of the package, before the first `BeforeHelm`.
    OnStartup,
    /// Before the release is rendered and applied.
    BeforeHelm,
    /// After it was applied.
    AfterHelm,
    /// Before the release is removed, on deletion and suspension.
    BeforeDeleteHelm,
    /// After it was removed.
    AfterDeleteHelm,
}

impl Lifecycle {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::OnStartup,
        Self::BeforeHelm,
        Self::AfterHelm,
        Self::BeforeDeleteHelm,
        Self::AfterDeleteHelm,
    ];

    /// The key in `hook config` and in binding contexts.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::OnStartup => "onStartup",
            Self::BeforeHelm => "beforeHelm",
            Self::AfterHelm => "afterHelm",
            Self::BeforeDeleteHelm => "beforeDeleteHelm",
            Self::AfterDeleteHelm => "afterDeleteHelm",
        }
    }
}

/// The hooks of a lifecycle binding in the order in which they run: by their number, then by program and index. The first that
/// fails stops the rest.
#[must_use]
pub fn in_order<'a>(
    hooks: impl IntoIterator<Item = &'a Hook>,
    lifecycle: Lifecycle,
) -> Vec<&'a Hook> {
    let mut bound: Vec<(u64, &Hook)> = hooks
        .into_iter()
        .filter_map(|hook| hook.lifecycle.get(&lifecycle).map(|order| (*order, hook)))
        .collect();
    bound.sort_by(|(left, a), (right, b)| {
        (left, &a.program, a.index).cmp(&(right, &b.program, b.index))
    });
    bound.into_iter().map(|(_, hook)| hook).collect()
}

/// Why a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The synchronization run of a Kubernetes binding, at the start of each reconciliation.
    Synchronization {
        /// The binding's `allowFailure`; no other stage may fail.
        may_fail: bool,
    },
    /// A lifecycle binding.
    Lifecycle(Lifecycle),
    /// A tick of a schedule.
    Schedule,
    /// An event of a Kubernetes binding.
    Event,
}

/// What follows when a run has changed the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterChange {
    /// The rest of this reconciliation uses them.
    GoOn,
    /// The release is applied once more, without a second round of hooks.
    ApplyAgain,
    /// A new reconciliation.
    Reconcile,
}

impl Stage {
    /// The reason of the internal condition when a run of this stage has failed.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Synchronization { .. } => "SyncHookFailed",
            Self::Lifecycle(Lifecycle::OnStartup) => "StartupHookFailed",
            Self::Lifecycle(Lifecycle::BeforeHelm) => "BeforeHelmHookFailed",
            Self::Lifecycle(Lifecycle::AfterHelm) => "AfterHelmHookFailed",
            Self::Lifecycle(Lifecycle::BeforeDeleteHelm) => "BeforeDeleteHelmHookFailed",
            Self::Lifecycle(Lifecycle::AfterDeleteHelm) => "AfterDeleteHelmHookFailed",
            Self::Schedule | Self::Event => "EventHookFailed",
        }
    }

    /// Whether a failed run is only warned of.
    #[must_use]
    pub fn may_fail(self) -> bool {
        self == Self::Synchronization { may_fail: true }
    }

    /// What follows when the values have changed.
    #[must_use]
    pub fn after_change(self) -> AfterChange {
        match self {
            Self::Lifecycle(Lifecycle::AfterHelm) => AfterChange::ApplyAgain,
            Self::Schedule | Self::Event => AfterChange::Reconcile,
            Self::Synchronization { .. } | Self::Lifecycle(_) => AfterChange::GoOn,
        }
    }
}
