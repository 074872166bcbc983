//! An OCI registry of a test: Debian's `docker-registry` on loopback, its blobs in a folder of the run.
//!
//! Decides its configuration: plain HTTP or a certificate of the bed's authority, open or behind a password. Started by the
//! story that wants one, so a bed without it starts no later; stopped with its value, or with the bed.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;

use super::folder::RunFolder;
use super::pki::Authority;
use super::ports::free_port;
use super::process::{Process, Spawn};
use super::program_folder;
use super::wait::until;

/// The user of a registry behind a password.
pub const USER: &str = "bed";
/// Its password: a canary that no log, status or argument may show.
pub const PASSWORD: &str = "bed-registry-canary";
/// bcrypt of [`PASSWORD`], the only form that the registry takes; of the lowest cost, as it is checked on each request.
const HASH: &str = "$2b$04$JoztVJsYfCsfg6r8fekfHepmpK5St9o9aw5CHFRKr/mJh2Zf9w5Zi";

/// How long a killed registry may hold its socket.
const CLOSED: Duration = Duration::from_secs(2);

/// How a registry is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// With a certificate of the bed's authority instead of plain HTTP.
    pub tls: bool,
    /// Behind [`USER`] and [`PASSWORD`].
    pub password: bool,
}

/// A registry, running or stopped.
pub struct Registry {
    run: RunFolder,
    name: String,
    folder: PathBuf,
    address: String,
    access: Access,
}

impl Registry {
    /// Makes and starts an empty registry; `name` is unique in the bed.
    pub async fn create(run: &RunFolder, name: &str, access: Access) -> Result<Self> {
        let name = format!("registry-{name}");
        let folder = run.join(&name);
        fs::create_dir(&folder).with_context(|| format!("making {}", folder.display()))?;
        let registry = Self {
            address: format!("127.0.0.1:{}", free_port()?),
            run: run.clone(),
            name,
            folder,
            access,
        };
        registry.configure()?;
        registry.start().await?;
        Ok(registry)
    }

    /// Host and port, as a repository's name begins.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The folder that holds its blobs and manifests, for stories that damage them.
    #[must_use]
    pub fn storage(&self) -> PathBuf {
        self.folder.join("storage/docker/registry/v2")
    }

    /// Starts it, with what it held before.
    pub async fn start(&self) -> Result<()> {
        let program = program_folder("registry", "REGISTRY")?.join("usr/bin/docker-registry");
        let process = Spawn::new(&self.name, program)
            .args(["serve".into(), self.folder.join("config.json")])
            .env("OTEL_TRACES_EXPORTER", "none")
            .start(&self.run)?;
        until(
            Duration::from_secs(10),
            "the registry answers",
            async || {
                process.check(&self.run)?;
                tokio::net::TcpStream::connect(&self.address).await?;
                Ok(())
            },
        )
        .await
    }

    /// Stops it; what it holds stays. Nobody listens at its address afterwards.
    pub fn stop(&self) {
        let Some(process) = Process::recorded(&self.run, &self.name) else {
            return;
        };
        process.stop(&self.run);
        // The first thread of a Go program can be gone while another still holds the socket.
        let start = Instant::now();
        while start.elapsed() < CLOSED && TcpStream::connect(&self.address).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// JSON is YAML: the registry reads its configuration as such.
    fn configure(&self) -> Result<()> {
        let mut http = json!({"addr": self.address});
        if self.access.tls {
            let certificate =
                Authority::open(&self.run, Authority::BED)?.serving(&self.name, &[])?;
            http = json!({
                "addr": self.address,
                "tls": {"certificate": certificate.certificate, "key": certificate.key},
            });
        }
        let mut config = json!({
            "version": 0.1,
            "log": {"level": "info"},
            "storage": {
                "filesystem": {"rootdirectory": self.folder.join("storage")},
                "delete": {"enabled": true},
            },
            "http": http,
        });
        if self.access.password {
            let path = self.folder.join("htpasswd");
            fs::write(&path, format!("{USER}:{HASH}\n"))?;
            if let Some(config) = config.as_object_mut() {
                config.insert(
                    "auth".to_owned(),
                    json!({"htpasswd": {"realm": "bed", "path": path}}),
                );
            }
        }
        fs::write(self.folder.join("config.json"), config.to_string())?;
        Ok(())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}
