//! The calls to a registry about one repository, each with a deadline.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;

use futures::FutureExt as _;
use oci_client::client::ClientConfig;
use oci_client::manifest::OciImageManifest;
use oci_client::{Client, Reference};

use super::access::Access;
use super::failure::{Ask, Kind, RegistryError};
use super::layers::{self, BUNDLE_MAX, Download, Image, METADATA_MAX};

/// The most tags of a repository that are read.
pub const TAGS_MAX: usize = 10_000;
/// How many tags are asked for at once.
const PAGE: usize = 1_000;
/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest silence within an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// A repository of a registry, ready to be asked. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    pub(super) access: Access,
    pub(super) client: Client,
    deadline: Duration,
}

impl Registry {
    /// Prepares the calls; none is made. Each takes at most `deadline`.
    ///
    /// # Errors
    /// The HTTP client cannot be made.
    pub fn new(access: Access, deadline: Duration) -> Result<Self, RegistryError> {
        let config = ClientConfig {
            protocol: access.protocol.clone(),
            tls_certs_only: access.authorities.clone(),
            platform_resolver: Some(Box::new(layers::entry_of)),
            connect_timeout: Some(deadline.min(CONNECT)),
            read_timeout: Some(deadline.min(SILENCE)),
            // One request a blob, which every registry knows; chunks are an option of theirs.
            use_monolithic_push: true,
            user_agent: concat!("tenantry/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        };
        // The library panics where the system has no certificate authorities.
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| Client::try_from(config)));
        let Ok(Ok(client)) = made else {
            return Err(RegistryError::new(
                Kind::Settings,
                "the HTTP client for the registry cannot be made: the system has no certificate authorities, or one that was given cannot be used",
            ));
        };
        Ok(Self {
            access,
            client,
            deadline,
        })
    }

    /// The repository itself, as `host/path`.
    #[must_use]
    pub fn repository(&self) -> String {
        self.access.repository()
    }

    /// The tags of the repository below ours, in order; `path` is empty for ours itself.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] beyond [`TAGS_MAX`], and what the registry answers otherwise.
    pub async fn tags(&self, path: &str) -> Result<Vec<String>, RegistryError> {
        let image = self.access.image(path, "latest")?;
        let repository = format!("{}/{}", image.registry(), image.repository());
        let ask = self.ask(format!("listing the tags of {repository}"));
        self.within(&ask, self.all_tags(&image, &ask)).await
    }

    /// The digest of an image for our platform, by which it can be asked for afterwards. `reference` is a tag or a digest.
    ///
    /// # Errors
    /// [`Kind::Absent`](super::Kind::Absent) if there is none, and what the registry answers otherwise.
    pub async fn digest(&self, path: &str, reference: &str) -> Result<String, RegistryError> {
        let image = self.access.image(path, reference)?;
        let ask = self.ask(format!("looking for {image}"));
        let found = self.within(&ask, self.manifest(&image, &ask)).await?;
        Ok(found.1)
    }

    /// A small image, in memory: at most [`METADATA_MAX`]. `reference` is a tag or a digest.
    ///
    /// # Errors
    /// What the registry answers, or that it is not what it names.
    pub async fn pull(&self, path: &str, reference: &str) -> Result<Image, RegistryError> {
        let image = self.access.image(path, reference)?;
        let ask = self.ask(format!("reading {image}"));
        self.within(&ask, async {
            let (manifest, digest) = self.manifest(&image, &ask).await?;
            layers::judge(&manifest, METADATA_MAX, &ask)?;
            let layers = layers::into_memory(&self.client, &image, &manifest, &ask).await?;
            Ok(Image { digest, layers })
        })
        .await
    }

    /// An image into new files of a folder: at most [`BUNDLE_MAX`]. `reference` is a tag or a digest.
    ///
    /// # Errors
    /// What the registry answers, that it is not what it names, or that a file cannot be written. Files may be left.
    pub async fn download(
        &self,
        path: &str,
        reference: &str,
        folder: &Path,
    ) -> Result<Download, RegistryError> {
        let image = self.access.image(path, reference)?;
        let ask = self.ask(format!("reading {image}"));
        self.within(&ask, async {
            let (manifest, digest) = self.manifest(&image, &ask).await?;
            layers::judge(&manifest, BUNDLE_MAX, &ask)?;
            let layers = layers::into_folder(&self.client, &image, &manifest, folder, &ask).await?;
            Ok(Download { digest, layers })
        })
        .await
    }

    pub(super) fn ask(&self, doing: String) -> Ask<'_> {
        Ask {
            host: &self.access.host,
            doing,
            origin: self.access.origin,
        }
    }

    /// Ends a call at the deadline. A panic of the library at a hostile answer is a damaged answer.
    pub(super) async fn within<T>(
        &self,
        ask: &Ask<'_>,
        call: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        let call = AssertUnwindSafe(call).catch_unwind();
        match tokio::time::timeout(self.deadline, call).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(ask.damaged("the answer does not follow the registry protocol")),
            Err(_) => Err(ask.late()),
        }
    }

    async fn manifest(
        &self,
        image: &Reference,
        ask: &Ask<'_>,
    ) -> Result<(OciImageManifest, String), RegistryError> {
        let answer = self
            .client
            .pull_image_manifest(image, &self.access.auth)
            .await;
        answer.map_err(|error| ask.failed(&error))
    }

    /// Page after page until one has nothing new: pages may be smaller than asked for, and a registry that knows none gives all
    /// at once, and again when asked for the next.
    async fn all_tags(
        &self,
        image: &Reference,
        ask: &Ask<'_>,
    ) -> Result<Vec<String>, RegistryError> {
        let mut tags = BTreeSet::new();
        let mut last: Option<String> = None;
        loop {
            let page = self
                .client
                .list_tags(image, &self.access.auth, Some(PAGE), last.as_deref())
                .await
                .map_err(|error| ask.failed(&error))?
                .tags;
            let before = tags.len();
            last = page.last().cloned();
            tags.extend(page);
            if tags.len() > TAGS_MAX {
                return Err(ask.too_large(&format!("it has more than {TAGS_MAX} tags")));
            }
            if tags.len() == before {
                return Ok(tags.into_iter().collect());
            }
        }
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}
