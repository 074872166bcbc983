//! The test bed and the pieces that end-to-end stories are written with.
//!
//! Decides how the real parts (etcd, the Kubernetes API server and controller manager, PostgreSQL, OpenBao, External
//! Secrets Operator) are started, found and stopped, and how a story speaks to them. Never contains what Tenantry
//! itself does, and never touches a process that it did not start.
// Every error here is an `anyhow::Error` whose text says which step failed; a section per function would repeat that.
#![allow(clippy::missing_errors_doc)]

pub mod bed;
pub mod world;

pub use bed::{Bed, Options};
