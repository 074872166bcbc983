//! Runs every `*.json` of a folder in the format of `domain/tests/vectors-hooks` and prints each case that fails.
//!
//! `cargo run -p domain --example hooks -- DIR`; exit code 1 if a case fails, 2 if the folder cannot be read.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../tests/cases/print.rs"]
mod print;
#[path = "../tests/vectors-hooks/runner/mod.rs"]
mod runner;

use std::process::ExitCode;

use runner::Case;

fn main() -> ExitCode {
    print::run(runner::read, Case::title, Case::run)
}
