//! Hooks of packages as processes: what they are told and give back, what they cannot do, and that nothing of them stays.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod confined;
mod filters;
mod limits;
mod nothing_left;
mod protocol;
mod world;
