//! The real `kubectl`: messages as users see them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::command::{Output, output};

/// `kubectl` with one kubeconfig.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// `folder` holds the program.
    #[must_use]
    pub fn new(folder: &Path, kubeconfig: &Path) -> Self {
        Self {
            program: folder.join("kubectl"),
            kubeconfig: kubeconfig.to_owned(),
        }
    }

    /// Runs it; a failure of the command is in the output, not an error.
    pub async fn run(&self, arguments: &[&str]) -> Result<Output> {
        self.run_with_input(arguments, "").await
    }

    /// `kubectl apply` of one or more YAML documents.
    pub async fn apply(&self, manifest: &str) -> Result<Output> {
        self.run_with_input(&["apply", "-f", "-"], manifest).await
    }

    /// Merges `status` into that of an object, as only its controller should. `kind` is a name that kubectl knows.
    pub async fn merge_status(
        &self,
        (kind, namespace, name): (&str, &str, &str),
        status: &Value,
    ) -> Result<Output> {
        let patch = json!({ "status": status }).to_string();
        let object = ["patch", kind, name, "-n", namespace];
        let merged = ["--subresource", "status", "--type", "merge", "-p", &patch];
        self.run(&[object.as_slice(), &merged].concat()).await
    }

    /// Runs it with something on standard input.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> Result<Output> {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig);
        // Discovery is cached by server address; another bed may have had the same port.
        command.env(
            "KUBECACHEDIR",
            self.kubeconfig.with_file_name("kubectl-cache"),
        );
        output(command, input).await
    }
}
