//! The first stage: starts the second, waits, and ends all that is left.
//!
//! As a subreaper it becomes the parent of every orphan below it, so nothing that a hook starts can hide from it, not even
//! behind a new session.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use crate::adapters::hooks::report::Report;
use crate::cli::HookExecOptions;

/// How often processes are counted, and the server is looked for.
const LOOK: Duration = Duration::from_millis(100);
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
    let crowded = Arc::new(AtomicBool::new(false));
    let watch = {
        let crowded = Arc::clone(&crowded);
        let most = options.processes;
        move || watch(&watched, most, &crowded)
    };
    if let Err(error) = std::thread::Builder::new().spawn(watch) {
        end_all();
        return failed("the hook cannot be watched", &error);
    }
    let status = wait_for(child);
    let left = end_rest();
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
fn end_rest() -> usize {
    let patience = Instant::now() + GRACE;
    let mut left = 0;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => continue,
            Ok(None) => {}
            Err(_) => return left,
        }
        if Instant::now() >= patience {
            left = left.max(end_all());
        }
        std::thread::sleep(ROUND);
    }
}

/// Ends the hook when the server is gone, or when too many processes run; the waiting thread then comes to its end.
fn watch(mut server: &UnixStream, most: usize, crowded: &AtomicBool) {
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
        if below().len() > most {
            crowded.store(true, Ordering::SeqCst);
            break;
        }
    }
    loop {
        end_all();
        std::thread::sleep(ROUND);
    }
}

/// Sends every process below this one the signal that cannot be refused; gives how many there were.
fn end_all() -> usize {
    let found = below();
    for pid in &found {
        // One that has ended meanwhile is what was wanted.
        let _ = rustix::process::kill_process(*pid, Signal::KILL);
    }
    found.len()
}

/// Every process below this one that has not ended.
fn below() -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let Ok(processes) = procfs::process::all_processes() else {
        return Vec::new();
    };
    for stat in processes
        .flatten()
        .filter_map(|process| process.stat().ok())
    {
        if stat.state != 'Z' {
            children.entry(stat.ppid).or_default().push(stat.pid);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![rustix::process::getpid().as_raw_pid()];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child);
            found.extend(Pid::from_raw(child));
        }
    }
    found
}
