//! The rules of Tenantry, as pure functions: facts go in, verdicts and single steps come out.
//!
//! This crate decides everything that is a rule: what a valid object is, which edit is refused, what the next
//! step of a reconcile round is, what the `Ready` condition says and when to look again. It never does IO: no async, no
//! Kubernetes, no clock, no randomness, no environment, no logging. Time, passwords and UIDs are arguments.

pub mod applications;
pub mod hooks;
pub mod packages;
pub mod releases;
pub mod settings;
pub mod tenancy;
pub mod violation;
