//! Stories of what ends, changes and fails: deletion, retention, Instances, outages and secrets; one module each, linked once.
//!
//! A story shares the bed that `make bed` started and isolates itself by namespace, Instance and database. One that breaks a
//! shared part starts a private bed and has a name that begins with `alone_`: nextest then runs it by itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod canary;
mod canary_scan;
mod dead_server;
mod deletion;
mod deletion_obstacles;
mod deletion_ownership;
mod deletion_without_instance;
mod extras;
mod instance_credentials;
mod instance_deletion;
mod instance_registry;
mod instance_rights;
mod instance_tls;
mod outages;
mod policy;
mod restarts;
mod retain;
mod trust_rotated;
mod without_eso;
