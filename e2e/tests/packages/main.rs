//! Stories about package repositories: registries that are scanned, and what is published of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod crashed;
mod pushed;
mod scanned;
mod source;
mod troubled;
