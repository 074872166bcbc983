//! The program over a folder of cases: prints each case that fails and how many passed. What a case is, is its runner's.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// Exit code 1 if a case fails, 2 if the folder cannot be read.
pub fn run<C, E: Display, F: Display>(
    read: impl Fn(&Path) -> Result<Vec<C>, E>,
    title: impl Fn(&C) -> String,
    run: impl Fn(&C) -> Result<(), F>,
) -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("the folder with the cases is missing");
        return ExitCode::from(2);
    };
    let cases = match read(Path::new(&folder)) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let mut failed = 0;
    for case in &cases {
        if let Err(failure) = run(case) {
            failed += 1;
            println!("FAILED {}\n{failure}\n", title(case));
        }
    }
    println!("{} passed, {failed} failed", cases.len() - failed);
    ExitCode::from(u8::from(failed > 0))
}
