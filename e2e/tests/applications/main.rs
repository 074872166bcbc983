//! Stories about applications: packages published from a directory.
//!
//! Each starts a bed of its own: the shared process has no package directory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod crashed;
mod directory;
mod published;
mod unserved;
