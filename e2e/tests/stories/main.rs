//! The end-to-end stories, one module per story, linked once.
//!
//! A story shares the bed that `make bed` started and isolates itself by namespace and database. One that breaks a
//! shared part starts a private bed and has a name that begins with `alone_`: nextest then runs it by itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod bed_registry;
mod bed_works;
mod chart;
mod chart_golden;
mod chart_refused;
mod chart_upgrade;
mod differential;
mod legacy;
