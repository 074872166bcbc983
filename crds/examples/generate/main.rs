//! Writes the committed YAML of every CRD, and the chart's templates with the same CRDs.
//!
//! Decides no content: `manifest.rs` does. `tests/in_sync.rs` fails when this was forgotten.

use std::error::Error;
use std::fs;
use std::path::Path;

mod manifest;

fn main() -> Result<(), Box<dyn Error>> {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for manifest in manifest::manifests()? {
        let path = house.join(&manifest.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, manifest.text)?;
        println!("wrote {}", manifest.path);
    }
    Ok(())
}
