//! The bed's processes: started in a process group of their own, recorded in the run folder, stopped by pid.
//!
//! Decides whether a recorded pid is still the process that was started (start time and program); never signals one
//! that is not.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::address::has_node;
use super::folder::RunFolder;
use super::node;

/// How long a process may take to end after it was asked, before it is killed.
const GRACE: Duration = Duration::from_secs(8);

/// What is known of a started process; the file `pids/NAME.json` of the run folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Process {
    /// Its name in the bed, and of its log.
    pub name: String,
    /// Its process id.
    pub pid: i32,
    /// Its start, in clock ticks since boot: a pid that was given away again has another.
    started: u64,
    program: PathBuf,
    stop_signal: i32,
}

/// A process that should run does not: waiting longer is in vain.
#[derive(Debug, thiserror::Error)]
#[error("{name} ended by itself; the end of its log:\n{tail}")]
pub struct Ended {
    name: String,
    tail: String,
}

/// How to start a process.
pub struct Spawn<'a> {
    /// Its name in the bed.
    pub name: &'a str,
    /// The program and its arguments.
    pub command: Command,
    /// What asks it to end quickly and cleanly.
    pub stop_signal: Signal,
    program: PathBuf,
}

impl<'a> Spawn<'a> {
    /// `program`, ended by SIGTERM.
    pub fn new(name: &'a str, program: impl AsRef<Path>) -> Self {
        Self {
            name,
            command: Command::new(program.as_ref()),
            stop_signal: Signal::SIGTERM,
            program: program.as_ref().to_owned(),
        }
    }

    /// A command that runs `program` in its turn, and keeps its path among its arguments.
    #[must_use]
    pub fn wrapped(name: &'a str, command: Command, program: &Path) -> Self {
        Self {
            name,
            command,
            stop_signal: Signal::SIGTERM,
            program: program.to_owned(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<std::ffi::OsStr>>(
        mut self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        self.command.args(arguments);
        self
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub fn env(mut self, key: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Starts it: own process group (it outlives the starter and its Ctrl-C), no input, output appended to `logs/NAME.log`.
    pub fn start(mut self, run: &RunFolder) -> Result<Process> {
        use std::os::unix::process::CommandExt as _;
        let name = self.name;
        let log = log_file(run, name)?;
        let program = self.program;
        let child = self
            .command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {name} ({})", program.display()))?;
        let pid = i32::try_from(child.id())?;
        let started =
            start_time(pid).ok_or_else(|| anyhow!("{name} ended at once; see logs/{name}.log"))?;
        let process = Process {
            name: name.to_owned(),
            pid,
            started,
            program,
            stop_signal: self.stop_signal as i32,
        };
        fs::write(pid_file(run, name), serde_json::to_string(&process)?)?;
        Ok(process)
    }
}

impl Process {
    /// The recorded process of that name, running or not; `None` if none was started or it was stopped.
    #[must_use]
    pub fn recorded(run: &RunFolder, name: &str) -> Option<Self> {
        serde_json::from_slice(&fs::read(pid_file(run, name)).ok()?).ok()
    }

    /// All recorded processes of a bed.
    #[must_use]
    pub fn all(run: &RunFolder) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(run.join("pids")) else {
            return Vec::new();
        };
        let read = |entry: fs::DirEntry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok();
        entries.flatten().filter_map(read).collect()
    }

    /// Whether it runs and is still the one that was started.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.reap();
        let program = self.program.as_os_str().as_encoded_bytes();
        let command = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        // Empty for a moment while the program is being loaded.
        let same_program =
            command.is_empty() || command.windows(program.len()).any(|part| part == program);
        same_program && start_time(self.pid) == Some(self.started)
    }

    /// An error that shows the end of its log if it no longer runs.
    pub fn check(&self, run: &RunFolder) -> Result<()> {
        if self.is_alive() {
            return Ok(());
        }
        let log = fs::read_to_string(log_path(run, &self.name)).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        let tail = lines
            .get(lines.len().saturating_sub(15)..)
            .unwrap_or_default()
            .join("\n");
        Err(Ended {
            name: self.name.clone(),
            tail,
        }
        .into())
    }

    /// Sends a signal, if it is still the process that was started.
    pub fn signal(&self, signal: Signal) {
        if self.is_alive() {
            // It may end between the two lines: then there is nothing left to signal.
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }

    /// Asks it to end, waits, kills it if it does not.
    pub fn stop(&self, run: &RunFolder) {
        stop_all(run, std::slice::from_ref(self));
    }

    /// Kills it without a warning and waits until it is gone.
    pub fn kill9(&self, run: &RunFolder) {
        self.signal(Signal::SIGKILL);
        while self.is_alive() {
            std::thread::sleep(Duration::from_millis(5));
        }
        forget(run, self);
    }

    /// A child of this process stays a zombie until it is waited for; anybody else's is not ours to wait for.
    fn reap(&self) {
        let _ = waitpid(Pid::from_raw(self.pid), Some(WaitPidFlag::WNOHANG));
    }
}

/// Stops them together: asked at once, awaited together, killed when the grace is over.
fn stop_all(run: &RunFolder, processes: &[Process]) {
    for process in processes {
        process.signal(Signal::try_from(process.stop_signal).unwrap_or(Signal::SIGTERM));
    }
    let start = Instant::now();
    while start.elapsed() < GRACE && processes.iter().any(Process::is_alive) {
        std::thread::sleep(Duration::from_millis(10));
    }
    for process in processes {
        process.kill9(run);
    }
}

/// Stops all processes of a bed. etcd goes last: the API server would wait for it in vain.
pub fn stop_bed(run: &RunFolder) {
    let (last, first): (Vec<_>, Vec<_>) = Process::all(run)
        .into_iter()
        .partition(|process| process.name == "etcd");
    stop_all(run, &first);
    stop_all(run, &last);
    if has_node(run) {
        node::remove(run);
    }
}

fn forget(run: &RunFolder, process: &Process) {
    // Another one of the same name may have been started since.
    if Process::recorded(run, &process.name).is_some_and(|recorded| recorded.pid == process.pid) {
        let _ = fs::remove_file(pid_file(run, &process.name));
    }
}

/// A log of the bed, opened for appending.
pub fn log_file(run: &RunFolder, name: &str) -> Result<File> {
    let path = log_path(run, name);
    File::options()
        .create(true)
        .append(true)
        .open(&path)
        .with_context(|| format!("opening {}", path.display()))
}

fn log_path(run: &RunFolder, name: &str) -> PathBuf {
    run.logs().join(format!("{name}.log"))
}

fn pid_file(run: &RunFolder, name: &str) -> PathBuf {
    run.join("pids").join(format!("{name}.json"))
}

/// Field 22 of `/proc/PID/stat`; `None` for a process that is gone or a zombie. One whose first thread is a zombie is there until
/// its other threads have ended too: they hold its sockets, and its successor could not listen.
fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in field 2 may contain anything, so count from its closing parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "Z" && threads(pid) < 2 {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn threads(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}
