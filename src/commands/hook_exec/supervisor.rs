//! The first stage: starts the second, waits, and ends all that is left.
//!
//! As a subreaper it becomes the parent of every orphan below it, so nothing that a hook starts can hide from it, not even
//! behind a new session.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::tell;
use crate::adapters::hooks::report::Report;
use crate::cli::HookExecOptions;

/// How often processes are counted. A bomb of processes grows meanwhile.
const LOOK: Duration = Duration::from_millis(20);
/// What a hook started may end a little after it.
const GRACE: Duration = Duration::from_millis(500);
/// Between two rounds of ending processes.
const ROUND: Duration = Duration::from_millis(5);

/// Runs the hook to its end. Gives what to tell the server.
pub(super) fn supervise(options: &HookExecOptions, server: &UnixStream) -> Option<Report> {
    let failed = |step: &str, error: &dyn std::fmt::Display| {
        Some(Report::NotStarted(format!("{step}: {error}")))
    };
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        return failed("its orphans cannot be taken over", &error);
    }
    let watched = match server.try_clone() {
        Ok(watched) => watched,
        Err(error) => return failed("the server cannot be watched", &error),
    };
    let child = match start() {
        Ok(child) => child,
        Err(error) => return failed("hook-exec cannot be started", &error),
    };
    let group = child.as_raw_pid();
    tell(server, &Report::Started { group });
    let crowded = Arc::new(AtomicBool::new(false));
    let watch = {
        let crowded = Arc::clone(&crowded);
        let most = options.processes;
        move || watch(&watched, child, most, &crowded)
    };
    if let Err(error) = std::thread::Builder::new().spawn(watch) {
        end_all(child);
        return failed("the hook cannot be watched", &error);
    }
    let status = wait_for(child);
    let left = end_rest(child);
    Some(Report::Ended {
        exit: status.and_then(WaitStatus::exit_status),
        signal: status.and_then(WaitStatus::terminating_signal),
        left,
        crowded: crowded.load(Ordering::SeqCst),
    })
}

/// Starts the second stage with the same options. The thread that starts it must live as long as it: its death would end the hook.
fn start() -> std::io::Result<Pid> {
    let own = std::process::id().to_string();
    let child = Command::new("/proc/self/exe")
        .arg0("tenantry")
        .args(["hook-exec", "--confine", &own])
        .args(std::env::args_os().skip(2))
        .stdin(Stdio::inherit())
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| std::io::Error::other("it has no process id"))
}

/// Waits for the hook itself; orphans that end meanwhile are reaped.
fn wait_for(child: Pid) -> Option<WaitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return Some(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Waits shortly for what the hook has left behind, then ends it. Gives how many processes had to be ended.
fn end_rest(group: Pid) -> usize {
    let patience = Instant::now() + GRACE;
    let mut left = 0;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => continue,
            Ok(None) => {}
            Err(_) => return left,
        }
        if Instant::now() >= patience {
            left = left.max(end_all(group));
        }
        std::thread::sleep(ROUND);
    }
}

/// Ends the hook when the server is gone, or when too many processes run; the waiting thread then comes to its end.
fn watch(mut server: &UnixStream, group: Pid, most: usize, crowded: &AtomicBool) {
    let is_timed = server.set_read_timeout(Some(LOOK)).is_ok();
    let mut byte = [0_u8; 1];
    loop {
        let is_there = match server.read(&mut byte) {
            Ok(0) => false,
            Ok(_) => true,
            Err(error) => matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ),
        };
        if !is_there || !is_timed {
            break;
        }
        if below(most + 1).len() > most {
            crowded.store(true, Ordering::SeqCst);
            break;
        }
    }
    loop {
        end_all(group);
        std::thread::sleep(ROUND);
    }
}

/// Sends every process below this one the signal that cannot be refused; gives how many there were. The hook's group gets it in
/// one step, which no process of it can outrun; those that left the group are looked for.
fn end_all(group: Pid) -> usize {
    // First of all, and before anything is looked for: what grows must not grow on. What has ended meanwhile is what was wanted.
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
    let found = below(usize::MAX);
    for pid in &found {
        let _ = rustix::process::kill_process(*pid, Signal::KILL);
    }
    found.len()
}

/// Every process below this one, or so many of them: counting must not take longer the more there are.
fn below(most: usize) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut parents = vec![rustix::process::getpid()];
    while let Some(parent) = parents.pop().filter(|_| found.len() < most) {
        let children = children(parent);
        parents.extend(&children);
        found.extend(children);
    }
    found
}

/// The children of a process, which may have ended meanwhile.
fn children(parent: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", parent.as_raw_pid()));
    let lists = threads
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let mut children = Vec::new();
    for list in lists {
        let ids = list.split_whitespace().filter_map(|id| id.parse().ok());
        children.extend(ids.filter_map(Pid::from_raw));
    }
    children
}
