//! One process of helm: started by our own `helm-exec`, so that it dies with us; ended at its deadline, its output bounded.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use super::failure::{Kind, ReleaseError};
use super::folder::Folder;

/// Bytes of each output that are kept; the rest is read and dropped.
const KEPT: usize = 64 << 10;

/// Ends the whole group of a process when it goes out of scope.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // One that is gone already is what was wanted.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

pub(super) async fn run(
    helm: &Path,
    own: &Path,
    arguments: &[OsString],
    folder: &Folder,
    deadline: Duration,
) -> Result<(), ReleaseError> {
    let mut child = Command::new(own)
        .args([
            "helm-exec",
            "--parent",
            &std::process::id().to_string(),
            "--",
        ])
        .arg(helm)
        .args(arguments)
        .env_clear()
        .envs(folder.environment())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| ReleaseError::broken("helm cannot be started", &error))?;
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    let mut group = Group(pid.and_then(Pid::from_raw));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ended = tokio::time::timeout(deadline, async {
        let ((), said, status) = tokio::join!(drained(stdout), kept(stderr), child.wait());
        (said, status)
    });
    let Ok((said, status)) = ended.await else {
        let text = format!(
            "helm did not end within {} s, and was ended",
            deadline.as_secs()
        );
        return Err(ReleaseError::new(Kind::TimedOut, text));
    };
    group.0 = None;
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(ReleaseError::said(&said, folder.path())),
        Err(error) => Err(ReleaseError::broken("helm cannot be waited for", &error)),
    }
}

async fn drained(output: Option<impl AsyncRead + Unpin>) {
    if let Some(mut output) = output {
        // Notes of a chart are nobody's to read here.
        let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
    }
}

/// The beginning of an output; the rest is read, so that the process does not wait for it.
async fn kept(output: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut output) = output else {
        return String::new();
    };
    let mut bytes = Vec::new();
    let most = u64::try_from(KEPT).unwrap_or(u64::MAX);
    let _ = (&mut output).take(most).read_to_end(&mut bytes).await;
    drained(Some(output)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}
