//! The entry point: arguments in, exit code out. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser;
use tenantry::cli::{Cli, Command};

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(options) => match tenantry::run::run(*options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("tenantry: {error:#}");
                ExitCode::FAILURE
            }
        },
    }
}
