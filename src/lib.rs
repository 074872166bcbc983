//! The process: one HTTPS server and the reconcile loops, both asking `domain`.
//!
//! This crate translates: bytes, SQL, OpenBao answers and Kubernetes objects become facts; the domain's steps become writes.
//! It holds no rule of its own. [`run`] is the only place that builds adapters; only [`adapters`] name SQL, OpenBao paths
//! and Kubernetes verbs.

pub mod adapters;
pub mod applications;
pub mod cli;
pub mod commands;
pub mod controllers;
pub mod effects;
pub mod heartbeat;
pub mod http;
pub mod leader;
mod loops;
pub mod metrics;
pub mod packages;
pub mod run;
pub mod serving;
pub mod telemetry;
pub mod view;
mod watches;
