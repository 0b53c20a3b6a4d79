//! One page that needs nothing else: the plots and tables of the articles, and how they came about.

use super::tables::{self, Kind, Line, Table};
use super::{NOISE, Report, Row, bytes, figures};
use std::fmt::Write;

/// A chapter for each article.
struct Chapter {
    id: &'static str,
    title: &'static str,
    text: &'static str,
    workloads: &'static [&'static str],
}

const CHAPTERS: [Chapter; 5] = [
    Chapter {
        id: "rpclib",
        title: "A small call, blobs, deep structures",
        text: "The workloads of the rpclib article: a call with one number, a blob of 1 KB to 16 MB, 34 deep and \
               badly aligned structures.",
        workloads: &["get_answer", "get_blob", "get_structs"],
    },
    Chapter {
        id: "methods",
        title: "Methods A and B",
        text: "The workloads of the article on Thrift and gRPC: 100 KB as a blob that is fetched (A), and as structs \
               that go there and back (B).",
        workloads: &["blob_100k", "structs_100k"],
    },
    Chapter {
        id: "work",
        title: "DBWork",
        text: "The workload of the article on Glue and Thrift: ten rows of ten fields for many callers.",
        workloads: &["db_work", "beside 63 callers:"],
    },
    Chapter {
        id: "agent",
        title: "Small and large calls of many clients",
        text: "The workloads of the agent article: a message of 16 bytes and one of 1,100, there and back. All \
               128 clients call at once.",
        workloads: &["agent_small", "agent_large"],
    },
    Chapter {
        id: "profiles",
        title: "Loads that change over time",
        text: "Calls are due at fixed times, and their latency counts from then. Where loads run side by side, the \
               server's CPU time is that of an average call of the step.",
        workloads: &["ramp", "saturation", "burst", "mixed", "fan-out"],
    },
];

/// The page.
pub(super) fn render(report: &Report) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>Dovetail: benchmarks</title><style>",
    );
    page.push_str(include_str!("style.css"));
    page.push_str("</style><h1>Benchmarks</h1>");
    // Writing to a string cannot fail, here and below.
    let _ = write!(page, "<p>{}</p><nav>", machine(report));
    for chapter in chapters(report) {
        let _ = write!(page, "<a href='#{}'>{}</a>", chapter.id, chapter.title);
    }
    page.push_str("<a href='#about'>Machine and systems</a></nav><p class=key>");
    for (kind, name) in Kind::SYSTEMS {
        let _ = write!(page, "<span class={}>■ {name}</span>", kind.class());
    }
    page.push_str("</p>");
    page.extend(tables::summaries(report).iter().map(table));
    for other in [tables::targets(report), tables::changes(report)] {
        page.extend(other.map(|other| table(&other)));
    }
    page.push_str(&table(&bytes::table(report)));
    for chapter in chapters(report) {
        let Chapter {
            id, title, text, ..
        } = chapter;
        let _ = write!(page, "<h2 id={id}>{title}</h2><p>{text}</p>");
        for workload in chapter.workloads {
            page.push_str(&section(report, workload));
        }
    }
    page.push_str("<h2 id=about>Machine and systems</h2>");
    let about = [
        tables::missing,
        tables::lines,
        tables::machine,
        tables::systems,
    ];
    page.extend(about.map(|about| table(&about(report))));
    page
}

fn chapters(report: &Report) -> impl Iterator<Item = &'static Chapter> {
    let has = |workload: &&str| report.rows.iter().any(|row| row.workload == **workload);
    CHAPTERS
        .iter()
        .filter(move |chapter| chapter.workloads.iter().any(has))
}

fn machine(report: &Report) -> String {
    let value = |name: &str| match report.machine[name].as_str() {
        Some(text) => escape(text),
        None => report.machine[name].to_string(),
    };
    let [cores, cpu, kernel, places] = ["cores", "cpu", "kernel", "places"].map(value);
    let noise = NOISE.replace('`', "");
    format!("{cores} cores, {cpu}, kernel {kernel}; {places}. {noise}")
}

/// A workload: its plots, the article's table, and a table for each case.
fn section(report: &Report, workload: &str) -> String {
    let rows: Vec<&Row> = report
        .rows
        .iter()
        .filter(|row| row.workload == workload)
        .collect();
    let plots = figures::of(report, workload);
    let mut text: String = plots.iter().map(super::plot::Plot::svg).collect();
    if matches!(workload, "blob_100k" | "structs_100k") && !rows.is_empty() {
        text.push_str(&table(&tables::threads(&rows)));
    }
    let groups = report
        .groups()
        .filter(|group| group[0].workload == workload);
    text.extend(groups.map(|group| table(&tables::case(group))));
    text
}

fn table(table: &Table) -> String {
    if table.is_empty() {
        return String::new();
    }
    let mut text = format!("<h3>{}</h3>", escape(&table.title));
    if !table.note.is_empty() {
        let _ = write!(text, "<p>{}</p>", escape(&table.note));
    }
    text.push_str("<div class=wide><table><tr>");
    let has_bars = table.lines.iter().any(|line| line.bar.is_some());
    for (index, column) in table.columns.iter().enumerate() {
        let _ = write!(text, "<th{}>{}", class(table, index), escape(column));
        if has_bars && index == BAR {
            text.push_str("<th>");
        }
    }
    for line in &table.lines {
        row(&mut text, table, line);
    }
    text + "</table></div>"
}

/// The cell that a bar stands behind.
const BAR: usize = 1;
/// From this length on a cell is broken into lines.
const LONG: usize = 60;

fn row(text: &mut String, table: &Table, line: &Line) {
    let _ = write!(text, "<tr class={}>", line.kind.class());
    for (index, cell) in line.cells.iter().enumerate() {
        let class = match cell.len() {
            LONG.. => " class=prose",
            _ => class(table, index),
        };
        let _ = write!(text, "<td{class}>{}", escape(cell));
        if let Some(bar) = line.bar.filter(|_| index == BAR) {
            let _ = write!(
                text,
                "<td class=bar><div style='width:{:.1}%'></div>",
                100.0 * bar
            );
        }
    }
}

fn class(table: &Table, column: usize) -> &'static str {
    match table.is_text(column) {
        true => " class=text",
        false => "",
    }
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
