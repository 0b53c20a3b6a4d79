//! The cost of a call on the wire.

use super::tables::{Kind, Line, Table};
use super::{Report, Row};
use std::collections::BTreeMap;

/// The bytes of a call with its answer: a line for each system, a column for each call.
pub(super) fn table(report: &Report) -> Table {
    let columns = calls(report);
    let mut bytes: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for row in report.rows.iter().filter(|row| is_shown(row)) {
        let system = bytes.entry(row.plain_system()).or_default();
        system.extend(row.wire_bytes.map(|bytes| (row.call.as_str(), bytes)));
    }
    let fewest = |call: &str| {
        let all = bytes.values().filter_map(|system| system.get(call));
        all.min().copied()
    };
    let cell = |call: &str, bytes: Option<&u64>| match bytes {
        Some(bytes) if fewest(call) == Some(*bytes) => format!("★ {bytes}"),
        Some(bytes) => bytes.to_string(),
        None => String::new(),
    };
    let line = |(system, bytes): (&&str, &BTreeMap<&str, u64>)| {
        let cells = columns.iter().map(|call| cell(call, bytes.get(call)));
        Line {
            kind: Kind::of(system),
            cells: std::iter::once((*system).to_owned()).chain(cells).collect(),
            bar: None,
        }
    };
    let mut lines: Vec<Line> = bytes.iter().map(line).collect();
    lines.sort_by_key(|line| line.kind != Kind::Ours);
    let names = columns.iter().map(|call| (*call).to_owned());
    Table {
        title: "Bytes on the wire".to_owned(),
        note: match lines.is_empty() {
            true => String::new(),
            false => "Of a call and its answer over a warm TCP connection, without the headers of TCP and IP; ★ marks the \
                      fewest."
                .to_owned(),
        },
        columns: std::iter::once("system".to_owned()).chain(names).collect(),
        text_columns: 1,
        lines,
    }
}

/// Returns the counted calls, in the order of the report.
fn calls(report: &Report) -> Vec<&str> {
    let mut calls: Vec<&str> = Vec::new();
    for row in report.rows.iter().filter(|row| is_shown(row)) {
        if !calls.contains(&row.call.as_str()) {
            calls.push(&row.call);
        }
    }
    calls
}

/// The floors have the bytes of Thrift binary, and what adds to a blob is the same for all sizes.
fn is_shown(row: &Row) -> bool {
    let is_floor = Kind::of(&row.system) == Kind::Floor;
    row.wire_bytes.is_some() && !is_floor && !row.call.starts_with("get_blob")
}
