//! Processes that are measured: started here or there, looked at through `/proc`.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::unistd::Pid;

/// A process that ends with this value.
pub struct Child(std::process::Child);

impl Child {
    /// Starts it; what it says is dropped.
    pub fn start(mut command: Command) -> Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let program = command.get_program().to_string_lossy().into_owned();
        Ok(Self(
            command
                .spawn()
                .with_context(|| format!("starting {program}"))?,
        ))
    }

    pub fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It ended already: nothing to stop.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// User and system time of a process, all its threads together, those that ended among them.
pub fn cpu_time(pid: i32) -> Result<Duration> {
    let clock = nix::time::clock_getcpuclockid(Pid::from_raw(pid))?;
    Ok(clock.now()?.into())
}

/// Memory of a process, in MB (10^6 bytes).
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Resident now.
    pub resident: f64,
    /// The most that was ever resident.
    pub peak: f64,
}

impl Memory {
    /// Of a living process.
    pub fn of(pid: i32) -> Result<Self> {
        let status = procfs::process::Process::new(pid)?.status()?;
        let megabytes = |kib: Option<u64>| -> Result<f64> {
            let kib = u32::try_from(kib.context("no memory: a kernel thread, or it ended")?)?;
            Ok(f64::from(kib) * 1.024 / 1000.0)
        };
        Ok(Self {
            resident: megabytes(status.vmrss)?,
            peak: megabytes(status.vmhwm)?,
        })
    }
}
