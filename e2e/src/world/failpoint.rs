//! A process that stops for good at an effect, as one that was killed there, until the story kills it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::tenantry::{Tenantry, TenantryOptions};
use crate::bed::wait::until;

/// See the module text.
pub struct Armed {
    line: String,
    log: PathBuf,
    /// Where the log stood when the process was started.
    start: usize,
}

impl Armed {
    /// Kills the process if it runs, and starts it with these options and this failpoint, such as `repository.create.before`.
    pub fn start(
        tenantry: &mut Tenantry,
        options: TenantryOptions,
        failpoint: &str,
    ) -> Result<Self> {
        tenantry.kill9();
        let log = tenantry.log_file();
        let armed = Self {
            line: format!("failpoint {failpoint} reached"),
            start: fs::read(&log)?.len(),
            log,
        };
        tenantry.options = options.failpoints(format!("{failpoint}=1*return"));
        tenantry.spawn()?;
        Ok(armed)
    }

    /// Waits until the process is there.
    pub async fn reached(&self, limit: Duration) -> Result<()> {
        until(limit, &self.line, async || {
            let log = fs::read(&self.log)?;
            let since = log.get(self.start..).unwrap_or_default();
            let is_there = String::from_utf8_lossy(since).contains(&self.line);
            ensure!(is_there, "it is not (built with --features failpoints?)");
            Ok(())
        })
        .await
    }
}
