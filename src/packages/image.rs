//! A package out of an image: the recognised files of its layers. A later layer's file wins; none can take a file away.

use domain::packages::files::{Files, Scope};

use super::{ReadError, add, archive};
use crate::adapters::registry::Image;

/// Reads the recognised files; none is no error.
///
/// # Errors
/// What could not be read safely, with the file's name.
pub fn files(image: &Image) -> Result<Files, ReadError> {
    let mut files = Files::default();
    for layer in &image.layers {
        let read = archive::read(&*layer.bytes, Scope::Publication)?;
        for (path, bytes) in read.iter() {
            add(&mut files, path, bytes.to_vec())?;
        }
    }
    Ok(files)
}
