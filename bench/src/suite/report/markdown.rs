use super::{Report, Row};
use std::fmt::Write;

/// A table for each case.
pub(super) fn render(report: &Report) -> String {
    let mut text = String::from("# Benchmarks\n\n");
    let _ = writeln!(text, "{}\n", report.machine);
    for group in report.groups() {
        let _ = writeln!(text, "## {}\n", group[0].title());
        text.push_str("| system | calls/s | mean µs | sd | p50 | p99 | p99.9 | client CPU µs | server CPU µs | bytes |\n");
        text.push_str("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
        group.iter().for_each(|row| line(&mut text, row));
        text.push('\n');
    }
    for missing in &report.missing {
        let _ = writeln!(text, "- not measured: {}: {}", missing.name, missing.reason);
    }
    text.push_str("\n`~` marks rows whose rounds differ by more than a quarter.\n");
    text
}

fn line(text: &mut String, row: &Row) {
    let noisy = if row.noisy { " ~" } else { "" };
    let bytes = row.wire_bytes.map_or_else(String::new, |n| n.to_string());
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "| {}{noisy} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {bytes} |",
        row.system,
        row.calls_per_s,
        row.mean_us,
        row.sd_us,
        row.p50_us,
        row.p99_us,
        row.p999_us,
        row.client_cpu_us,
        row.server_cpu_us,
    );
}
