//! The sizes that a hook program's answers and outputs may not exceed (S20), in one table.
//!
//! Each limit has an error of its own where it is enforced. Limits of the process itself (time, memory) are the adapter's.

/// All limits of hooks. [`HookLimits::DEFAULT`] is what the server uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookLimits {
    /// Bytes of the answer to `hook config`.
    pub config_bytes: usize,
    /// Hooks of one program; `hook list` cannot say more.
    pub hooks: usize,
    /// Schedules, and Kubernetes bindings, of one hook.
    pub bindings: usize,
    /// Bytes of one jq filter.
    pub jq_bytes: usize,
    /// Bytes of one output file: values patch, object operations, metrics.
    pub output_bytes: usize,
    /// Operations in one values patch, and in one file of object operations.
    pub operations: usize,
    /// Operations of all accepted values patches of one instance, after compaction.
    pub stored_operations: usize,
    /// Samples in one file of metrics.
    pub samples: usize,
    /// Bytes of what a program said that are repeated in an error.
    pub quoted_bytes: usize,
}

impl HookLimits {
    /// The limits of the documentation.
    pub const DEFAULT: Self = Self {
        config_bytes: 1024 * 1024,
        hooks: 9_999,
        bindings: 256,
        jq_bytes: 4 * 1024,
        output_bytes: 4 * 1024 * 1024,
        operations: 10_000,
        stored_operations: 20_000,
        samples: 10_000,
        quoted_bytes: 1024,
    };
}

impl Default for HookLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
