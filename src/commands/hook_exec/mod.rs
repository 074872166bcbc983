//! `tenantry hook-exec`: other people's programs, in a process that can do little and leaves nothing behind.
//!
//! Two stages, both of this program. The first supervises: whatever the hook starts ends up below it, it ends all of that when
//! the hook has ended, when too many processes run, or when the other end of its standard input is gone, be it that the server
//! gave up or died. The second confines itself and becomes the hook. Standard input is a socket to the server and carries
//! [`Report`]s; standard output and standard error are the hook's.

mod confined;
mod filter;
mod supervisor;

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::adapters::hooks::report::Report;
use crate::cli::HookExecOptions;

/// Does one of the two stages.
pub(super) fn execute(options: &HookExecOptions) -> ExitCode {
    let Ok(server) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::FAILURE;
    };
    let server = UnixStream::from(server);
    let report = match options.confine {
        None => supervisor::supervise(options, &server),
        Some(supervisor) => confined::become_hook(options, supervisor, &server),
    };
    if let Some(report) = report {
        tell(&server, &report);
    }
    ExitCode::SUCCESS
}

/// A server that is gone needs no report.
fn tell(mut server: &UnixStream, report: &Report) {
    if let Ok(mut line) = serde_json::to_string(report) {
        line.push('\n');
        let _ = server.write_all(line.as_bytes());
    }
}
