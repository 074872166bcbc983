//! The cases of this folder, one test each, named by step and case.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod runner;
#[path = "../cases/trials.rs"]
mod trials;

use runner::Case;

fn main() {
    trials::run("vectors-hooks", runner::read, Case::title, Case::run);
}
