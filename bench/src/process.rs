//! Processes that are measured: started here or there, looked at through `/proc`.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

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

/// User and system time of a process, all its threads together, in steps of 10 ms.
pub fn cpu_time(pid: i32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold anything; what follows is numbers.
    let (_, fields) = stat.rsplit_once(')').context("no process name")?;
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// A line of `/proc/PID/status` such as `VmRSS` or `VmHWM`, in MB (10^6 bytes).
pub fn memory_mb(pid: i32, line: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib: f64 = status
        .lines()
        .find_map(|text| text.strip_prefix(line)?.strip_prefix(':'))
        .with_context(|| format!("no {line}"))?
        .trim()
        .trim_end_matches(" kB")
        .parse()?;
    Ok(kib * 1.024 / 1000.0)
}
