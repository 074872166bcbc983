//! The pieces that stories are written with: objects in the cluster, SQL, processes under test.
//!
//! Never asserts anything about Tenantry: that is what stories do.

pub mod chart;
pub mod command;
pub mod condition;
pub mod failpoint;
pub mod kubectl;
pub mod load;
pub mod objects;
pub mod program;
pub mod psql;
pub mod tenancy;
pub mod tenantry;
