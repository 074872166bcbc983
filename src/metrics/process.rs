//! The `process_*` series that every Prometheus client library has, read from `/proc` at each scrape.
//!
//! What cannot be read is left out; it decides nothing.

use procfs::process::{LimitValue, Process as OfProc};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Reads the process at each scrape.
#[derive(Debug)]
pub struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let Ok(me) = OfProc::myself() else {
            return Ok(());
        };
        let stat = me.stat().ok();
        if let Some(stat) = &stat {
            let spent = ConstCounter::new(seconds(stat.utime + stat.stime));
            let about = "User and system CPU time spent";
            let name = "process_cpu_seconds";
            let series = encoder.encode_descriptor(name, about, None, spent.metric_type())?;
            spent.encode(series)?;
        }
        let started = stat.as_ref().and_then(|stat| {
            let boot = procfs::boot_time_secs().ok()?;
            Some(number(boot) + seconds(stat.starttime))
        });
        let status = me.status().ok();
        let kibibytes = |value: Option<u64>| value.map(|value| number(value) * 1024.0);
        let resident = status.as_ref().and_then(|status| status.vmrss);
        let virtual_size = status.as_ref().and_then(|status| status.vmsize);
        let files = me
            .fd_count()
            .ok()
            .and_then(|count| u32::try_from(count).ok());
        let gauges = [
            (
                "process_start_time_seconds",
                "Start of the process, Unix time",
                started,
            ),
            (
                "process_resident_memory_bytes",
                "Resident memory",
                kibibytes(resident),
            ),
            (
                "process_virtual_memory_bytes",
                "Virtual memory",
                kibibytes(virtual_size),
            ),
            (
                "process_open_fds",
                "Open file descriptors",
                files.map(f64::from),
            ),
            (
                "process_max_fds",
                "Most file descriptors that may be open",
                most_files(&me),
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

fn most_files(me: &OfProc) -> Option<f64> {
    match me.limits().ok()?.max_open_files.soft_limit {
        LimitValue::Value(most) => Some(number(most)),
        LimitValue::Unlimited => Some(f64::INFINITY),
    }
}

fn seconds(ticks: u64) -> f64 {
    number(ticks) / number(procfs::ticks_per_second())
}

/// Prometheus has no whole numbers; none of these is near the 53 bits that are exact.
#[allow(clippy::cast_precision_loss)]
fn number(value: u64) -> f64 {
    value as f64
}
