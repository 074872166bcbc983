//! Whole `AdmissionReviews` through the public router: what is answered, never how.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod envelope;
mod hostile;
mod instance;
mod limits;
mod observed;
mod properties;
mod tenant;
mod tenant_edits;
mod world;
