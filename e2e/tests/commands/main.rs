//! End-to-end stories about the commands of the program beside `tenantry run`; one module per command.
//!
//! They share one bed; `check`, `crds`, `package` and the help need none.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod check;
mod crds;
mod package;
mod registry;
mod usage;
