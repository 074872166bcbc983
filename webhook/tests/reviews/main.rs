//! Whole `AdmissionReviews` through the public router: what is answered, never how.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod application;
mod envelope;
mod hostile;
mod hostile_settings;
mod instance;
mod limits;
mod observed;
mod packages;
mod properties;
mod tenant;
mod tenant_edits;
mod world;
