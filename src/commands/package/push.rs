//! `tenantry package push DIR REPO`: a package into a registry, in the layout that scans and installations read (settings contract,
//! section 2).
//!
//! Decides the order: verify, pack, compare with what is there, send. The bundle goes first and the package's tag last, so that a scan in
//! between finds nothing that is half there. What is a mistake of a package, and what a version is, is the domain's.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use domain::packages::files::{CHANGELOG_FILE, PACKAGE_FILE, Scope};
use domain::packages::metadata::{MetadataError, PackageFile};
use domain::packages::names::{is_channel, is_package_name, is_version};
use domain::settings::limits::Limits;
use domain::settings::verify::{passes, verify as findings_of};
use flate2::{Compression, GzBuilder};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use webhook::for_terminal;

use super::input::{self, InputError};
use crate::adapters::registry::{Access, Kind, Registry, RegistryError, Sendable};
use crate::cli::PushOptions;
use crate::commands::{DONE, FAILED, UNREADABLE};
use crate::packages::pack::pack;
use crate::packages::{ReadError, bundles};

/// No call to the registry may take longer.
const DEADLINE: Duration = Duration::from_secs(300);
/// Folders and files of a bundle.
const BUNDLE: [&str; 9] = [
    PACKAGE_FILE,
    CHANGELOG_FILE,
    "openapi",
    "templates",
    "charts",
    "hooks",
    "docs",
    "oss.yaml",
    "images_digests.json",
];
/// Folders and files of a version's metadata.
const METADATA: [&str; 4] = [PACKAGE_FILE, CHANGELOG_FILE, "openapi", "docs"];

/// Why a package was not pushed.
#[derive(Debug, thiserror::Error)]
enum PushError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{PACKAGE_FILE}: {0}")]
    Metadata(#[from] MetadataError),
    #[error(
        "{PACKAGE_FILE}: name is missing, or none that a package may have: lower-case letters, digits and dashes, at most 63"
    )]
    Name,
    #[error(
        "{0:?} is no version: give --package-version or version in {PACKAGE_FILE} as vMAJOR.MINOR.PATCH"
    )]
    Version(String),
    #[error("--channel {0:?}: a channel is a lower-case word, such as stable")]
    Channel(String),
    #[error("the package has mistakes: nothing was pushed")]
    Mistakes,
    #[error("the package cannot be packed: {0}")]
    Pack(#[from] ReadError),
    #[error("the package cannot be packed: {0}")]
    Compress(#[from] std::io::Error),
    #[error("the image cannot be made: {0}")]
    Image(#[from] serde_json::Error),
    #[error("{0}")]
    Registry(#[from] RegistryError),
    #[error(
        "{0} is there with other content: versions do not change; push another version, or this one with --force"
    )]
    Taken(String),
    #[error("the async runtime could not be started: {0}")]
    Runtime(#[source] std::io::Error),
}

impl PushError {
    const fn code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::File { .. } => UNREADABLE,
            _ => FAILED,
        }
    }
}

/// Pushes and says what; gives the exit code.
pub(super) fn push(options: &PushOptions) -> u8 {
    match pushed(options) {
        Ok(()) => DONE,
        Err(error) => {
            eprintln!("tenantry: {}", for_terminal(&error.to_string()));
            error.code()
        }
    }
}

fn pushed(options: &PushOptions) -> Result<(), PushError> {
    // Somebody else's provider is as good.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let (name, version) = judged(options)?;
    let bundle = image(&options.package, &BUNDLE, &[])?;
    let told = json!({ "version": version }).to_string();
    let metadata = image(
        &options.package,
        &METADATA,
        &[("version.json", told.as_bytes())],
    )?;
    // Only that it is there counts.
    let listed = packed(&tar::Builder::new(Vec::new()).into_inner()?)?;
    let registry = registry(options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(PushError::Runtime)?.block_on(async {
        let versions = format!("{name}/version");
        let mut sent = vec![
            (name.clone(), version.clone(), &bundle),
            (versions.clone(), version, &metadata),
        ];
        for (path, tag, image) in &sent {
            refuse_other(&registry, path, tag, image, options.force).await?;
        }
        if let Some(channel) = &options.channel {
            sent.push((versions, channel.clone(), &metadata));
        }
        sent.push((String::new(), name, &listed));
        for (path, tag, image) in sent {
            send(&registry, &path, &tag, image).await?;
        }
        Ok(())
    })
}

/// Name and version, once no mistake was found.
fn judged(options: &PushOptions) -> Result<(String, String), PushError> {
    let files = input::package(&options.package, Scope::Verification)?;
    let findings = findings_of(files.by_path(), &Limits::DEFAULT);
    for finding in &findings {
        eprintln!("{}", for_terminal(&finding.to_string()));
    }
    if !passes(&findings) {
        return Err(PushError::Mistakes);
    }
    let published = input::package(&options.package, Scope::Publication)?;
    let text = published.text(PACKAGE_FILE).ok().flatten();
    let about = PackageFile::read(text, &Limits::DEFAULT)?;
    let name = about
        .name
        .filter(|name| is_package_name(name))
        .ok_or(PushError::Name)?;
    let version = options
        .package_version
        .clone()
        .or(about.version)
        .unwrap_or_default();
    if !is_version(&version) {
        return Err(PushError::Version(version));
    }
    match &options.channel {
        Some(channel) if !is_channel(channel) => Err(PushError::Channel(channel.clone())),
        _ => Ok((name, version)),
    }
}

/// What of the directory has one of these names at its top, as an image.
fn image(package: &Path, names: &[&str], added: &[(&str, &[u8])]) -> Result<Sendable, PushError> {
    packed(&pack(
        package,
        |name| names.contains(&name),
        added,
        Vec::new(),
    )?)
}

fn packed(archive: &[u8]) -> Result<Sendable, PushError> {
    let mut hash = Sha256::new();
    hash.update(archive);
    let unpacked = bundles::digest_of(hash);
    let mut layer = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::default());
    layer.write_all(archive)?;
    Ok(Sendable::of(Bytes::from(layer.finish()?), &unpacked)?)
}

fn registry(options: &PushOptions) -> Result<Registry, PushError> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| PushError::File {
            path: path.clone(),
            source: error,
        })
    };
    let authority = options.ca_file.as_ref().map(read).transpose()?;
    let authority = authority.map(|pem| String::from_utf8_lossy(&pem).into_owned());
    let config = match &options.docker_config {
        Some(path) => Some(read(path)?),
        // Docker's own place; without it the registry is asked without a login.
        None => docker_config().and_then(|path| std::fs::read(path).ok()),
    };
    let access = Access::of_flags(
        &options.repository,
        options.plain_http,
        authority.as_deref(),
        config.as_deref(),
    )?;
    Ok(Registry::new(access, DEADLINE)?)
}

fn docker_config() -> Option<PathBuf> {
    let folder = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker"));
    Some(folder.or_else(home)?.join("config.json"))
}

async fn refuse_other(
    registry: &Registry,
    path: &str,
    tag: &str,
    image: &Sendable,
    force: bool,
) -> Result<(), PushError> {
    match there(registry, path, tag).await? {
        Some(digest) if digest != image.digest && !force => {
            Err(PushError::Taken(shown(registry, path, tag)))
        }
        _ => Ok(()),
    }
}

async fn there(registry: &Registry, path: &str, tag: &str) -> Result<Option<String>, PushError> {
    match registry.digest(path, tag).await {
        Ok(digest) => Ok(Some(digest)),
        Err(error) if error.kind == Kind::Absent => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn send(
    registry: &Registry,
    path: &str,
    tag: &str,
    image: &Sendable,
) -> Result<(), PushError> {
    let (what, digest) = (shown(registry, path, tag), &image.digest);
    if there(registry, path, tag).await?.as_ref() == Some(digest) {
        println!("{what}@{digest} unchanged");
        return Ok(());
    }
    registry.push(path, tag, image).await?;
    println!("{what}@{digest} pushed");
    Ok(())
}

fn shown(registry: &Registry, path: &str, tag: &str) -> String {
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{}{slash}{path}:{tag}", registry.repository())
}
