//! What this cluster is: the API server's version, and what the administrator's file states (S23).
//!
//! The file is read with the limits of a package's file, so a bomb in it is an error (H12). What a requirement makes of it is the domain's.

use std::io::Read as _;
use std::path::Path;

use domain::settings::limits::Limits;
use domain::settings::requirements::check::Platform;
use domain::settings::requirements::stated::StatedError;
use domain::settings::schema::{LoadError, load};
use kube::Client;
use serde_json::{Map, Value};

use crate::adapters::kubernetes::served::server_version;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// It cannot be read.
    #[error("{0}: cannot be read")]
    Read(String, #[source] std::io::Error),
    /// It is no YAML within the limits.
    #[error("{0}: {1}")]
    Load(String, #[source] LoadError),
    /// It is no map.
    #[error("{0}: it must be a map")]
    NoMap(String),
    /// It says something that is not known.
    #[error("{0}: {1}")]
    Stated(String, #[source] StatedError),
}

/// What the file states; nothing without one.
///
/// # Errors
/// What is wrong with it, with its path.
pub fn stated(file: Option<&Path>) -> Result<Platform, PlatformError> {
    let Some(path) = file else {
        return Ok(Platform::default());
    };
    Platform::default()
        .stating(&document(path)?)
        .map_err(|error| PlatformError::Stated(path.display().to_string(), error))
}

/// What templates see as `.Platform`; an empty map without a file.
///
/// # Errors
/// What is wrong with the file, with its path.
pub fn seen(file: Option<&Path>) -> Result<Value, PlatformError> {
    let Some(path) = file else {
        return Ok(Value::Object(Map::new()));
    };
    match document(path)? {
        Value::Null => Ok(Value::Object(Map::new())),
        seen @ Value::Object(_) => Ok(seen),
        _ => Err(PlatformError::NoMap(path.display().to_string())),
    }
}

fn document(path: &Path) -> Result<Value, PlatformError> {
    let named = || path.display().to_string();
    let limits = &Limits::DEFAULT;
    let mut text = String::new();
    let most = u64::try_from(limits.file_bytes).unwrap_or(u64::MAX);
    std::fs::File::open(path)
        .and_then(|file| file.take(most + 1).read_to_string(&mut text))
        .map_err(|error| PlatformError::Read(named(), error))?;
    load(&text, limits).map_err(|error| PlatformError::Load(named(), error))
}

/// The same, with the version that the API server reports; unknown if it does not.
pub(super) async fn with_kubernetes(client: &Client, stated: Platform) -> Platform {
    let reported = match server_version(client).await {
        Ok(version) => Some(version),
        Err(failure) => {
            tracing::warn!(%failure, "the API server's version is unknown: packages that require one are warned of");
            None
        }
    };
    Platform {
        kubernetes: reported.as_deref().and_then(Platform::kubernetes_version),
        ..stated
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fmt::Write as _;
    use std::time::{Duration, Instant};

    fn of(text: &str) -> Result<Platform, PlatformError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("platform.yaml");
        std::fs::write(&file, text).unwrap();
        stated(Some(&file))
    }

    #[test]
    fn the_file_is_read_and_what_is_wrong_is_told_with_its_path() {
        assert_eq!(stated(None).unwrap(), Platform::default());
        let platform = of("deckhouse: v1.70.0\nmodules: {dns: null}\n").unwrap();
        assert_eq!(platform.deckhouse.unwrap().to_string(), "1.70.0");
        let error = of("deckhous: v1.70.0").unwrap_err().to_string();
        assert!(
            error.contains("platform.yaml: \"deckhous\" is not known"),
            "{error}"
        );
        let error = stated(Some(Path::new("/nowhere/platform.yaml"))).unwrap_err();
        assert_eq!(error.to_string(), "/nowhere/platform.yaml: cannot be read");
    }

    #[test]
    fn h12_an_alias_bomb_and_a_deep_file_are_errors_at_once() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..30 {
            let below = format!("*a{}, ", level - 1).repeat(10);
            writeln!(bomb, "a{level}: &a{level} [{below}x]").unwrap();
        }
        let begun = Instant::now();
        assert!(matches!(of(&bomb), Err(PlatformError::Load(..))));
        for deep in ["[".repeat(10_000), "{a: ".repeat(10_000)] {
            assert!(matches!(of(&deep), Err(PlatformError::Load(..))));
        }
        let long = "#".repeat(2 * Limits::DEFAULT.file_bytes);
        assert!(matches!(of(&long), Err(PlatformError::Load(..))));
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
    }
}
