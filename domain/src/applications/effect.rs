//! What the pipeline of an Application may ask of the world, as data. Each effect has a stable id.
//!
//! Deadlines, metrics, failpoints and the crash tests hang on the ids; a test compares this list with the crash tests.

/// One external write of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApplicationEffect {
    /// Add the finalizer, before anything else.
    Hold,
    /// Fetch the bundle.
    Download,
    /// Put right what a helm that was cut off left behind.
    Recover,
    /// Apply the release.
    Apply,
    /// Record conditions, the version in force and what was applied, in one write.
    Record,
    /// Remove the release.
    Uninstall,
    /// Delete orphan resources.
    Purge,
    /// Take the finalizer away, after everything else.
    Release,
}

impl ApplicationEffect {
    /// Every effect, in the order of a life.
    pub const ALL: [Self; 8] = [
        Self::Hold,
        Self::Download,
        Self::Apply,
        Self::Record,
        Self::Recover,
        Self::Uninstall,
        Self::Purge,
        Self::Release,
    ];

    /// The stable id.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Hold => "application.finalizer",
            Self::Download => "application.download",
            Self::Recover => "application.recover",
            Self::Apply => "application.release",
            Self::Record => "application.status",
            Self::Uninstall => "application.uninstall",
            Self::Purge => "application.purge",
            Self::Release => "application.release-finalizer",
        }
    }
}
