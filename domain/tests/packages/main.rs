//! What is said of a package beside its schemas: requirements, `verify`, orphan resources (sections 2, 9, 11).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod orphans;
mod ranges;
mod requirements;
mod verify;
