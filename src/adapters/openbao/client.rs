//! The four operations on an entry. Each ends within three times the request's deadline.

use std::collections::HashMap;
use std::sync::Arc;

use domain::tenancy::facts::{EntryFact, EntryOwner};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::Uid;
use jiff::Timestamp;
use rustify::endpoint::Endpoint;
use secrecy::SecretString;
use vaultrs::api::kv2::requests::{
    DeleteSecretMetadataRequest, ReadSecretMetadataRequest, ReadSecretRequest, SetSecretRequest,
    SetSecretRequestOptions,
};
use vaultrs::api::kv2::responses::{
    ReadSecretMetadataResponse, ReadSecretResponse, SecretVersionMetadata,
};

use super::call::{Answer, WriteCustomMetadata, send};
use super::entry::{self, Entry};
use super::failure;
use super::session::Sessions;
use super::settings::{Auth, OpenBaoConfigError, OpenBaoSettings, is_plain_path};

/// How many request deadlines one operation may take: a login, a refused call, and the call itself.
const DEADLINES: u32 = 3;

/// The custom metadata of a path.
enum Metadata {
    /// Nothing was ever written, or all of it is removed.
    Absent,
    /// There is an entry, with or without versions.
    Present(HashMap<String, String>),
}

/// The entries of one KV v2 mount. Share it by `Arc`.
pub struct OpenBao {
    settings: Arc<OpenBaoSettings>,
    sessions: Sessions,
}

impl OpenBao {
    /// A client that has not called yet. The process must have installed its TLS provider.
    ///
    /// # Errors
    /// The setting that is wrong.
    pub fn new(settings: OpenBaoSettings) -> Result<Self, OpenBaoConfigError> {
        settings.check()?;
        let settings = Arc::new(settings);
        Ok(Self {
            sessions: Sessions::new(Arc::clone(&settings)),
            settings,
        })
    }

    /// When the present token ends; `None` before the first login, if it never ends, and if OpenBao does not say.
    #[must_use]
    pub fn token_expiry(&self) -> Option<Timestamp> {
        self.sessions.ends()
    }

    /// Whether the token is renewed by logging in, or given to this process in a file.
    #[must_use]
    pub fn auth(&self) -> &'static str {
        match self.settings.auth {
            Auth::Kubernetes { .. } => "kubernetes",
            Auth::Token { .. } => "token",
        }
    }

    /// Reads the latest version at a path under the mount, and whose it is.
    ///
    /// # Errors
    /// Why it could not be seen; an entry that is not there is no error.
    pub async fn read(&self, path: &str) -> Result<Entry, Failure> {
        let doing = format!("reading {}/data/{path}", self.settings.mount);
        self.in_time(path, &doing, self.read_latest(path, &doing))
            .await
    }

    /// Writes the first version with check-and-set 0, so that it never replaces another (T1, D9).
    ///
    /// # Errors
    /// [`Class::Stale`] if something is there by now, [`Class::Unavailable`] if it is not known whether it was written. After
    /// either the caller reads the entry before anything else, and takes the password that it finds.
    pub async fn create(
        &self,
        path: &str,
        owner: &EntryOwner,
        password: &SecretString,
    ) -> Result<(), Failure> {
        let doing = format!("creating {}/data/{path}", self.settings.mount);
        self.write(path, &doing, owner, password, 0).await
    }

    /// Writes the same password as a new version under another owner, then the metadata (T4). `version` is the latest one, which
    /// was read; `from` is the owner that the metadata may name beside the new one.
    ///
    /// # Errors
    /// [`Class::Stale`] if there is a newer version by now, [`Class::Conflict`] if the metadata name a third owner. Repeating it
    /// after the entry was read again is safe.
    pub async fn hand_over(
        &self,
        path: &str,
        from: &Uid,
        owner: &EntryOwner,
        password: &SecretString,
        version: u64,
    ) -> Result<u64, Failure> {
        let doing = format!("handing over {}/data/{path}", self.settings.mount);
        let cas = u32::try_from(version).map_err(|_| {
            Failure::new(
                Class::Rejected,
                format!("{doing}: the KV version is out of range"),
            )
        })?;
        self.write(path, &doing, owner, password, cas).await?;
        self.mark_from(path, Some(from), owner).await?;
        Ok(version + 1)
    }

    async fn write(
        &self,
        path: &str,
        doing: &str,
        owner: &EntryOwner,
        password: &SecretString,
        cas: u32,
    ) -> Result<(), Failure> {
        let request = SetSecretRequest {
            mount: self.settings.mount.clone(),
            path: path.to_owned(),
            data: entry::data(owner, password),
            options: Some(SetSecretRequestOptions { cas }),
        };
        let write = async {
            let answer = self.call(doing, request).await?;
            match answer.status {
                // The text of a 400 differs between servers and versions; reading back tells what is there (D9).
                400 => Err(Failure::new(
                    Class::Stale,
                    format!("OpenBao answers 400 to {doing}: reading it back"),
                )),
                200..300 if answer.data::<SecretVersionMetadata>().is_some() => Ok(()),
                200..300 => Err(failure::garbled(doing, "it names no version")),
                status => Err(failure::of_status(status, doing)),
            }
        };
        self.in_time(path, doing, write).await
    }

    /// Writes the owner into the entry's custom metadata; keys of others stay (D9).
    ///
    /// # Errors
    /// [`Class::Conflict`] if another owner is written there, [`Class::Stale`] if the entry is gone; nothing was written then.
    pub async fn mark(&self, path: &str, owner: &EntryOwner) -> Result<(), Failure> {
        self.mark_from(path, None, owner).await
    }

    async fn mark_from(
        &self,
        path: &str,
        from: Option<&Uid>,
        owner: &EntryOwner,
    ) -> Result<(), Failure> {
        let doing = format!("marking {}/metadata/{path}", self.settings.mount);
        let write = async {
            let Metadata::Present(present) = self.read_metadata(path, &doing).await? else {
                return Err(Failure::new(
                    Class::Stale,
                    format!("there is no OpenBao entry {path} to mark"),
                ));
            };
            if entry::metadata_uid(Some(&present))
                .is_some_and(|uid| uid != owner.tenant_uid && Some(&uid) != from)
            {
                let text =
                    format!("the custom metadata of the OpenBao entry {path} name another tenant");
                return Err(Failure::new(Class::Conflict, text));
            }
            let request = WriteCustomMetadata {
                mount: self.settings.mount.clone(),
                path: path.to_owned(),
                custom_metadata: entry::marked(present, owner),
            };
            succeeded(&self.call(&doing, request).await?, &doing)
        };
        self.in_time(path, &doing, write).await
    }

    /// Removes the entry with all versions and metadata; one that is not there is removed already. The caller has proved whose
    /// it is (T3).
    ///
    /// # Errors
    /// Why it could not be removed.
    pub async fn destroy(&self, path: &str) -> Result<(), Failure> {
        let doing = format!("removing {}/metadata/{path}", self.settings.mount);
        let request = DeleteSecretMetadataRequest {
            mount: self.settings.mount.clone(),
            path: path.to_owned(),
        };
        let remove = async { succeeded(&self.call(&doing, request).await?, &doing) };
        self.in_time(path, &doing, remove).await
    }

    async fn read_latest(&self, path: &str, doing: &str) -> Result<Entry, Failure> {
        let request = ReadSecretRequest {
            mount: self.settings.mount.clone(),
            path: path.to_owned(),
            version: None,
        };
        let answer = self.call(doing, request).await?;
        let found = answer.data::<ReadSecretResponse>();
        match (answer.status, found) {
            (200, Some(found)) => Ok(entry::present(
                found.metadata.version,
                &found.data,
                found.metadata.custom_metadata.as_ref(),
            )),
            (200, None) => Err(failure::garbled(
                doing,
                "it is not of the form of KV version 2",
            )),
            // A 404 with metadata: the latest version is deleted or destroyed (T1).
            (404, Some(found)) => Ok(deleted(found.metadata.custom_metadata.as_ref())),
            (404, None) if answer.says_nothing_there() => self.read_versionless(path, doing).await,
            // The one thing that a read can be refused as wrong for.
            (400, _) => Err(failure::not_ready(doing)),
            (status, _) => Err(failure::of_status(status, doing)),
        }
    }

    /// No version: nothing there at all, or metadata that someone wrote before any version.
    async fn read_versionless(&self, path: &str, doing: &str) -> Result<Entry, Failure> {
        match self.read_metadata(path, doing).await? {
            Metadata::Absent => Ok(Entry {
                fact: EntryFact::Absent,
                password: None,
            }),
            Metadata::Present(metadata) => Ok(deleted(Some(&metadata))),
        }
    }

    async fn read_metadata(&self, path: &str, doing: &str) -> Result<Metadata, Failure> {
        let request = ReadSecretMetadataRequest {
            mount: self.settings.mount.clone(),
            path: path.to_owned(),
        };
        let answer = self.call(doing, request).await?;
        if answer.says_nothing_there() {
            return Ok(Metadata::Absent);
        }
        succeeded(&answer, doing)?;
        let found = answer.data::<ReadSecretMetadataResponse>();
        let found = found
            .ok_or_else(|| failure::garbled(doing, "it is not of the form of KV version 2"))?;
        Ok(Metadata::Present(found.custom_metadata.unwrap_or_default()))
    }

    /// One call; a refused one is repeated once with a new login.
    async fn call<E: Endpoint>(&self, doing: &str, request: E) -> Result<Answer, Failure> {
        let call = request.with_middleware(self.sessions.middleware());
        let session = self.sessions.current().await?;
        let answer = send(&call, &session.transport, doing).await?;
        if answer.status != 403 {
            return Ok(answer);
        }
        match self.sessions.after_refusal(&session).await? {
            Some(session) => send(&call, &session.transport, doing).await,
            None => Ok(answer),
        }
    }

    async fn in_time<T>(
        &self,
        path: &str,
        doing: &str,
        operation: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        if !is_plain_path(path) {
            let text = format!(
                "{path:?} is no path of an OpenBao entry: its segments may not be empty, '.' or '..'"
            );
            return Err(Failure::new(Class::Misconfigured, text));
        }
        let deadline = self.settings.timeout * DEADLINES;
        tokio::time::timeout(deadline, operation)
            .await
            .unwrap_or_else(|_| Err(failure::late(doing)))
    }
}

fn succeeded(answer: &Answer, doing: &str) -> Result<(), Failure> {
    if answer.is_success() {
        Ok(())
    } else {
        Err(failure::of_status(answer.status, doing))
    }
}

fn deleted(metadata: Option<&HashMap<String, String>>) -> Entry {
    Entry {
        fact: EntryFact::Deleted {
            metadata: entry::metadata_uid(metadata),
        },
        password: None,
    }
}
