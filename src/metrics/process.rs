//! The `process_*` series that every Prometheus client library has, read from `/proc` at each scrape.
//!
//! What cannot be read is left out; it decides nothing.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Clock ticks a second in `/proc`: `USER_HZ`, which is 100 on every architecture that Kubernetes runs on.
const TICKS: f64 = 100.0;

/// Reads the process at each scrape.
#[derive(Debug)]
pub struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let stat = Stat::read();
        if let Some(stat) = &stat {
            let seconds = ConstCounter::new(stat.cpu_seconds);
            let about = "User and system CPU time spent";
            let name = "process_cpu_seconds";
            let series = encoder.encode_descriptor(name, about, None, seconds.metric_type())?;
            seconds.encode(series)?;
        }
        let gauges = [
            (
                "process_start_time_seconds",
                "Start of the process, Unix time",
                stat.as_ref()
                    .and_then(|stat| Some(boot_time()? + stat.started)),
            ),
            (
                "process_resident_memory_bytes",
                "Resident memory",
                status_bytes("VmRSS:"),
            ),
            (
                "process_virtual_memory_bytes",
                "Virtual memory",
                status_bytes("VmSize:"),
            ),
            ("process_open_fds", "Open file descriptors", open_files()),
            (
                "process_max_fds",
                "Most file descriptors that may be open",
                most_files(),
            ),
        ];
        for (name, about, value) in gauges {
            if let Some(value) = value {
                let gauge = ConstGauge::new(value);
                let series = encoder.encode_descriptor(name, about, None, gauge.metric_type())?;
                gauge.encode(series)?;
            }
        }
        Ok(())
    }
}

/// Of `/proc/self/stat`.
struct Stat {
    cpu_seconds: f64,
    /// Seconds after boot.
    started: f64,
}

impl Stat {
    fn read() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // The program's name may hold blanks and brackets; what follows the last one does not. Fields count from the third.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_seconds: (ticks(14)? + ticks(15)?) / TICKS,
            started: ticks(22)? / TICKS,
        })
    }
}

fn boot_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

fn status_bytes(field: &str) -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

fn open_files() -> Option<f64> {
    let count = u32::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()?;
    // One of them is the look itself.
    Some(f64::from(count.saturating_sub(1)))
}

fn most_files() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}
