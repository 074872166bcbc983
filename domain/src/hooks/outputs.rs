//! All that a successful run has written, read in the protocol's order. The first file that does not parse fails the run, and
//! nothing of it is applied.

use super::binding::Hook;
use super::environment::Owner;
use super::limits::HookLimits;
use super::metrics::{self, MetricsError, Samples};
use super::operations::{self, Operation, OperationsError};
use super::patches::{self, PatchFileError};
use crate::settings::patch::Patch;

/// The four output files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// A patch of settings; read for its errors, and then of no effect.
    pub config_values_patch: Vec<u8>,
    /// The values patch.
    pub values_patch: Vec<u8>,
    /// Metrics.
    pub metrics: Vec<u8>,
    /// Object operations.
    pub kubernetes_patch: Vec<u8>,
}

/// Which file of a run is wrong, and how.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The patch of settings.
    #[error("patch of settings: {0}")]
    ConfigValues(#[source] PatchFileError),
    /// The values patch.
    #[error("values patch: {0}")]
    Values(#[source] PatchFileError),
    /// Metrics.
    #[error("metrics: {0}")]
    Metrics(#[source] MetricsError),
    /// Object operations.
    #[error("object operations: {0}")]
    Operations(#[source] OperationsError),
}

/// What a run gave. It takes effect in the order of the fields: metrics, then object operations, then the values patch; a step
/// that fails skips the later ones, and what was done stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// Metrics.
    pub metrics: Samples,
    /// Object operations, in order; one that fails does not stop the next, but fails the run.
    pub operations: Vec<Operation>,
    /// The values patch.
    pub values: Patch,
    /// Whether it also wrote a patch of settings, which has no effect.
    pub patches_settings: bool,
}

impl Outputs {
    /// Whether it gave nothing; so does a program that panicked (S16).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads the files of a run that ended well.
///
/// # Errors
/// The first file that does not parse.
pub fn read(
    files: &Files,
    hook: &Hook,
    owner: Owner<'_>,
    limits: &HookLimits,
) -> Result<Outputs, OutputError> {
    let settings = patches::read(&files.config_values_patch, limits);
    let settings = settings.map_err(OutputError::ConfigValues)?;
    let values = patches::read(&files.values_patch, limits).map_err(OutputError::Values)?;
    let metrics =
        metrics::read(&files.metrics, &hook.name, limits).map_err(OutputError::Metrics)?;
    let operations = operations::read(&files.kubernetes_patch, owner, limits)
        .map_err(OutputError::Operations)?;
    Ok(Outputs {
        metrics,
        operations,
        values,
        patches_settings: !settings.is_empty(),
    })
}
