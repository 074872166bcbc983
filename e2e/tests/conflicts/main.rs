//! End-to-end stories about what is not ours, what was changed by hand, and what is put right again; one module per story.
//!
//! They share one bed and one process; each has its own namespace, Instance and registry, so they run in any order and at
//! the same time. `alone_…` starts a bed of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod drift_of_database;
mod drift_of_projection;
mod drift_of_role;
mod drift_reported;
mod edited_while_wiped;
mod endpoint_moved;
mod entry_lost;
mod entry_rotated;
mod foreign_database;
mod foreign_entry;
mod foreign_projection;
mod foreign_role;
mod foreign_secret;
mod forged_owner;
mod outside;
mod planted;
mod race;
mod retained_record;
mod scene;
mod second_tenant;
mod secret_in_between;
mod status_forged;
mod status_wiped;
