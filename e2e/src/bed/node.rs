//! A real node: containerd, kubelet and scheduler, in network, mount, PID and cgroup namespaces of the bed's own.
//!
//! Decides how they are started and configured; `e2e/bed/node.sh` makes the namespaces. The thread that starts or opens such a
//! bed enters its network namespace, and so does all that it starts afterwards: nothing listens on the machine's interfaces.
//! There is no kube-proxy and no DNS: the API server calls webhooks at the pods' addresses.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::Signal;

use super::address::BRIDGE;
use super::binaries::program_folder;
use super::folder::RunFolder;
use super::process::{Process, Spawn};
use super::wait::until;
use crate::world::command::output;
use crate::world::kubectl::Kubectl;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bed/node.sh");
const CONTAINERD: &str = include_str!("../../bed/node/containerd.toml");
const CNI: &str = include_str!("../../bed/node/cni.conflist");
const KUBELET: &str = include_str!("../../bed/node/kubelet.yaml");
/// Its name in the cluster.
pub const NAME: &str = "node1";

/// The node of a bed.
pub struct Node {
    run: RunFolder,
    /// Process id of the first process inside, as seen from outside.
    inside: u32,
    runtime: PathBuf,
    programs: PathBuf,
}

impl Node {
    /// Makes the namespaces and enters the network; before any other part is started.
    pub async fn hold(run: &RunFolder) -> Result<Self> {
        let mut holder =
            Spawn::new("node", SCRIPT).args(["hold".to_owned(), run.path().display().to_string()]);
        // unshare passes over a polite signal; its death takes everything inside along.
        holder.stop_signal = Signal::SIGKILL;
        let holder = holder.start(run)?;
        let (ready, pid) = (run.join("node/ready"), holder.pid);
        until(
            Duration::from_secs(20),
            "the node's namespaces",
            async || {
                holder.check(run)?;
                ensure!(ready.exists(), "they are being made");
                Ok(())
            },
        )
        .await?;
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        fs::write(run.join("node/inside"), children.trim())?;
        Self::enter(run)
    }

    /// Takes up the node of a running bed; this thread enters its network.
    pub fn enter(run: &RunFolder) -> Result<Self> {
        let inside: u32 = fs::read_to_string(run.join("node/inside"))?.parse()?;
        let network = format!("/proc/{inside}/ns/net");
        let network = File::open(&network).with_context(|| format!("opening {network}"))?;
        setns(network, CloneFlags::CLONE_NEWNET).context("entering the node's network")?;
        Ok(Self {
            run: run.clone(),
            inside,
            runtime: program_folder("node-runtime", "NODE_RUNTIME")?,
            programs: program_folder("node", "KUBERNETES")?,
        })
    }

    /// Starts containerd and gives it the image of the sandboxes.
    pub async fn start_runtime(&self) -> Result<()> {
        let run = self.run.path().display().to_string();
        let runtime = self.runtime.display().to_string();
        let config = CONTAINERD
            .replace("@RUN@", &run)
            .replace("@RUNTIME@", &runtime);
        let file = self.run.join("node/containerd.toml");
        fs::write(&file, config)?;
        fs::create_dir_all(self.run.join("node/cni"))?;
        fs::write(self.run.join("node/cni/10-bed.conflist"), CNI)?;
        let containerd = self
            .spawn("containerd", &self.runtime.join("usr/bin/containerd"))
            .args(["--config"])
            .args([file])
            .start(&self.run)?;
        until(Duration::from_secs(30), "containerd answers", async || {
            containerd.check(&self.run)?;
            self.ctr(&["version"]).await
        })
        .await?;
        self.import_image(&self.programs.join("pause.tar")).await
    }

    /// Starts kubelet and scheduler.
    pub fn start_kubelet(&self) -> Result<()> {
        let config = self.run.join("node/kubelet.yaml");
        fs::write(&config, KUBELET)?;
        let kubeconfig = |name: &str| self.run.join(format!("{name}.kubeconfig"));
        self.spawn("kubelet", &self.programs.join("kubelet"))
            .args([
                format!("--config={}", config.display()),
                format!("--kubeconfig={}", kubeconfig("node").display()),
                format!("--hostname-override={NAME}"),
                format!("--node-ip={BRIDGE}"),
            ])
            .args([
                "--root-dir=/var/lib/kubelet",
                "--cert-dir=/var/lib/kubelet/pki",
                "--v=2",
            ])
            .start(&self.run)?;
        let scheduler = kubeconfig("scheduler").display().to_string();
        Spawn::new("kube-scheduler", self.programs.join("kube-scheduler"))
            .args(
                [
                    "kubeconfig",
                    "authentication-kubeconfig",
                    "authorization-kubeconfig",
                ]
                .map(|flag| format!("--{flag}={scheduler}")),
            )
            .args(["--leader-elect=false", "--bind-address=127.0.0.1"])
            .start(&self.run)?;
        Ok(())
    }

    /// Waits until pods can run.
    pub async fn ready(&self, kubectl: &Kubectl) -> Result<()> {
        until(Duration::from_secs(90), "the node is ready", async || {
            if let Some(kubelet) = Process::recorded(&self.run, "kubelet") {
                kubelet.check(&self.run)?;
            }
            let path = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
            let seen = kubectl.run(&["get", "node", NAME, "-o", path]).await?;
            ensure!(seen.stdout == "True", "{}{}", seen.stdout, seen.stderr);
            Ok(())
        })
        .await
    }

    /// Gives the node the images of an OCI archive.
    pub async fn import_image(&self, archive: &Path) -> Result<()> {
        ensure!(
            archive.is_file(),
            "there is no image in {}: run `make image`",
            archive.display()
        );
        let archive = archive.display().to_string();
        self.ctr(&["--namespace", "k8s.io", "images", "import", &archive])
            .await
            .with_context(|| format!("importing {archive}"))
    }

    /// Runs containerd's client inside.
    async fn ctr(&self, arguments: &[&str]) -> Result<()> {
        let mut command = self.command(&self.runtime.join("usr/bin/ctr"));
        command.args(arguments);
        output(command, "").await?.success().map(drop)
    }

    /// A program in all namespaces and the cgroups of the node.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(SCRIPT);
        command
            .args(["in", &self.inside.to_string()])
            .arg(self.run.path())
            .arg(program);
        let runtime = self.runtime.display();
        // containerd looks for its shim and runc for its libraries.
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env(
                "PATH",
                format!("{runtime}/usr/bin:{runtime}/usr/sbin:{path}"),
            )
            .env(
                "LD_LIBRARY_PATH",
                format!("{runtime}/usr/lib/x86_64-linux-gnu"),
            );
        command
    }

    fn spawn<'a>(&self, name: &'a str, program: &Path) -> Spawn<'a> {
        Spawn::wrapped(name, self.command(program), program)
    }
}

/// Removes the cgroups of a bed with a node, once all its processes have ended.
pub fn remove(run: &RunFolder) {
    let removed = Command::new(SCRIPT).arg("remove").arg(run.path()).status();
    if let Err(error) = removed {
        eprintln!("removing the cgroups of {}: {error}", run.path().display());
    }
}
