//! The PostgreSQL adapter against a real server: `TENANTRY_TEST_PG` names the file that `examples/server.rs` wrote.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod access;
mod creating;
mod deleting;
mod drift;
mod load;
mod preflight;
mod world;
