//! The tests over a folder of cases: one test each, by its title. What a case is, is its runner's.

use std::fmt::{Debug, Display};
use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};

/// Runs the cases of `tests/<folder>` as the arguments of the test program say, and ends the process.
pub fn run<C: Send + 'static, E: Debug, F: Display + 'static>(
    folder: &str,
    read: impl Fn(&Path) -> Result<Vec<C>, E>,
    title: fn(&C) -> String,
    run: fn(&C) -> Result<(), F>,
) {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let cases = read(&folder).expect("the cases of this folder are readable");
    let trial = |case| {
        let title = title(&case);
        Trial::test(title, move || {
            run(&case).map_err(|failure| Failed::from(failure.to_string()))
        })
    };
    let trials = cases.into_iter().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit();
}
