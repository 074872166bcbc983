//! The registry adapter against a real registry.

mod reading;
mod refusals;
mod world;
