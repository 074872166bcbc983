//! The second stage: takes everything away from this process that a hook does not need, and becomes the hook.
//!
//! Read and execute: the package and the system's programs and libraries; read: roots of TLS and the resolver's file; write:
//! the scratch folder. Everything else of the file system is out of reach, `/proc` and the service account's folder among it; where the
//! kernel has it, so are signals and abstract sockets outwards. The network stays open.

use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Pid, Resource, Rlimit, Signal};

use super::filter;
use crate::adapters::hooks::report::Report;
use crate::cli::HookExecOptions;

/// The newest rules that are asked for; an older kernel keeps those that it knows.
const NEWEST: ABI = ABI::V6;
/// Programs and libraries of the system.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What programs read to reach others.
const READABLE: [&str; 2] = ["/etc/ssl", "/etc/resolv.conf"];
/// Open files of one process.
const FILES: u64 = 1024;
/// Processes of this user on the whole machine, as far as the kernel counts them; the supervisor counts those of the hook.
const PROCESSES: u64 = 2048;
/// A hook gets a ninth of the time of what else runs, so that its supervisor can still count when it starts too much.
const NICE: i32 = 10;

/// Why the hook was not started.
#[derive(Debug, thiserror::Error)]
enum ConfineError {
    #[error("its supervisor is gone")]
    Orphaned,
    #[error("the death signal cannot be set: {0}")]
    DeathSignal(rustix::io::Errno),
    #[error("the limit {0:?} cannot be set: {1}")]
    Limit(Resource, rustix::io::Errno),
    #[error("its priority cannot be lowered: {0}")]
    Priority(rustix::io::Errno),
    #[error("privileges cannot be given up: {0}")]
    Privileges(rustix::io::Errno),
    #[error("Landlock failed: {0}")]
    Landlock(RulesetError),
    #[error(
        "this kernel has no Landlock, so a hook could read what Tenantry may read: hooks are refused unless \
         --allow-unconfined-hooks is given"
    )]
    NoLandlock,
    #[error("the filter's request cannot be read: {0}")]
    Request(std::io::Error),
    #[error("it cannot be executed: {0}")]
    Execute(std::io::Error),
}

/// Does not come back if the hook was started, nor after a filter.
pub(super) fn become_hook(
    options: &HookExecOptions,
    supervisor: u32,
    _server: &UnixStream,
) -> Option<Report> {
    confine_and_execute(options, supervisor)
        .err()
        .map(|error| Report::NotStarted(error.to_string()))
}

fn confine_and_execute(options: &HookExecOptions, supervisor: u32) -> Result<(), ConfineError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(ConfineError::DeathSignal)?;
    // It may have died before the signal was set.
    let parent = rustix::process::getppid().map(Pid::as_raw_pid);
    if parent.and_then(|parent| u32::try_from(parent).ok()) != Some(supervisor) {
        return Err(ConfineError::Orphaned);
    }
    // Also what this process inherited without knowing; the socket to the server is a copy that closes by itself.
    close_fds::CloseFdsBuilder::new().cloexecfrom(3);
    rustix::process::setpriority_process(None, NICE).map_err(ConfineError::Priority)?;
    limit(options)?;
    let request = match options.command.first() {
        Some(_) => None,
        None => Some(filter::request(&options.scratch).map_err(ConfineError::Request)?),
    };
    restrict(options)?;
    match (request, options.command.split_first()) {
        (Some(request), _) => {
            filter::answer(&request);
            Ok(())
        }
        (None, Some((program, arguments))) => Err(ConfineError::Execute(
            Command::new(program)
                .args(arguments)
                .stdin(Stdio::null())
                .exec(),
        )),
        (None, None) => Ok(()),
    }
}

fn limit(options: &HookExecOptions) -> Result<(), ConfineError> {
    let limits = [
        (Resource::Cpu, options.cpu_seconds),
        (Resource::Data, options.memory_bytes),
        (Resource::Fsize, options.file_bytes),
        (Resource::Nproc, PROCESSES),
        (Resource::Nofile, FILES),
        (Resource::Core, 0),
    ];
    for (resource, most) in limits {
        let had = rustix::process::getrlimit(resource).maximum;
        let most = Some(had.map_or(most, |had| had.min(most)));
        let limit = Rlimit {
            current: most,
            maximum: most,
        };
        rustix::process::setrlimit(resource, limit)
            .map_err(|error| ConfineError::Limit(resource, error))?;
    }
    Ok(())
}

fn restrict(options: &HookExecOptions) -> Result<(), ConfineError> {
    rustix::thread::set_no_new_privs(true).map_err(ConfineError::Privileges)?;
    let status = landlock(options).map_err(ConfineError::Landlock)?;
    if status == RulesetStatus::NotEnforced && !options.unconfined {
        return Err(ConfineError::NoLandlock);
    }
    Ok(())
}

fn landlock(options: &HookExecOptions) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = read | AccessFs::Execute;
    // Nothing that was written is executed, and no device is made.
    let write = AccessFs::from_all(NEWEST)
        & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let null = AccessFs::ReadFile | AccessFs::WriteFile;
    // A filter needs nothing but what it has in memory.
    let is_hook = !options.command.is_empty();
    let when_hook = |paths: &[&str]| -> Vec<PathBuf> {
        let paths = paths.iter().filter(|_| is_hook);
        paths.map(PathBuf::from).collect()
    };
    let rules = |paths: Vec<PathBuf>, access: BitFlags<AccessFs>| path_beneath_rules(paths, access);
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(rules(options.package.iter().cloned().collect(), execute))?
        .add_rules(rules(when_hook(&SYSTEM), execute))?
        .add_rules(rules(when_hook(&READABLE), read))?
        .add_rules(rules(when_hook(&["/dev/null"]), null))?
        .add_rules(rules(
            vec![options.scratch.clone()]
                .into_iter()
                .filter(|_| is_hook)
                .collect(),
            write,
        ))?
        .restrict_self()?;
    Ok(status.ruleset)
}
