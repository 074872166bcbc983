//! Hooks of packages: found on disk, asked, run and checked, each time in a confined process of its own.
//!
//! What an answer means is decided in `domain::hooks`; nothing of a hook's output takes effect here. No hook is started but
//! through [`launch`].

pub mod discovery;
pub mod filter;
pub mod launch;
mod load;
pub mod report;
mod run;
pub mod scratch;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use domain::hooks::binding::Hook;
use domain::hooks::limits::HookLimits;

pub use self::launch::{LaunchError, Launcher, ProcessLimits};
pub use self::load::LoadError;
pub use self::run::{CheckFailure, Run, RunError};

const LIMITS: HookLimits = HookLimits::DEFAULT;

/// The hooks of one loaded package; a cheap copy.
#[derive(Clone, Debug)]
pub struct Hooks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    launcher: Launcher,
    bundle: PathBuf,
    programs: Vec<Program>,
    /// The program that has the settings check.
    check: Option<PathBuf>,
}

#[derive(Debug)]
struct Program {
    path: PathBuf,
    hooks: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    hook: Hook,
    /// Whether it has written something before, for the log of S16.
    has_written: AtomicBool,
}

impl Hooks {
    /// All hooks of the package, by program and index.
    pub fn all(&self) -> impl Iterator<Item = &Hook> {
        let programs = self.inner.programs.iter();
        programs.flat_map(|program| program.hooks.iter().map(|known| &known.hook))
    }

    /// Whether the package has a settings check.
    #[must_use]
    pub fn has_check(&self) -> bool {
        self.inner.check.is_some()
    }
}
