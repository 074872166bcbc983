//! Packages with scripts as hook programs, and runs of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::hooks::environment::Owner;
use domain::hooks::outputs::Outputs;
use nix::unistd::Pid;
use procfs::process::{Process, all_processes};
use serde_json::{Value, json};
use tempfile::TempDir;
use tenantry::adapters::hooks::{
    CheckFailure, Hooks, Launcher, LoadError, ProcessLimits, Run, RunError,
};

pub const OWNER: Owner<'static> = Owner {
    namespace: "team",
    instance: "app",
};

/// One hook of `beforeHelm`.
pub const ONE_HOOK: &str = r#"{"version":"v1","hooks":[{"configVersion":"v1","metadata":{"name":"h","path":""},"beforeHelm":1}],"has_settings_check":true}"#;

pub fn launcher() -> Launcher {
    launcher_with(ProcessLimits {
        time: Duration::from_secs(30),
        ..ProcessLimits::DEFAULT
    })
}

pub fn launcher_with(limits: ProcessLimits) -> Launcher {
    Launcher::of(e2e::world::tenantry::binary(), false, limits)
}

/// A package of this test's own.
pub struct Package(TempDir);

impl Package {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A package whose one program does this at `hook run` and at `hook check`.
    pub fn doing(body: &str) -> Self {
        let package = Self::new();
        let script = format!(
            "case \"$2\" in\nlist) echo 'Found 1 items:' ;;\nconfig) echo '{ONE_HOOK}' ;;\nrun | check)\n{body}\n;;\nesac"
        );
        package.program("hooks/batchhooks", &script);
        package
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a program of the package.
    pub fn program(&self, path: &str, script: &str) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub async fn load(&self) -> Result<Hooks, LoadError> {
        Hooks::load(&launcher(), self.path()).await
    }
}

/// Loads a sample of the tree.
pub async fn sample(name: &str, launcher: &Launcher) -> Hooks {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("packages")
        .join(name);
    Hooks::load(launcher, &folder).await.unwrap()
}

/// Runs the first hook of a package on these values.
pub async fn run_on(hooks: &Hooks, values: &Value) -> Result<Outputs, RunError> {
    let hook = hooks.all().next().unwrap();
    let run = Run {
        owner: OWNER,
        contexts: &json!([{"binding": "beforeHelm", "snapshots": {}}]),
        values,
        settings: &json!({}),
    };
    hooks.run(hook, run).await
}

pub async fn run(hooks: &Hooks) -> Result<Outputs, RunError> {
    run_on(hooks, &json!({})).await
}

/// Runs a script as a hook under these limits.
pub async fn run_script(body: &str, limits: ProcessLimits) -> Result<Outputs, RunError> {
    let package = Package::doing(body);
    let hooks = Hooks::load(&launcher_with(limits), package.path())
        .await
        .unwrap();
    run(&hooks).await
}

/// What a script says as a hook, on both outputs, until it ends.
pub async fn said(body: &str) -> String {
    let limits = ProcessLimits {
        time: Duration::from_secs(30),
        ..ProcessLimits::DEFAULT
    };
    match run_script(&format!("{{ {body}\n}} >&2 2>&1\nexit 1"), limits).await {
        Err(RunError::Failed { said, .. }) => said,
        other => panic!("the script was to fail: {other:?}"),
    }
}

/// The settings check's answer in words.
pub async fn checked(
    hooks: &Hooks,
    settings: &Value,
    within: Duration,
) -> Result<String, CheckFailure> {
    let answer = hooks.check(settings, within).await?;
    let verdict = if answer.valid { "valid" } else { "refused" };
    Ok(format!(
        "{verdict}: {} {:?}",
        answer.message, answer.warnings
    ))
}

/// Processes whose command line has this text.
pub fn running(text: &str) -> Vec<Process> {
    let has_text = |process: &Process| {
        let line = process.cmdline().unwrap_or_default();
        line.iter().any(|word| word.contains(text))
    };
    all_processes()
        .unwrap()
        .flatten()
        .filter(has_text)
        .collect()
}

/// Waits until no process has this text in its command line.
pub async fn await_gone(text: &str) {
    for _ in 0..500 {
        if running(text).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("still running: {:?}", running(text));
}

/// Children of this process that have ended and were not waited for.
pub fn zombies() -> Vec<i32> {
    let own = Pid::this().as_raw();
    let stats = all_processes()
        .unwrap()
        .flatten()
        .filter_map(|process| process.stat().ok());
    stats
        .filter(|stat| stat.ppid == own && stat.state == 'Z')
        .map(|stat| stat.pid)
        .collect()
}

/// What the outputs' values patch sets at a top-level key.
pub fn value(outputs: &Outputs, key: &str) -> Value {
    let mut values = json!({});
    outputs.values.apply(&mut values).unwrap();
    values[key].clone()
}

/// A number that no other process has in its command line.
pub fn unique() -> String {
    format!("{}", rand::random_range(100_000_000_u64..999_999_999))
}
