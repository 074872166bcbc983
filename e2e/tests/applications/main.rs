//! Stories about applications: packages published from a directory, and Applications judged by them.
//!
//! Those that crash, restart or reconfigure the process start a bed of their own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod crashed;
mod decisions;
mod directory;
mod enforced;
mod published;
mod rows;
mod stand;
mod unserved;
