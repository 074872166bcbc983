//! The files of a folder of cases.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// Every `*.json` of the folder with what it holds, in the order of their names.
pub fn json<T: DeserializeOwned>(folder: &Path) -> Result<Vec<(PathBuf, T)>, String> {
    let told = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let entries = std::fs::read_dir(folder).map_err(|error| told(folder, &error))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| told(folder, &error))?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).map_err(|error| told(&path, &error))?;
        let held = serde_json::from_str(&text).map_err(|error| told(&path, &error))?;
        Ok((path, held))
    };
    paths.into_iter().map(read).collect()
}
