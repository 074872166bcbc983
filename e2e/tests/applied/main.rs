//! Stories about Applications that are applied: from a package and settings to a release, and back to nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod crashed;
mod lived;
mod registry;
mod sources;
mod stand;
mod troubled;
