//! Running a program to its end and keeping what it said.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tokio::io::AsyncWriteExt as _;

/// What a command said.
#[derive(Clone, Debug)]
pub struct Output {
    /// Standard output.
    pub stdout: String,
    /// Standard error: denials, warnings.
    pub stderr: String,
    /// Exit code; -1 when a signal ended it.
    pub code: i32,
}

impl Output {
    /// The output itself if the command succeeded, else an error with what it said.
    pub fn success(self) -> Result<Self> {
        ensure!(
            self.code == 0,
            "exit code {}: {}{}",
            self.code,
            self.stdout,
            self.stderr
        );
        Ok(self)
    }
}

/// Runs `command` with `input` on its standard input. A failure of the command is in the output, not an error.
pub async fn output(mut command: Command, input: &str) -> Result<Output> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let program = command.get_program().to_string_lossy().into_owned();
    let mut command = tokio::process::Command::from(command);
    let mut child = command
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program may end without reading: its exit code and messages say why.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let output = child
        .wait_with_output()
        .await
        .with_context(|| format!("waiting for {program}"))?;
    Ok(Output {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().unwrap_or(-1),
    })
}
