//! Stories of several processes on one cluster: who leads, and which certificate they serve; one module each, linked once.
//!
//! Each has a bed of its own, because the processes of a shared bed would take part.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod election;
mod files;
mod load;
mod self_signed;
mod service;
