//! Releases through the real `helm` command (settings contract, section 9).
//!
//! Decides how helm is called: a private copy of the package as a chart, files instead of arguments for everything that may be a secret, an
//! environment of its own, a deadline, and our own program as post-renderer. What becomes of files and objects is the domain's
//! (`domain::releases`). No shell, and never `--wait` at an application: a cluster without a node gets no Deployment ready.
//!
//! Reading order: this file (the calls), `folder` (the files of one call), `launch` (the process), `failure`, `revisions` (what is there),
//! `request` (what the post-renderer is told).

mod failure;
mod folder;
mod launch;
pub mod request;
pub mod revisions;

use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::releases::Instance;
use domain::releases::context::Context;
use domain::releases::scope::Kinds;
use secrecy::SecretString;
use serde_json::Value;

pub use self::failure::{Kind, ReleaseError};
use self::folder::Folder;
use self::launch::run;
use self::request::Request;

/// Revisions that are kept of each release.
const HISTORY: &str = "5";
/// Helm's own limit for each of its calls and hooks, below ours.
const HELM_TIMEOUT: &str = "5m";
/// No call of helm may take longer.
const DEADLINE: Duration = Duration::from_secs(330);
/// The label of a release's Secret that says what was applied.
pub const DIGEST_LABEL: &str = "packages.deckhouse.io/applied-digest";

/// As whom helm speaks to the API server.
#[derive(Clone)]
pub struct Identity {
    /// The API server's URL.
    pub server: String,
    /// Its authority, PEM; the system's if there is none.
    pub authority: Option<String>,
    /// A bearer token.
    pub token: SecretString,
}

/// What is applied.
pub struct Release<'a> {
    /// What templates see beside `.Values`; also whose release it is.
    pub context: Context<'a>,
    /// The unpacked bundle.
    pub bundle: &'a Path,
    /// `.Values`.
    pub values: &'a Value,
    /// What says that the same need not be applied again; a label's value.
    pub digest: &'a str,
    /// The kinds of the API server, to refuse objects of cluster scope and of other namespaces (S22); `None` refuses none.
    pub kinds: Option<Kinds>,
}

/// The `helm` command.
#[derive(Clone, Debug)]
pub struct Helm {
    program: PathBuf,
    own: PathBuf,
    scratch: PathBuf,
}

impl Helm {
    /// With the programs helm and tenantry; folders of single calls are made below `scratch`.
    #[must_use]
    pub const fn new(program: PathBuf, own: PathBuf, scratch: PathBuf) -> Self {
        Self {
            program,
            own,
            scratch,
        }
    }

    /// Installs the release, or changes it.
    ///
    /// # Errors
    /// Why not; what was in force before stays so unless helm failed in between.
    pub async fn apply(
        &self,
        release: &Release<'_>,
        identity: &Identity,
    ) -> Result<(), ReleaseError> {
        let instance = release.context.instance;
        let folder = Folder::create(&self.scratch)?;
        let chart = folder.chart(release.bundle, &release.context)?;
        let values = folder.values(release.values)?;
        folder.login(identity, &instance.namespace)?;
        let request = Request {
            instance: instance.name.clone(),
            namespace: instance.namespace.clone(),
            package: release.context.package.to_owned(),
            kinds: release.kinds.clone(),
            refusal: folder.refusal(),
        };
        folder.post_renderer(&self.own, &request)?;
        let name = instance.release_name();
        let labels = format!("{DIGEST_LABEL}={}", release.digest);
        let mut arguments = vec!["upgrade".into(), "--install".into(), name.into()];
        arguments.push(chart.into_os_string());
        arguments.extend(["--values".into(), values.into_os_string()]);
        for argument in [
            "--namespace",
            &instance.namespace,
            "--server-side=false",
            "--timeout",
            HELM_TIMEOUT,
            "--history-max",
            HISTORY,
            "--labels",
            &labels,
            "--post-renderer",
            folder::PLUGIN,
        ] {
            arguments.push(argument.into());
        }
        let done = run(&self.program, &self.own, &arguments, &folder, DEADLINE).await;
        match folder.refused() {
            Some(refusal) => Err(ReleaseError::new(Kind::Refused, refusal)),
            None => done,
        }
    }

    /// Goes back to a revision that was whole.
    ///
    /// # Errors
    /// Why not.
    pub async fn roll_back(
        &self,
        instance: &Instance,
        to: u32,
        identity: &Identity,
    ) -> Result<(), ReleaseError> {
        let (name, number) = (instance.release_name(), to.to_string());
        let call = [
            "rollback",
            &name,
            &number,
            "--namespace",
            &instance.namespace,
            "--server-side=false",
            "--timeout",
            HELM_TIMEOUT,
            "--history-max",
            HISTORY,
        ];
        self.call(&call, instance, identity).await
    }

    /// Removes the release and waits until its objects are gone; one that is not there is fine.
    ///
    /// # Errors
    /// Why not.
    pub async fn uninstall(
        &self,
        instance: &Instance,
        identity: &Identity,
    ) -> Result<(), ReleaseError> {
        let name = instance.release_name();
        let call = [
            "uninstall",
            &name,
            "--namespace",
            &instance.namespace,
            "--ignore-not-found",
            "--wait",
            "--timeout",
            HELM_TIMEOUT,
        ];
        self.call(&call, instance, identity).await
    }

    async fn call(
        &self,
        arguments: &[&str],
        instance: &Instance,
        identity: &Identity,
    ) -> Result<(), ReleaseError> {
        let folder = Folder::create(&self.scratch)?;
        folder.login(identity, &instance.namespace)?;
        let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
        run(&self.program, &self.own, &arguments, &folder, DEADLINE).await
    }
}
