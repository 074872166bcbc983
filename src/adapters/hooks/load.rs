//! Loading: which programs a package has, and what they say of themselves.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use domain::hooks::config::{self, ConfigError};
use domain::hooks::discovery::{Twice, announced, only_one};
use domain::hooks::environment::{Purpose, environment};
use domain::hooks::outcome::{Ending, failure};

use super::discovery::{Candidate, WalkError, candidates};
use super::launch::{Ended, Job, LaunchError, Launcher, ProcessLimits};
use super::scratch::{Scratch, ScratchError};
use super::{Hooks, Inner, Known, LIMITS, Program};

/// `hook list` and `hook config`.
const ASKING: ProcessLimits = ProcessLimits {
    time: Duration::from_secs(30),
    stdout_bytes: LIMITS.config_bytes,
    ..ProcessLimits::DEFAULT
};
/// Filters of a configuration are compiled here, and nest as deeply as their text is long.
const STACK: usize = 64 << 20;

/// Why the hooks of a package cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The folder cannot be searched.
    #[error(transparent)]
    Walk(WalkError),
    /// The task that did it was ended.
    #[error("loading was given up: {0}")]
    Task(#[source] tokio::task::JoinError),
    /// No scratch folder.
    #[error(transparent)]
    Scratch(ScratchError),
    /// A program was not started, or was ended.
    #[error("{program}: `hook {command}` failed: {source}")]
    Launch {
        /// The program.
        program: String,
        /// `list` or `config`.
        command: &'static str,
        /// Why.
        source: LaunchError,
    },
    /// `hook config` failed.
    #[error("{program}: `hook config` failed: {said}")]
    Failed {
        /// The program.
        program: String,
        /// What it said.
        said: String,
    },
    /// The answer to `hook config` is refused.
    #[error("{program}: `hook config`: {source}")]
    Config {
        /// The program.
        program: String,
        /// Why.
        source: ConfigError,
    },
    /// Two programs have what only one may.
    #[error(transparent)]
    Twice(Twice),
}

impl Hooks {
    /// Finds and asks the hook programs of the package unpacked in `bundle`.
    ///
    /// # Errors
    /// A program that does not end, whose configuration is refused, or that cannot be confined; two settings checks. A program
    /// that fails `hook list` is no hook program.
    pub async fn load(launcher: &Launcher, bundle: &Path) -> Result<Self, LoadError> {
        let folder = bundle.to_owned();
        let found = tokio::task::spawn_blocking(move || candidates(&folder)).await;
        let found = found.map_err(LoadError::Task)?.map_err(LoadError::Walk)?;
        let mut programs = Vec::new();
        let mut checks: Vec<(String, PathBuf)> = Vec::new();
        let mut readiness = Vec::new();
        for candidate in found {
            let list = ask(launcher, bundle, &candidate, "list").await?;
            let Some(expected) = announced(&list.stdout).filter(|_| list.ending == Ending::Exit(0))
            else {
                tracing::warn!(program = candidate.shown, ending = %list.ending, "an executable of a package is no hook program, and is ignored");
                continue;
            };
            let answer = ask(launcher, bundle, &candidate, "config").await?;
            if let Some(said) = failure(answer.ending, &answer.stderr, &LIMITS) {
                let program = candidate.shown;
                return Err(LoadError::Failed { program, said });
            }
            let config = parse(answer.stdout, &candidate.shown).await?;
            tracing::debug!(
                program = candidate.shown,
                announced = expected,
                hooks = config.hooks.len(),
                "hook program"
            );
            if config.has_settings_check {
                checks.push((candidate.shown.clone(), candidate.path.clone()));
            }
            if config.has_readiness {
                tracing::warn!(
                    program = candidate.shown,
                    "a readiness hook is ignored: applications have none"
                );
                readiness.push(candidate.shown.clone());
            }
            programs.push(Program {
                path: candidate.path,
                hooks: config.hooks.into_iter().map(known).collect(),
            });
        }
        only_one("readiness hook", readiness.iter().map(String::as_str))
            .map_err(LoadError::Twice)?;
        let shown = checks.iter().map(|(shown, _)| shown.as_str());
        only_one("settings check", shown).map_err(LoadError::Twice)?;
        Ok(Self {
            inner: Arc::new(Inner {
                launcher: launcher.clone(),
                bundle: bundle.to_owned(),
                programs,
                check: checks.pop().map(|(_, path)| path),
            }),
        })
    }
}

fn known(hook: domain::hooks::binding::Hook) -> Known {
    Known {
        hook,
        has_written: AtomicBool::new(false),
    }
}

async fn ask(
    launcher: &Launcher,
    bundle: &Path,
    candidate: &Candidate,
    command: &'static str,
) -> Result<Ended, LoadError> {
    let scratch = Scratch::create(launcher.scratch_root(), |_| Ok(()));
    let scratch = scratch.await.map_err(LoadError::Scratch)?;
    let words = ["hook", command].map(OsString::from);
    let command_line: Vec<OsString> = [candidate.path.clone().into_os_string()]
        .into_iter()
        .chain(words)
        .collect();
    let job = Job {
        package: Some(bundle),
        command: &command_line,
        environment: environment(Purpose::Ask, &scratch.path().to_string_lossy(), own),
        scratch: &scratch,
        limits: ASKING,
    };
    launcher
        .launch(job)
        .await
        .map_err(|source| LoadError::Launch {
            program: candidate.shown.clone(),
            command,
            source,
        })
}

/// A variable of this process, for the allow-list.
pub(super) fn own(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

async fn parse(stdout: String, program: &str) -> Result<config::Program, LoadError> {
    let (answer, parsed) = tokio::sync::oneshot::channel();
    let shown = program.to_owned();
    let parse = move || {
        let _ = answer.send(config::parse(&stdout, &shown, &LIMITS));
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(parse);
    let failed = |said: &str| LoadError::Failed {
        program: program.to_owned(),
        said: said.to_owned(),
    };
    thread.map_err(|error| failed(&error.to_string()))?;
    parsed
        .await
        .map_err(|_| failed("its answer could not be read to the end"))?
        .map_err(|source| LoadError::Config {
            program: program.to_owned(),
            source,
        })
}
