//! Stories about making tenants: create to `Ready`, refusals, edits, many at once, and what the server serves meanwhile.
//!
//! All but those called `alone_…` share the bed and the process under test; they isolate themselves by namespace, Instance and
//! database, so they hold in any order and beside each other.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod edited;
mod extended;
mod manifests;
mod mistakes;
mod ready;
mod refused;
mod serving;
mod together;
mod woken;
mod writes;
