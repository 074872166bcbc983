//! Application settings: what a package's schemas mean, and what they say of a document.
//!
//! Reading order: [`limits`] (what is refused for its size), [`document`] (JSON equality, paths, merging), [`schema`] (files to
//! schemas). Nothing here does IO or looks at a clock.

pub mod document;
pub mod limits;
pub mod schema;
