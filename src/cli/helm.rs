//! Flags of the two processes around helm, which no person types: who starts them is `adapters::helm`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Options of `tenantry helm-exec`.
#[derive(Debug, Args)]
pub struct HelmExecOptions {
    /// The process that started it, and with which it ends.
    #[arg(long)]
    pub parent: u32,
    /// helm and its arguments.
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// Options of `tenantry helm-post-render`.
#[derive(Debug, Args)]
pub struct HelmPostRenderOptions {
    /// What is put on objects and which are refused, JSON.
    #[arg(long)]
    pub request: PathBuf,
}
