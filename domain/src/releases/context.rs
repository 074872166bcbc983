//! What templates see beside `.Values` (section 9): `.Application` and `.Platform`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Instance;

/// The file that names a package's images.
pub const IMAGES_FILE: &str = "images_digests.json";

/// What is known of an Application when it is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Which Application.
    pub instance: &'a Instance,
    /// Its package.
    pub package: &'a str,
    /// The package's version.
    pub version: &'a str,
    /// `<repo>/<package>`, where its images lie; empty for a package from a directory.
    pub repository: &'a str,
    /// Docker's configuration to pull images with, in base64; empty if none is needed.
    pub docker_config: &'a str,
    /// Digests of images, by name.
    pub images: &'a BTreeMap<String, String>,
    /// The effective settings.
    pub settings: &'a Value,
    /// What the administrator says of the platform.
    pub platform: &'a Value,
}

impl Context<'_> {
    /// The document that templates read.
    #[must_use]
    pub fn document(&self) -> Value {
        let images: Map<String, Value> = self
            .images
            .iter()
            .map(|(name, digest)| (name.clone(), json!(self.image(digest))))
            .collect();
        json!({
            "Application": {
                "Instance": {"Name": self.instance.name, "Namespace": self.instance.namespace},
                "Package": {
                    "Name": self.package,
                    "Version": self.version,
                    "Images": images,
                    "Registry": {"dockercfg": self.docker_config},
                },
                "Settings": object(self.settings),
            },
            "Platform": object(self.platform),
        })
    }

    fn image(&self, digest: &str) -> String {
        if self.repository.is_empty() {
            format!("{}@{digest}", self.package)
        } else {
            format!("{}@{digest}", self.repository)
        }
    }
}

/// Templates look into these; nothing is an object without keys.
fn object(value: &Value) -> Value {
    match value {
        Value::Object(_) => value.clone(),
        _ => json!({}),
    }
}

/// A file that names images in a form that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{IMAGES_FILE} is no map from names of images to digests")]
pub struct NoImages;

/// The images that a bundle's file names.
///
/// # Errors
/// [`NoImages`] for anything but a map of texts.
pub fn images(text: &str) -> Result<BTreeMap<String, String>, NoImages> {
    serde_json::from_str(text).map_err(|_| NoImages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_see_the_instance_the_package_and_the_settings() {
        let instance = Instance {
            namespace: "team".to_owned(),
            name: "shop".to_owned(),
        };
        let images = BTreeMap::from([("app".to_owned(), "sha256:ab".to_owned())]);
        let settings = json!({"size": 3});
        let context = Context {
            instance: &instance,
            package: "shop",
            version: "v1.0.0",
            repository: "registry.example.org/packages/shop",
            docker_config: "e30=",
            images: &images,
            settings: &settings,
            platform: &Value::Null,
        };
        let document = context.document();
        let at = |pointer: &str| document.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(at("/Application/Instance/Namespace"), "team");
        assert_eq!(
            at("/Application/Package/Images/app"),
            "registry.example.org/packages/shop@sha256:ab"
        );
        assert_eq!(at("/Application/Package/Registry/dockercfg"), "e30=");
        assert_eq!(at("/Application/Settings/size"), 3);
        assert_eq!(at("/Platform"), json!({}));
        let local = Context {
            repository: "",
            ..context
        };
        assert_eq!(
            local.document().pointer("/Application/Package/Images/app"),
            Some(&json!("shop@sha256:ab"))
        );
    }

    #[test]
    fn a_file_of_images_is_a_map_of_texts_or_is_told() {
        assert_eq!(
            images("{\"a\": \"sha256:b\"}").map(|images| images.len()),
            Ok(1)
        );
        for bad in ["", "[]", "{\"a\": 1}", "{\"a\": {\"b\": \"c\"}}"] {
            assert_eq!(images(bad), Err(NoImages), "{bad}");
        }
    }
}
