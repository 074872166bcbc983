//! Application settings: what a package's schemas mean, and what they say of a document.
//!
//! Reading order: [`limits`] (what is refused for its size), [`document`] (JSON equality, paths, merging), [`schema`] (files to
//! schemas), [`defaults`], [`grants`] and [`effective`] (what the user wrote, completed), [`patch`] and [`values`] (what templates
//! see), [`validate`] (a document against a schema), [`rules`] (CEL), [`conform`] (both), [`package`] (both schemas of a version),
//! [`immutable`] (what may not change), [`switch`] (what must be confirmed), [`form`] (the page), [`requirements`] (what the
//! cluster must have), [`admission`] (all of it in the webhook's order), [`orphans`] (what outlives a release), [`verify`] (what
//! authors are told). Nothing here does IO or looks at a clock.

pub mod admission;
pub mod conform;
pub mod defaults;
pub mod document;
pub mod effective;
pub mod form;
pub mod grants;
pub mod immutable;
pub mod limits;
pub mod orphans;
pub mod package;
pub mod patch;
pub mod requirements;
pub mod rules;
pub mod schema;
pub mod switch;
pub mod validate;
pub mod values;
pub mod verify;
