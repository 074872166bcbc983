//! Tells the program which revision it is built from: `TENANTRY_REVISION` if it is set, else what git says, else `unknown`.
//!
//! It decides nothing else, and needs neither git nor a repository.

use std::path::Path;
use std::process::Command;

const VARIABLE: &str = "TENANTRY_REVISION";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let told = std::env::var(VARIABLE).ok();
    let revision = told
        .filter(|told| !told.is_empty())
        .or_else(|| of_git(Path::new(env!("CARGO_MANIFEST_DIR"))));
    let revision = revision.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env={VARIABLE}={revision}");
}

/// The commit that is checked out here; `None` without git, and for sources that lie in somebody else's repository.
fn of_git(sources: &Path) -> Option<String> {
    let root = git(sources, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&root).canonicalize().ok()? != sources.canonicalize().ok()? {
        return None;
    }
    // Written at each commit and checkout; a path that is not there would have this run at every build.
    let log = sources.join(git(sources, &["rev-parse", "--git-path", "logs/HEAD"])?);
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(sources, &["rev-parse", "HEAD"])
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
