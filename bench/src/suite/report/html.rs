//! One page that needs nothing else: bars for each case, with the figures beside them.

use super::{Report, Row};
use std::fmt::Write;

const STYLE: &str = "
:root { color-scheme: light dark; --ours: #2f7d4f; --floor: #8a8a8a; --peer: #4a6fa5; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; font-size: 1.1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .5rem; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.bar { width: 30%; } th { font-weight: 600; border-bottom: 1px solid #8886; }
svg { display: block; width: 100%; height: .9rem; }
.ours { fill: var(--ours); } .floor { fill: var(--floor); } .peer { fill: var(--peer); }
.key span { margin-right: 1.5rem; } .noisy { opacity: .6; }
";

/// The page.
pub(super) fn render(report: &Report) -> String {
    let mut page = String::from("<!doctype html><html lang=en><meta charset=utf-8>");
    page.push_str(
        "<meta name=viewport content='width=device-width'><title>Dovetail: benchmarks</title>",
    );
    // Writing to a string cannot fail, here and below.
    let _ = write!(page, "<style>{STYLE}</style><h1>Benchmarks</h1>");
    let machine = &report.machine;
    let _ = write!(
        page,
        "<p>{} cores, {}, kernel {}; {}. Medians of interleaved rounds; rows marked ~ differ by more than a \
         quarter between rounds.</p>",
        machine["cores"],
        escape(machine["cpu"].as_str().unwrap_or_default()),
        escape(machine["kernel"].as_str().unwrap_or_default()),
        escape(machine["places"].as_str().unwrap_or_default()),
    );
    page.push_str("<p class=key>");
    for (class, name) in [("ours", "Dovetail"), ("peer", "peer"), ("floor", "floor")] {
        let _ = write!(
            page,
            "<span><svg style='display:inline-block;width:.9rem'><rect class={class} width=14 height=14 /></svg> {name}</span>"
        );
    }
    page.push_str("</p>");
    report.groups().for_each(|group| section(&mut page, group));
    page.push_str(
        "<h2>Systems</h2><table><tr><th>system<th>version<th style='text-align:left'>configuration",
    );
    for (name, about) in &report.systems {
        let _ = write!(
            page,
            "<tr><td>{}<td>{}<td style='text-align:left;white-space:normal'>{}",
            escape(name),
            escape(&about.version),
            escape(&about.configuration),
        );
    }
    page.push_str("</table>");
    if !report.missing.is_empty() {
        page.push_str("<h2>Not measured</h2><ul>");
        for missing in &report.missing {
            let _ = write!(
                page,
                "<li>{}: {}",
                escape(&missing.name),
                escape(&missing.reason)
            );
        }
        page.push_str("</ul>");
    }
    page
}

fn section(page: &mut String, group: &[Row]) {
    let most = group.iter().map(|row| row.calls_per_s).fold(0.0, f64::max);
    // The direct call is so much faster that beside it all others look alike.
    let scale = group
        .iter()
        .filter(|row| row.system != "direct")
        .map(|row| row.calls_per_s)
        .fold(0.0, f64::max)
        .max(most.min(1.0));
    let _ = write!(
        page,
        "<h2>{}</h2><table><tr><th>system<th>calls/s<th><th>mean µs<th>sd<th>p50<th>p99<th>p99.9<th>client CPU<th>server CPU<th>bytes",
        escape(&group[0].title())
    );
    let mut rows: Vec<&Row> = group.iter().collect();
    rows.sort_by(|a, b| b.calls_per_s.total_cmp(&a.calls_per_s));
    for row in rows {
        let class = match row.system.as_str() {
            name if name.starts_with("dovetail") => "ours",
            name if name.starts_with("floor") || name == "direct" => "floor",
            _ => "peer",
        };
        let (noisy, mark) = if row.noisy {
            (" class=noisy", " ~")
        } else {
            ("", "")
        };
        let width = (100.0 * row.calls_per_s / scale).min(100.0);
        let bytes = row.wire_bytes.map_or_else(String::new, |n| n.to_string());
        let _ = write!(
            page,
            "<tr{noisy}><td>{}{mark}<td>{:.0}<td class=bar><svg><rect class={class} width='{width:.1}%' height=14 rx=2 /></svg>\
             <td>{:.1}<td>{:.1}<td>{:.1}<td>{:.1}<td>{:.1}<td>{:.1}<td>{:.1}<td>{bytes}",
            escape(&row.system),
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
    page.push_str("</table>");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
