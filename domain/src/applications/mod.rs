//! An Application's life as its status tells it: the steps of a run, the conditions derived from them, and who uses a version.
//!
//! Reading order: [`steps`] (how far a run came), [`conditions`] (what people see of it), [`summary`] (in one word), [`usage`] (who keeps a
//! version). Facts come in; nothing is read or written here.

pub mod conditions;
pub mod steps;
pub mod summary;
pub mod usage;
