//! Hooks: what their programs say, and what comes of what they write.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod asked;
mod filters;
mod patches;
mod written;
