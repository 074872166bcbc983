//! Stories about releases: packages applied by the real helm, as the service account of a namespace.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod applied;
mod recovered;
mod refused;
mod stand;
