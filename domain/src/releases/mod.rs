//! A release of an Application: what of a bundle becomes the chart, what templates see, what is put on and refused of the objects that
//! they render, and what must be done about a release that a killed helm left behind (settings contract, section 9).
//!
//! Reading order: [`chart`] (files), [`context`] (what templates see), [`stream`] (rendered objects as text), [`marks`] (labels), [`scope`]
//! (S22), [`revisions`] (recovery). Running helm, and reading what is in a cluster, is not done here.

pub mod chart;
pub mod context;
pub mod marks;
pub mod revisions;
pub mod scope;
pub mod stream;

/// Where the release's objects belong, and whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The Application's namespace.
    pub namespace: String,
    /// The Application's name.
    pub name: String,
}

impl Instance {
    /// The release's name; it begins as the names of the instance's objects do, so no release of another tool is met.
    #[must_use]
    pub fn release_name(&self) -> String {
        format!("d8a-{}", self.name)
    }
}
