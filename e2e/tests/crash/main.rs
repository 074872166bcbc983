//! `kill -9` at every single effect, and a restart: everything converges (T2, reliability section 1).
//!
//! A failpoint sits before and after each external write, and each gets a Tenant or an Instance of its own that is caught
//! there; one kill then ends all of them at once. Before the restart the stores must hold exactly what the effects up to the
//! failpoint left; after it there must be one password, one role and one database, and after a deletion nothing. `complete`
//! compares the plans with the effects of the domain. The binary needs `--features failpoints`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod census;
mod complete;
mod creating;
mod deleting;
mod doomed;
mod drift;
mod instances;
mod plan;
mod proof;
mod repairing;
mod traces;
