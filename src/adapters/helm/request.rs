//! What the post-renderer is told, as a file: helm starts it as a child of its own, which has nothing else of ours.

use std::path::PathBuf;

use domain::releases::scope::Kinds;
use serde::{Deserialize, Serialize};

/// See the module text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The Application's name.
    pub instance: String,
    /// Its namespace.
    pub namespace: String,
    /// Its package.
    pub package: String,
    /// The kinds of the API server; without them no object is refused for its scope.
    pub kinds: Option<Kinds>,
    /// Where a refusal is written: helm says nothing of what its post-renderer said.
    pub refusal: PathBuf,
}
