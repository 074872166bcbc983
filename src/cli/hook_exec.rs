//! Flags of `tenantry hook-exec`, which no person types: the process that starts it is `adapters::hooks`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Options of `tenantry hook-exec`.
#[derive(Debug, Args)]
pub struct HookExecOptions {
    /// The second stage, whose process confines itself and becomes the hook: the process id of the first.
    #[arg(long)]
    pub confine: Option<u32>,
    /// Folder that may be read and executed from.
    #[arg(long)]
    pub package: Option<PathBuf>,
    /// Folder that may be written to.
    #[arg(long)]
    pub scratch: PathBuf,
    /// Whether a kernel without Landlock is acceptable.
    #[arg(long)]
    pub unconfined: bool,
    /// Seconds of CPU time of one process.
    #[arg(long)]
    pub cpu_seconds: u64,
    /// Bytes of memory of one process.
    #[arg(long)]
    pub memory_bytes: u64,
    /// Bytes of one file.
    #[arg(long)]
    pub file_bytes: u64,
    /// Processes at once.
    #[arg(long)]
    pub processes: usize,
    /// The program and its arguments; none is a jq filter, with its request in the scratch folder.
    #[arg(last = true)]
    pub command: Vec<OsString>,
}
