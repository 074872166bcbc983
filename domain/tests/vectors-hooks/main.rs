//! The cases of this folder, one test each, named by step and case.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod runner;

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors-hooks");
    let cases = runner::read(&folder).expect("the vectors of this folder are readable");
    let trials = cases
        .into_iter()
        .map(|case| Trial::test(case.title(), move || case.run().map_err(Failed::from)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}
