//! The entry point: arguments in, exit code out. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser;
use tenantry::cli::Cli;

fn main() -> ExitCode {
    tenantry::commands::execute(Cli::parse())
}
