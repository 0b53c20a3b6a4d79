use super::Failure;
use super::callers::Times;
use hdrhistogram::Histogram;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use serde_json::json;
use std::fmt;
use std::time::Duration;

/// The last line that a client prints.
pub(crate) struct Report {
    before: Usage,
    line: String,
}

impl Report {
    pub(super) fn begin() -> Result<Self, Failure> {
        Ok(Report {
            before: getrusage(UsageWho::RUSAGE_SELF)?,
            line: String::new(),
        })
    }

    pub(super) fn end(mut self, times: &[Times]) -> Result<Self, Failure> {
        let after = getrusage(UsageWho::RUSAGE_SELF)?;
        let began = times.iter().map(|times| times.began).min();
        let ended = times.iter().map(|times| times.ended).max();
        let elapsed = began
            .zip(ended)
            .map_or(Duration::ZERO, |(began, ended)| ended - began);
        let mut all = Histogram::<u64>::new(3)?;
        for latency in times.iter().flat_map(|one| &one.latencies) {
            all.record(*latency)?;
        }
        let switches = |of: fn(&Usage) -> i64| of(&after) - of(&self.before);
        self.line = json!({
            "calls": all.len(),
            "elapsed_ns": elapsed.as_nanos() as u64,
            "cpu_ns": cpu_ns(&after) - cpu_ns(&self.before),
            "voluntary_switches": switches(Usage::voluntary_context_switches),
            "involuntary_switches": switches(Usage::involuntary_context_switches),
            "peak_rss_kb": peak_rss_kb()?,
            "latency": {
                "count": all.len(),
                "mean_ns": all.mean(),
                "sd_ns": all.stdev(),
                "min_ns": all.min(),
                "p50_ns": all.value_at_quantile(0.5),
                "p90_ns": all.value_at_quantile(0.9),
                "p99_ns": all.value_at_quantile(0.99),
                "p999_ns": all.value_at_quantile(0.999),
                "max_ns": all.max(),
            },
        })
        .to_string();
        Ok(self)
    }
}

/// Not of `getrusage`, which counts what the process was before it became this program.
fn peak_rss_kb() -> Result<i64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.split_whitespace().next());
    Ok(peak.ok_or("no VmHWM in /proc/self/status")?.parse()?)
}

fn cpu_ns(usage: &Usage) -> i64 {
    let ns = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000_000 + time.tv_usec() * 1_000;
    ns(usage.user_time()) + ns(usage.system_time())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}
