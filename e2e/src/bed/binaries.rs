//! Where the bed's programs are: the cache folder that `e2e/bed/install.sh` fills, one folder per name and version.
//!
//! Decides paths from `versions.env`; never downloads or builds anything.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

const VERSIONS: &str = include_str!("../../bed/versions.env");

/// The folders of the pinned programs, each known to exist.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// Folder with `etcd`.
    pub etcd: PathBuf,
    /// Folder with `kube-apiserver`, `kube-controller-manager` and `kubectl`.
    pub kubernetes: PathBuf,
    /// Folder with `helm`.
    pub helm: PathBuf,
    /// Folder with `external-secrets` and its `crds.yaml`.
    pub external_secrets: PathBuf,
    /// Folder with `bao`.
    pub openbao: PathBuf,
    /// Install tree (`bin`, `lib`, `share`) of the chosen PostgreSQL major.
    pub postgresql: PathBuf,
}

impl Binaries {
    /// Finds all programs for PostgreSQL `major`; the error names the folder that is missing and how to get it.
    pub fn locate(major: u8) -> Result<Self> {
        let postgresql = program_folder("postgresql", &format!("POSTGRESQL_{major}"));
        Ok(Self {
            etcd: program_folder("etcd", "ETCD")?,
            kubernetes: program_folder("kubernetes", "KUBERNETES")?,
            helm: program_folder("helm", "HELM")?,
            external_secrets: program_folder("external-secrets", "EXTERNAL_SECRETS")?,
            openbao: program_folder("openbao", "OPENBAO")?,
            postgresql: postgresql.with_context(|| format!("with PG={major}"))?,
        })
    }
}

/// The folder of one program, by its name in the cache and the key of its version in `versions.env`.
pub fn program_folder(name: &str, key: &str) -> Result<PathBuf> {
    let folder = cache()?.join(format!("{name}-{}", version(key)?));
    ensure!(
        folder.is_dir(),
        "{} is missing: run `make setup`",
        folder.display()
    );
    Ok(folder)
}

/// The cache folder: `TENANTRY_BED_CACHE`, else `~/.cache/tenantry-bed`.
pub fn cache() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("TENANTRY_BED_CACHE") {
        return Ok(folder.into());
    }
    let home = std::env::var_os("HOME").context("neither TENANTRY_BED_CACHE nor HOME is set")?;
    Ok(Path::new(&home).join(".cache/tenantry-bed"))
}

/// The pinned version of `key` in `versions.env`.
fn version(key: &str) -> Result<&'static str> {
    for line in VERSIONS.lines() {
        if let Some((name, version)) = line.split_once('=')
            && name == key
        {
            return Ok(version.trim());
        }
    }
    bail!("versions.env has no {key}");
}
