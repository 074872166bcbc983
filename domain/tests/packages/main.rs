//! What a package declares beside its settings schema, and that the pages for its authors say what the domain does.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod guide;
mod limits;
mod orphans;
mod ranges;
mod reasons;
mod requirements;
mod verify;

use std::fs;
use std::path::Path;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
