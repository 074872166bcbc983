//! Runs every `*.json` of a folder in the format of `domain/tests/vectors-hooks` and prints each case that fails.
//!
//! `cargo run -p domain --example hooks -- DIR`; exit code 1 if a case fails, 2 if the folder cannot be read.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../tests/vectors-hooks/runner/mod.rs"]
mod runner;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: hooks DIR");
        return ExitCode::from(2);
    };
    let cases = match runner::read(Path::new(&folder)) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let mut failed = 0;
    for case in &cases {
        if let Err(failure) = case.run() {
            failed += 1;
            println!("FAILED {}\n{failure}\n", case.title());
        }
    }
    println!("{} passed, {failed} failed", cases.len() - failed);
    ExitCode::from(u8::from(failed > 0))
}
