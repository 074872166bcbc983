//! The commands: one module each, from its options to an exit code.
//!
//! Exit codes of all of them: 0 done; 1 refused, invalid or failed; 2 the command line or an input could not be read. Results go
//! to standard output, everything else to standard error.

pub mod check;
mod crds;
mod helm;
mod hook_exec;
mod manifests;
pub mod package;
pub mod registry;

use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::cli::{Cli, Command};

/// The command did what it was asked for.
const DONE: u8 = 0;
/// Something was refused, is invalid, or failed.
const FAILED: u8 = 1;
/// An input could not be read; clap ends with the same code for a wrong flag.
const UNREADABLE: u8 = 2;

/// Does what the command line says.
#[must_use]
pub fn execute(cli: Cli) -> ExitCode {
    match cli.command {
        Command::Run(options) => exit_of(&crate::run::run(*options)),
        Command::Crds(options) => exit_of(&crds::print(options.applications)),
        Command::Check(options) => ExitCode::from(check::check(&options)),
        Command::Package(command) => ExitCode::from(package::package(&command)),
        Command::HookExec(options) => hook_exec::execute(&options),
        Command::HelmExec(options) => helm::execute(&options),
        Command::HelmPostRender(options) => helm::post_render(&options),
        Command::Registry(command) => ExitCode::from(registry::registry(&command)),
    }
}

fn exit_of<E: std::error::Error>(outcome: &Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::from(DONE),
        Err(error) => ExitCode::from(fail(error)),
    }
}

/// Says why a command failed; gives the exit code.
fn fail(error: &dyn std::error::Error) -> u8 {
    eprintln!("tenantry: {}", with_causes(error));
    FAILED
}

/// An error with what led to it, each said once.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

/// Writes to standard output. A reader that went away, such as `head`, wanted no more: that is no failure.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("--flag file: cannot be read")]
    struct Outer(#[source] io::Error);

    #[test]
    fn an_error_is_told_with_its_cause_once() {
        let error = Outer(io::Error::other("no such file"));
        assert_eq!(
            with_causes(&error),
            "--flag file: cannot be read: no such file"
        );
    }
}
