//! `hook run` and `hook check`: files in, one process, files out.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use domain::hooks::binding::Hook;
use domain::hooks::check::{self, CheckError};
use domain::hooks::environment::{Files, Owner, Purpose, environment, names};
use domain::hooks::outcome::failure;
use domain::hooks::outputs::{self, OutputError, Outputs};
use domain::settings::admission::HookAnswer;
use serde_json::Value;

use super::launch::{Ended, Job, LaunchError, ProcessLimits};
use super::load::own;
use super::scratch::{Scratch, ScratchError};
use super::{Hooks, Known, LIMITS};

/// The file of the effective settings, in the scratch folder of a check.
const SETTINGS: &str = "settings.json";

/// What a run is given.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The application.
    pub owner: Owner<'a>,
    /// The list of binding contexts.
    pub contexts: &'a Value,
    /// Its values.
    pub values: &'a Value,
    /// Its effective settings.
    pub settings: &'a Value,
}

/// Why a run failed; nothing of it takes effect.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The hook is of another package.
    #[error("{0} is no hook of this package")]
    Unknown(String),
    /// Its files.
    #[error("{hook}: {source}")]
    Scratch {
        /// The hook.
        hook: String,
        /// Which file, and why.
        source: ScratchError,
    },
    /// The process was not started, or was ended.
    #[error("{hook}: {source}")]
    Launch {
        /// The hook.
        hook: String,
        /// Why.
        source: LaunchError,
    },
    /// The process failed.
    #[error("{hook}: {said}")]
    Failed {
        /// The hook.
        hook: String,
        /// What it said.
        said: String,
    },
    /// An output does not parse.
    #[error("{hook}: {source}")]
    Output {
        /// The hook.
        hook: String,
        /// Which file, and why.
        source: OutputError,
    },
}

/// Why a settings check gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CheckFailure {
    /// The package has none.
    #[error("the package has no settings check")]
    None,
    /// The settings could not be handed over.
    #[error(transparent)]
    Scratch(ScratchError),
    /// The process was not started, or was ended.
    #[error(transparent)]
    Launch(LaunchError),
    /// What it said is no answer.
    #[error(transparent)]
    Answer(CheckError),
}

impl Hooks {
    /// Runs a hook to its end and reads what it wrote; nothing of that has taken effect.
    ///
    /// # Errors
    /// The run failed: the hook said so, was ended, or wrote what does not parse.
    pub async fn run(&self, hook: &Hook, run: Run<'_>) -> Result<Outputs, RunError> {
        let (path, known) = self
            .find(hook)
            .ok_or_else(|| RunError::Unknown(hook.name.clone()))?;
        let failed = |source| RunError::Scratch {
            hook: hook.name.clone(),
            source,
        };
        let scratch = self.prepare(run).await.map_err(failed)?;
        let folder = scratch.path().to_string_lossy().into_owned();
        let files = Files::within(&folder);
        let job = Job {
            package: Some(&self.inner.bundle),
            command: &command(path, &["run", &hook.index.to_string()]),
            environment: environment(Purpose::Run(&files, run.owner), &folder, own),
            scratch: &scratch,
            limits: self.inner.launcher.run_limits(),
        };
        let launched = self.inner.launcher.launch(job).await;
        let ended = launched.map_err(|source| RunError::Launch {
            hook: hook.name.clone(),
            source,
        })?;
        log(hook, run.owner, &ended);
        if let Some(said) = failure(ended.ending, &ended.stderr, &LIMITS) {
            let hook = hook.name.clone();
            return Err(RunError::Failed { hook, said });
        }
        let written = tokio::task::spawn_blocking(move || collect(&scratch)).await;
        let written = written.map_err(ScratchError::Task).and_then(|read| read);
        let outputs = outputs::read(&written.map_err(failed)?, hook, run.owner, &LIMITS);
        let outputs = outputs.map_err(|source| RunError::Output {
            hook: hook.name.clone(),
            source,
        })?;
        remark(known, run.owner, &outputs);
        Ok(outputs)
    }

    /// Asks the settings check, which is ended at the deadline.
    ///
    /// # Errors
    /// There is no answer: that denies at the webhook and fails *configure*.
    pub async fn check(
        &self,
        settings: &Value,
        deadline: Duration,
    ) -> Result<HookAnswer, CheckFailure> {
        let program = self.inner.check.as_ref().ok_or(CheckFailure::None)?;
        let given = settings.clone();
        let launcher = &self.inner.launcher;
        let scratch = Scratch::create(launcher.scratch_root(), move |scratch| {
            scratch.put_json(SETTINGS, &given)
        });
        let scratch = scratch.await.map_err(CheckFailure::Scratch)?;
        let folder = scratch.path().to_string_lossy().into_owned();
        let file = format!("{folder}/{SETTINGS}");
        let job = Job {
            package: Some(&self.inner.bundle),
            command: &command(program, &["check"]),
            environment: environment(Purpose::Check(&file), &folder, own),
            scratch: &scratch,
            limits: ProcessLimits {
                time: deadline,
                ..launcher.run_limits()
            },
        };
        let ended = launcher.launch(job).await.map_err(CheckFailure::Launch)?;
        check::answer(ended.ending, &ended.stderr, &LIMITS).map_err(CheckFailure::Answer)
    }

    fn find(&self, hook: &Hook) -> Option<(&Path, &Known)> {
        self.inner.programs.iter().find_map(|program| {
            let known = program
                .hooks
                .iter()
                .find(|known| known.hook.name == hook.name)?;
            Some((program.path.as_path(), known))
        })
    }

    /// The three inputs, and the four outputs, empty.
    async fn prepare(&self, run: Run<'_>) -> Result<Scratch, ScratchError> {
        let inputs = [
            (names::BINDING_CONTEXT, run.contexts.clone()),
            (names::VALUES, run.values.clone()),
            (names::CONFIG_VALUES, run.settings.clone()),
        ];
        let fill = move |scratch: &Scratch| {
            for (name, content) in &inputs {
                scratch.put_json(name, content)?;
            }
            for name in [
                names::VALUES_PATCH,
                names::CONFIG_VALUES_PATCH,
                names::METRICS,
                names::KUBERNETES_PATCH,
            ] {
                scratch.put(name, b"")?;
            }
            Ok(())
        };
        Scratch::create(self.inner.launcher.scratch_root(), fill).await
    }
}

fn command(program: &Path, words: &[&str]) -> Vec<OsString> {
    let mut command = vec![program.as_os_str().to_owned(), "hook".into()];
    command.extend(words.iter().map(OsString::from));
    command
}

fn collect(scratch: &Scratch) -> Result<outputs::Files, ScratchError> {
    let take = |name| scratch.take(name, LIMITS.output_bytes);
    Ok(outputs::Files {
        config_values_patch: take(names::CONFIG_VALUES_PATCH)?,
        values_patch: take(names::VALUES_PATCH)?,
        metrics: take(names::METRICS)?,
        kubernetes_patch: take(names::KUBERNETES_PATCH)?,
    })
}

/// What the hook said, line by line.
fn log(hook: &Hook, owner: Owner<'_>, ended: &Ended) {
    const LINES: usize = 1000;
    let lines = ended.stdout.lines().chain(ended.stderr.lines());
    for line in lines.filter(|line| !line.trim().is_empty()).take(LINES) {
        let line = domain::hooks::outcome::quoted(line, &LIMITS);
        tracing::info!(hook = hook.name, application = owner.module(), line, "hook");
    }
}

/// What the protocol lets pass, and a person who looks for a mistake wants to know (S16).
fn remark(known: &Known, owner: Owner<'_>, outputs: &Outputs) {
    let (hook, application) = (&known.hook.name, owner.module());
    if !outputs.is_empty() {
        known.has_written.store(true, Ordering::Relaxed);
    } else if known.has_written.load(Ordering::Relaxed) {
        tracing::warn!(
            hook,
            application,
            "the hook ended well and wrote nothing, though it did before: a program that panics does so too"
        );
    }
    if outputs.patches_settings {
        tracing::warn!(
            hook,
            application,
            "the hook's patch of settings has no effect"
        );
    }
    for warning in &outputs.metrics.warnings {
        tracing::warn!(hook, application, warning, "metrics of the hook");
    }
}
