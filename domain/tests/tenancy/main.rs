//! The tenancy rules as tests: each is named by the sentence that it proves, with the id of the contract in its name.
//!
//! `world` is a pure model of everything outside (registry, server, OpenBao, ESO, the Tenant object); `simulator` lets the real
//! decision functions act on it and checks the standing rules at every step. Nothing here does IO.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    // The model keeps what the stores keep: many independent flags, and text that is replaced whole.
    clippy::struct_excessive_bools,
    clippy::assigning_clones
)]

mod admission;
mod admission_edits;
mod away;
mod conflicts;
mod creating;
mod deleting;
mod documented;
mod drift;
mod effects;
mod explorer;
mod immutable;
mod instance;
mod instance_operations;
mod object;
mod observation;
mod phases;
mod proof;
mod properties;
mod records;
mod restarts;
mod simulator;
mod strategies;
mod world;
