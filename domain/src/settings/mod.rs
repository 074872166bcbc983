//! Application settings: what a package's schemas mean, and what they say of a document.

pub mod rules;
