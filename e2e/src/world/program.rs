//! A command of the program under test that ends by itself, such as `tenantry check`.
//!
//! Decides where the program is and that nothing of the story's own environment leaks into it. It asserts nothing.

use std::process::Command;

use anyhow::Result;

use super::command::{Output, output};

/// Runs `tenantry` with these arguments, `input` on its standard input, and these variables beside `PATH` alone.
pub async fn tenantry(
    arguments: &[&str],
    input: &str,
    variables: &[(&str, &str)],
) -> Result<Output> {
    let mut command = Command::new(super::tenantry::binary());
    command.args(arguments).env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.envs(variables.iter().copied());
    output(command, input).await
}
