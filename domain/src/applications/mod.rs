//! An Application's life: where a run stopped, the conditions derived from it, what is done about its release, and who uses a version.
//!
//! Reading order: [`run`] (where a run stopped), [`steps`] (how far it came), [`conditions`] (what people see of it), [`summary`] (in one word),
//! [`workloads`] (whether it is rolled out), [`release`] (what is done), [`effect`] (what the world may be asked to do), [`usage`] (who keeps a
//! version). Facts come in; nothing is read or written here.

pub mod conditions;
pub mod effect;
pub mod release;
pub mod run;
pub mod steps;
pub mod summary;
pub mod usage;
pub mod workloads;
