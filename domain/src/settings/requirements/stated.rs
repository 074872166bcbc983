//! The administrator's file: what this cluster has of Deckhouse, where nobody else can tell (S23).
//!
//! A map with `deckhouse` (a version) and `modules` (enabled modules, each with its version or `null`). It reads a document; the
//! file itself is read elsewhere.

use std::collections::BTreeMap;

use semver::Version;
use serde_json::Value;

use super::check::Platform;
use super::range::parse_version;

/// Why the file states nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatedError {
    /// It is no map.
    #[error("must be a map with `deckhouse` and `modules`")]
    NotAMap,
    /// A key that is not known.
    #[error("{0:?} is not known: write `deckhouse` or `modules`")]
    UnknownKey(String),
    /// A version that is none.
    #[error("{0}: must be a version such as v1.70.1")]
    NotAVersion(String),
    /// The modules are no map.
    #[error("modules: must be a map of names to versions or null")]
    ModulesNotAMap,
}

impl Platform {
    /// The same cluster, as the file states it; an empty file states nothing.
    ///
    /// # Errors
    /// The first thing in the file that is wrong.
    pub fn stating(self, document: &Value) -> Result<Self, StatedError> {
        let mut stated = self;
        let fields = match document {
            Value::Null => return Ok(stated),
            Value::Object(fields) => fields,
            _ => return Err(StatedError::NotAMap),
        };
        for (key, value) in fields {
            match key.as_str() {
                "deckhouse" => stated.deckhouse = version("deckhouse", value)?,
                "modules" => stated.modules = modules(value)?,
                _ => return Err(StatedError::UnknownKey(key.clone())),
            }
        }
        Ok(stated)
    }
}

fn modules(value: &Value) -> Result<Option<BTreeMap<String, Option<Version>>>, StatedError> {
    match value {
        Value::Null => Ok(None),
        Value::Object(entries) => entries
            .iter()
            .map(|(name, value)| Ok((name.clone(), version(&format!("modules.{name}"), value)?)))
            .collect::<Result<_, _>>()
            .map(Some),
        _ => Err(StatedError::ModulesNotAMap),
    }
}

fn version(place: &str, value: &Value) -> Result<Option<Version>, StatedError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => parse_version(text)
            .map(Some)
            .ok_or_else(|| StatedError::NotAVersion(place.to_owned())),
        _ => Err(StatedError::NotAVersion(place.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn s23_the_file_states_versions_and_modules_and_leaves_the_rest_unknown() {
        let known = Platform {
            kubernetes: Platform::kubernetes_version("v1.33.1"),
            ..Platform::default()
        };
        let document =
            json!({"deckhouse": "v1.70.1", "modules": {"ingress": "1.2.0", "dns": null}});
        let stated = known.clone().stating(&document).unwrap();
        assert_eq!(stated.kubernetes, known.kubernetes);
        assert_eq!(stated.deckhouse.unwrap().to_string(), "1.70.1");
        let modules = stated.modules.unwrap();
        assert_eq!(modules.len(), 2);
        assert_eq!(modules.get("dns"), Some(&None));
        assert_eq!(known.clone().stating(&Value::Null), Ok(known));
    }

    #[test]
    fn s23_what_is_wrong_in_the_file_is_named() {
        for (document, said) in [
            (json!([]), "must be a map with"),
            (json!({"kubernetes": "1.30"}), "\"kubernetes\" is not known"),
            (json!({"deckhouse": 1}), "deckhouse: must be a version"),
            (json!({"modules": []}), "modules: must be a map"),
            (
                json!({"modules": {"a": "x"}}),
                "modules.a: must be a version",
            ),
        ] {
            let error = Platform::default().stating(&document).unwrap_err();
            assert!(error.to_string().starts_with(said), "{document}: {error}");
        }
    }
}
