//! Hooks of packages: what their programs say, what they are told, and what comes of what they write (`hook list`, `config`,
//! `run`, `check`).
//!
//! Reading order: [`limits`], [`discovery`] (which files are hook programs), [`config`] and [`binding`] (what a program says it
//! wants), [`selector`], [`crontab`] and [`jq`] (the languages in it), [`lifecycle`] (what runs when, and what a failure
//! means), [`environment`] and [`context`] (what a run is given), [`outcome`] and [`outputs`] (what it gives back), [`patches`],
//! [`operations`] and [`metrics`] (the three kinds of output), [`check`] (the settings check). Nothing here runs a program,
//! reads a file or looks at a clock.

pub mod binding;
pub mod check;
pub mod config;
pub mod context;
pub mod crontab;
pub mod discovery;
pub mod environment;
pub mod jq;
pub mod lifecycle;
pub mod limits;
pub mod metrics;
pub mod operations;
pub mod outcome;
pub mod outputs;
pub mod patches;
pub mod selector;
mod stream;
