//! Each adapter alone against its real part, where a story could not tell which side was wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod openbao;
mod postgres;
mod projection;
mod registry;
