//! Packages: which files make one, what they say, and how a version comes to be published.
//!
//! Reading order: [`files`] (names, and the choice of the schema file), [`metadata`] (package.yaml and changelog.yaml),
//! [`documents`] (schema files to schemas that judge), [`configure`] (settings as they would be applied), [`publication`] (files to what is
//! published, or why not), [`names`] (what a version's object is called), [`version`], [`offer`] and [`repository`] (facts of an
//! object to its one next step), [`scan`] (when a repository is scanned, and what is read), [`effect`] (what the world may be asked to do). Bytes come in; reading them from a disk, an
//! archive or a registry is not done here.

pub mod configure;
pub mod documents;
pub mod effect;
pub mod files;
pub mod metadata;
pub mod names;
pub mod offer;
pub mod publication;
pub mod repository;
pub mod scan;
pub mod version;
