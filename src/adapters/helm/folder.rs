//! The files of one call of helm, in a folder that only we may read and that goes with the call.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use domain::releases::chart::{CHART_FILE, CONTEXT_FILE, PRELUDE, Placed, description, placed};
use domain::releases::context::Context;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Identity;
use super::failure::{Kind, ReleaseError};
use super::request::Request;

/// The name of the post-renderer.
pub(super) const PLUGIN: &str = "tenantry";
/// The most entries of a bundle that are looked at.
const ENTRIES_MAX: usize = 20_000;
/// The most bytes of a file of a chart; the release may be 1 MiB in all.
const FILE_MAX: u64 = 8 << 20;

/// See the module text.
pub(super) struct Folder(TempDir);

fn broken(what: &str) -> impl FnOnce(io::Error) -> ReleaseError {
    move |error| ReleaseError::broken(what, &error)
}

impl Folder {
    pub(super) fn create(below: &Path) -> Result<Self, ReleaseError> {
        let folder = tempfile::Builder::new()
            .prefix("release-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(below)
            .map_err(broken("no folder for helm can be made"))?;
        for name in ["home", "plugins"] {
            fs::create_dir(folder.path().join(name))
                .map_err(broken("no folder for helm can be made"))?;
        }
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where the post-renderer writes a refusal.
    pub(super) fn refusal(&self) -> PathBuf {
        self.path().join("refusal")
    }

    /// What the post-renderer refused, if it did.
    pub(super) fn refused(&self) -> Option<String> {
        fs::read_to_string(self.refusal()).ok()
    }

    /// The environment of helm: nothing of ours, and every folder of its own in here.
    pub(super) fn environment(&self) -> [(&'static str, PathBuf); 7] {
        let at = |name: &str| self.path().join(name);
        [
            ("HOME", at("home")),
            ("TMPDIR", at("home")),
            ("HELM_CACHE_HOME", at("home")),
            ("HELM_CONFIG_HOME", at("home")),
            ("HELM_DATA_HOME", at("home")),
            ("HELM_PLUGINS", at("plugins")),
            ("KUBECONFIG", at("kubeconfig")),
        ]
    }

    /// The package as a chart.
    pub(super) fn chart(
        &self,
        bundle: &Path,
        context: &Context<'_>,
    ) -> Result<PathBuf, ReleaseError> {
        let chart = self.path().join("chart");
        fs::create_dir(&chart).map_err(broken("the chart cannot be written"))?;
        let mut copied = 0;
        copy(bundle, &chart, "", &mut copied)?;
        let about = description(context.package, context.version);
        self.write("chart", CHART_FILE, about.as_bytes())?;
        let seen = context.document().to_string();
        self.write("chart", CONTEXT_FILE, seen.as_bytes())?;
        Ok(chart)
    }

    pub(super) fn values(&self, values: &Value) -> Result<PathBuf, ReleaseError> {
        self.write("", "values.json", values.to_string().as_bytes())
    }

    /// The kubeconfig; JSON is YAML.
    pub(super) fn login(&self, identity: &Identity, namespace: &str) -> Result<(), ReleaseError> {
        let mut cluster = json!({"server": identity.server});
        if let (Some(authority), Some(cluster)) = (&identity.authority, cluster.as_object_mut()) {
            let file = self.write("", "authority.pem", authority.as_bytes())?;
            cluster.insert("certificate-authority".to_owned(), json!(file));
        }
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": "account", "user": {"token": identity.token.expose_secret()}}],
            "contexts": [{"name": "release", "context": {"cluster": "cluster", "user": "account", "namespace": namespace}}],
            "current-context": "release",
        });
        self.write("", "kubeconfig", config.to_string().as_bytes())
            .map(drop)
    }

    /// Our own program as a plugin of helm.
    pub(super) fn post_renderer(&self, own: &Path, request: &Request) -> Result<(), ReleaseError> {
        let place = Path::new("plugins").join(PLUGIN);
        fs::create_dir(self.path().join(&place)).map_err(broken("the plugin cannot be written"))?;
        let told = self.write("", "request.json", json!(request).to_string().as_bytes())?;
        let plugin = json!({
            "apiVersion": "v1",
            "type": "postrenderer/v1",
            "name": PLUGIN,
            "version": env!("CARGO_PKG_VERSION"),
            "runtime": "subprocess",
            "runtimeConfig": {"platformCommand": [{"command": own, "args": ["helm-post-render", "--request", told]}]},
        });
        let place = place.display().to_string();
        self.write(&place, "plugin.yaml", plugin.to_string().as_bytes())
            .map(drop)
    }

    fn write(&self, below: &str, name: &str, bytes: &[u8]) -> Result<PathBuf, ReleaseError> {
        let path = self.path().join(below).join(name);
        let written = || {
            let mut options = fs::OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            file.write_all(bytes)
        };
        written().map_err(broken("a file for helm cannot be written"))?;
        Ok(path)
    }
}

/// Copies what belongs to the chart; links are none of it.
fn copy(from: &Path, to: &Path, place: &str, copied: &mut usize) -> Result<(), ReleaseError> {
    let folder = from.join(place);
    let entries = fs::read_dir(&folder).map_err(broken("the bundle cannot be read"))?;
    for entry in entries {
        let entry = entry.map_err(broken("the bundle cannot be read"))?;
        *copied += 1;
        if *copied > ENTRIES_MAX {
            let text = format!("the bundle has more than {ENTRIES_MAX} entries");
            return Err(ReleaseError::new(Kind::Bundle, text));
        }
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = if place.is_empty() {
            name
        } else {
            format!("{place}/{name}")
        };
        let metadata = entry
            .metadata()
            .map_err(broken("the bundle cannot be read"))?;
        if metadata.is_dir() {
            if matches!(path.split('/').next(), Some("templates" | "charts")) {
                copy(from, to, &path, copied)?;
            }
        } else if metadata.is_file() {
            place_file(&entry.path(), metadata.len(), to, &path)?;
        }
    }
    Ok(())
}

fn place_file(source: &Path, size: u64, to: &Path, path: &str) -> Result<(), ReleaseError> {
    let prelude = match placed(path) {
        Placed::LeftOut => return Ok(()),
        Placed::Definitions => {
            let text = format!(
                "{path} is a custom resource definition, which is of cluster scope: an administrator installs those"
            );
            return Err(ReleaseError::new(Kind::Refused, text));
        }
        Placed::Template => PRELUDE,
        Placed::AsItIs => "",
    };
    if size > FILE_MAX {
        let text = format!("{path} is longer than {} MiB", FILE_MAX >> 20);
        return Err(ReleaseError::new(Kind::Bundle, text));
    }
    let written = || {
        let target = to.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut bytes = prelude.as_bytes().to_vec();
        bytes.extend(fs::read(source)?);
        fs::write(target, bytes)
    };
    written().map_err(broken("the chart cannot be written"))
}
