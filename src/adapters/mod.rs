//! The outside: the only rooms that name SQL, OpenBao paths, Kubernetes verbs and registries.
//!
//! Each adapter turns answers into the domain's facts and failures, with its own deadlines. None of them decides what is done.

pub mod helm;
pub mod hooks;
pub mod kubernetes;
pub mod openbao;
pub mod postgres;
pub mod projection;
pub mod registry;
pub mod serving;
