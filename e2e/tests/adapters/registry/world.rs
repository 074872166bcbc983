//! A registry of one test, ways to it, and what its tests push past the adapter. Asserts nothing.

use std::path::PathBuf;
use std::time::Duration;

use crds::applications::repository::Registry as Spec;
use e2e::Bed;
use e2e::bed::install_crypto_provider;
use e2e::bed::pki::Authority;
use e2e::bed::registry::{Access as How, PASSWORD, Registry as Server, USER};
use serde_json::Value;
use tenantry::adapters::registry::{Access, Registry, Sendable};

/// The deadline of a call.
const DEADLINE: Duration = Duration::from_secs(20);
/// The media type of an image's manifest.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of an index.
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A registry of this test.
pub(super) struct World {
    pub(super) server: Server,
    how: How,
    authority: String,
}

impl World {
    pub(super) async fn start(name: &str, how: How) -> Self {
        install_crypto_provider();
        let bed = Bed::shared().unwrap();
        let name = format!("{name}-{}", std::process::id());
        let server = bed.registry(&name, how).await.unwrap();
        let authority = Authority::open(bed.folder(), Authority::BED).unwrap();
        let authority = std::fs::read_to_string(authority.file()).unwrap();
        Self {
            server,
            how,
            authority,
        }
    }

    /// What a PackageRepository says so that the registry lets it in.
    pub(super) fn spec(&self) -> Spec {
        let given = |given: bool, text: &str| given.then(|| text.to_owned());
        Spec {
            repo: format!("{}/packages", self.server.address()),
            scheme: given(!self.how.tls, "HTTP"),
            ca: given(self.how.tls, &self.authority),
            login: given(self.how.password, USER),
            password: given(self.how.password, PASSWORD),
            ..Spec::default()
        }
    }

    /// Our way in.
    pub(super) fn open(&self) -> Registry {
        open(&self.spec())
    }

    /// Where the bytes of a blob are.
    pub(super) fn blob(&self, digest: &str) -> PathBuf {
        let hex = digest.strip_prefix("sha256:").unwrap();
        let blobs = self.server.storage().join("blobs/sha256");
        blobs.join(&hex[..2]).join(hex).join("data")
    }

    /// The manifest of a tag, as it is; of an open registry without TLS.
    pub(super) async fn manifest(&self, path: &str, tag: &str) -> Value {
        let answer = reqwest::Client::new()
            .get(self.url(path, tag))
            .header("accept", MANIFEST)
            .send()
            .await
            .unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// Puts a manifest past the adapter.
    pub(super) async fn put(&self, path: &str, tag: &str, media_type: &str, manifest: &Value) {
        let answer = reqwest::Client::new()
            .put(self.url(path, tag))
            .header("content-type", media_type)
            .body(manifest.to_string())
            .send()
            .await
            .unwrap();
        let status = answer.status();
        assert!(status.is_success(), "{status} {:?}", answer.text().await);
    }

    fn url(&self, path: &str, tag: &str) -> String {
        let address = self.server.address();
        format!("http://{address}/v2/packages/{path}/manifests/{tag}")
    }
}

/// The way of a spec.
pub(super) fn open(spec: &Spec) -> Registry {
    Registry::new(Access::of_spec(spec).unwrap(), DEADLINE).unwrap()
}

/// An image of these bytes; a registry does not look into them.
pub(super) fn image(layer: impl AsRef<[u8]>) -> Sendable {
    let nothing = format!("sha256:{}", "0".repeat(64));
    Sendable::of(layer.as_ref().to_vec().into(), &nothing).unwrap()
}
