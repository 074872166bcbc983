//! What the chart gives to Prometheus and Grafana: alerts that fire when they should and only then, and queries that name only
//! what a running process exports.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod alerts;
mod queries;
mod rendered;
mod scraped;
