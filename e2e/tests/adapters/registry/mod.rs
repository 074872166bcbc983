//! The registry adapter, and the bundles that come through it, against a real registry.

mod bundles;
mod reading;
mod refusals;
mod world;
