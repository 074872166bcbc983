//! Starts `tenantry hook-exec` and waits for it: deadline, output limit, and an end that leaves nothing behind.
//!
//! A launch that is dropped ends its process too: the supervisor sees that its socket is gone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use domain::hooks::outcome::Ending;
use futures::future::{Either, select};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::report::Report;
use super::scratch::Scratch;

/// How long the supervisor may take to end everything, after its socket is gone.
const ENDING: Duration = Duration::from_secs(5);
/// How long outputs may stay open without a supervisor.
const ORPHANED: Duration = Duration::from_secs(1);
/// Bytes of all reports of one process.
const REPORTS: usize = 64 * 1024;

/// Limits of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// From start to end.
    pub time: Duration,
    /// Bytes of memory of each process.
    pub memory_bytes: u64,
    /// Bytes of each file that it writes.
    pub file_bytes: u64,
    /// Processes at once.
    pub processes: usize,
    /// Bytes on standard output.
    pub stdout_bytes: usize,
    /// Bytes on standard error.
    pub stderr_bytes: usize,
}

impl ProcessLimits {
    /// The limits of the documentation, for `hook run`.
    pub const DEFAULT: Self = Self {
        time: Duration::from_secs(600),
        memory_bytes: 1 << 30,
        file_bytes: 16 << 20,
        processes: 64,
        stdout_bytes: 4 << 20,
        stderr_bytes: 1 << 20,
    };
}

/// One process to start.
#[derive(Debug)]
pub(super) struct Job<'a> {
    /// The package, which may be read and executed.
    pub package: Option<&'a Path>,
    /// Program and arguments; none is a jq filter.
    pub command: &'a [OsString],
    /// The whole environment.
    pub environment: BTreeMap<String, String>,
    /// The folder that may be written to, and the working directory.
    pub scratch: &'a Scratch,
    /// Its limits.
    pub limits: ProcessLimits,
}

/// How a process ended, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub ending: Ending,
    pub stdout: String,
    pub stderr: String,
}

/// Why a process gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// hook-exec cannot be started.
    #[error("hook-exec cannot be started: {0}")]
    Spawn(#[source] io::Error),
    /// The process was not confined or not executed.
    #[error("the process was not started: {0}")]
    NotStarted(String),
    /// Its output cannot be read.
    #[error("what the process says cannot be read: {0}")]
    Read(#[source] io::Error),
    /// It was ended at its deadline.
    #[error("it did not end within {} s, and was ended", .0.as_secs_f32())]
    TimedOut(Duration),
    /// It was ended for its output.
    #[error("it said more than {most} bytes, and was ended")]
    TooMuchOutput {
        /// The limit.
        most: usize,
    },
    /// It was ended for its processes.
    #[error("it ran more than {most} processes at once, and was ended")]
    TooManyProcesses {
        /// The limit.
        most: usize,
    },
    /// It ended, but not all that it had started.
    #[error("it left {left} running processes behind, which were ended")]
    LeftBehind {
        /// How many.
        left: usize,
    },
    /// hook-exec ended without a word.
    #[error("hook-exec ended without telling how the process ended")]
    Lost,
}

/// Starts processes; a cheap copy.
#[derive(Clone, Debug)]
pub struct Launcher {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    program: PathBuf,
    scratch_root: PathBuf,
    may_be_unconfined: bool,
    run: ProcessLimits,
}

impl Launcher {
    /// A launcher that starts this very program again. Without Landlock in the kernel processes are refused, unless
    /// `may_be_unconfined`; `run` are the limits of `hook run`, and of what other processes have in common with it.
    #[must_use]
    pub fn new(may_be_unconfined: bool, run: ProcessLimits) -> Self {
        Self::of(PathBuf::from("/proc/self/exe"), may_be_unconfined, run)
    }

    /// A launcher that starts another copy of tenantry, for tests.
    #[must_use]
    pub fn of(program: PathBuf, may_be_unconfined: bool, run: ProcessLimits) -> Self {
        Self {
            inner: Arc::new(Inner {
                program,
                scratch_root: std::env::temp_dir(),
                may_be_unconfined,
                run,
            }),
        }
    }

    /// The limits of `hook run`.
    pub(super) fn run_limits(&self) -> ProcessLimits {
        self.inner.run
    }

    pub(super) fn scratch_root(&self) -> &Path {
        &self.inner.scratch_root
    }

    /// Runs a process to its end.
    pub(super) async fn launch(&self, job: Job<'_>) -> Result<Ended, LaunchError> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(LaunchError::Spawn)?;
        ours.set_nonblocking(true).map_err(LaunchError::Spawn)?;
        let reports = UnixStream::from_std(ours).map_err(LaunchError::Spawn)?;
        let mut child = self
            .command(&job)
            .stdin(OwnedFd::from(theirs))
            .spawn()
            .map_err(LaunchError::Spawn)?;
        let limits = job.limits;
        let told = tokio::time::timeout(limits.time, listen(&mut child, reports, limits)).await;
        // The socket is dropped now, whatever happened: the supervisor ends everything and then itself.
        end(&mut child).await;
        let said = told.unwrap_or(Err(LaunchError::TimedOut(limits.time)))?;
        Ok(Ended {
            ending: read(&said.reports, limits)?,
            stdout: String::from_utf8_lossy(&said.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&said.stderr).into_owned(),
        })
    }

    fn command(&self, job: &Job<'_>) -> Command {
        let mut command = Command::new(&self.inner.program);
        let limits = job.limits;
        command.arg0("tenantry").arg("hook-exec");
        if let Some(package) = job.package {
            command.arg("--package").arg(package);
        }
        command.arg("--scratch").arg(job.scratch.path());
        let seconds = limits.time.as_secs().saturating_add(1);
        for (flag, value) in [
            ("--cpu-seconds", seconds),
            ("--memory-bytes", limits.memory_bytes),
            ("--file-bytes", limits.file_bytes),
            (
                "--processes",
                u64::try_from(limits.processes).unwrap_or(u64::MAX),
            ),
        ] {
            command.arg(flag).arg(value.to_string());
        }
        if self.inner.may_be_unconfined {
            command.arg("--unconfined");
        }
        command.arg("--").args(job.command);
        command
            .env_clear()
            .envs(&job.environment)
            .current_dir(job.scratch.path())
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// What came through the three pipes.
struct Said {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    reports: Vec<u8>,
}

/// Reads everything until the end, or until it is too much. A supervisor that is gone while something of the hook still has its
/// outputs was ended by others.
async fn listen(
    child: &mut Child,
    reports: UnixStream,
    limits: ProcessLimits,
) -> Result<Said, LaunchError> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let outputs = pin!(async {
        tokio::try_join!(
            bounded(stdout, limits.stdout_bytes),
            bounded(stderr, limits.stderr_bytes),
        )
    });
    let reports = pin!(bounded(Some(reports), REPORTS));
    let ((stdout, stderr), reports) = match select(outputs, reports).await {
        Either::Left((outputs, reports)) => (outputs?, reports.await?),
        Either::Right((reports, outputs)) => {
            let reports = reports?;
            let Ok(outputs) = tokio::time::timeout(ORPHANED, outputs).await else {
                end_group(&reports);
                return Err(LaunchError::Lost);
            };
            (outputs?, reports)
        }
    };
    Ok(Said {
        stdout,
        stderr,
        reports,
    })
}

/// Ends the hook's group in place of a supervisor that is gone.
fn end_group(reports: &[u8]) {
    let group = lines(reports).find_map(|report| match report {
        Report::Started { group } => Pid::from_raw(group),
        _ => None,
    });
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

fn lines(reports: &[u8]) -> impl Iterator<Item = Report> {
    let lines = reports.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok())
}

async fn bounded(
    from: Option<impl AsyncRead + Unpin>,
    most: usize,
) -> Result<Vec<u8>, LaunchError> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        from.take(bound)
            .read_to_end(&mut bytes)
            .await
            .map_err(LaunchError::Read)?;
    }
    if bytes.len() > most {
        return Err(LaunchError::TooMuchOutput { most });
    }
    Ok(bytes)
}

/// Waits for the supervisor; one that does not end is ended, as the last resort, and the hook by its death.
async fn end(child: &mut Child) {
    if tokio::time::timeout(ENDING, child.wait()).await.is_ok() {
        return;
    }
    // One that ends meanwhile is what was wanted.
    let _ = child.start_kill();
    let _ = child.wait().await;
}

fn read(reports: &[u8], limits: ProcessLimits) -> Result<Ending, LaunchError> {
    let mut ended = Err(LaunchError::Lost);
    for report in lines(reports) {
        match report {
            // The second stage says so, and ends with success all the same.
            Report::NotStarted(why) => return Err(LaunchError::NotStarted(why)),
            Report::Ended { crowded: true, .. } => {
                return Err(LaunchError::TooManyProcesses {
                    most: limits.processes,
                });
            }
            Report::Ended { left, .. } if left > 0 => {
                return Err(LaunchError::LeftBehind { left });
            }
            Report::Ended { exit, signal, .. } => {
                ended = exit
                    .map(Ending::Exit)
                    .or_else(|| signal.map(Ending::Signal))
                    .ok_or(LaunchError::Lost);
            }
            Report::Started { .. } => {}
        }
    }
    ended
}
