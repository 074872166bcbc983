//! Packages in an OCI registry: the tags of a repository, and images as layers (settings contract, section 2).
//!
//! Turns questions about one repository into calls, and answers into bytes or errors with a deadline. It trusts no digest and
//! no size that the registry names before it has seen the same; it never follows the foreign URLs of a layer, and never puts a
//! credential or a server's text into an error or a log (C5, H38). What an image holds is not looked at here.
//!
//! Reading order: `access` (where and with which credentials), `client` (the calls), `layers` (bounded reading), `failure`.

mod access;
mod client;
mod docker_config;
mod failure;
mod layers;
mod origin;
mod push;

pub use access::Access;
pub use client::{Registry, TAGS_MAX};
pub use failure::{Kind, RegistryError};
pub use layers::{BUNDLE_MAX, Download, Image, LAYERS_MAX, Layer, METADATA_MAX};
pub use push::Sendable;
