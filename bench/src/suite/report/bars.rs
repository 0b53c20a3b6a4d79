//! The best system of each kind on some cases, as bars in an SVG file of its own.

use super::html::escape;
use super::panels::{self, LEFT, LINE};
use super::plot::number;
use super::tables::Kind;
use super::{Metric, Report, Row};
use crate::suite::Result;
use crate::suite::plan::needs_one_host;
use std::fmt::Write;

const RIGHT: f64 = 740.0;
const BAR: f64 = 12.0;

/// Draws a group of bars for each case, whose longest is the fastest system.
pub(super) fn file(report: &Report, titles: &[String]) -> Result<String> {
    let about = "Calls per second: the best system of each kind";
    panels::file(report, titles, about, |body, group, y| {
        bars(body, &best(group), y)
    })
}

/// The best row of each kind, and our best over TCP, as most peers call. Floors are left out: they
/// do none of the work.
fn best(group: &[Row]) -> Vec<&Row> {
    let fastest = |is: &dyn Fn(&Row) -> bool| {
        let rows = group.iter().filter(|row| row.is_compared() && is(row));
        let speed = |row: &Row| Metric::CallsPerS.speed(row);
        rows.max_by(|a, b| speed(a).total_cmp(&speed(b)))
    };
    let of = |kind: Kind| fastest(&|row| Kind::of(&row.system) == kind);
    let over_tcp =
        fastest(&|row| Kind::of(&row.system) == Kind::Ours && !needs_one_host(row.plain_system()));
    let peers = [Kind::Thrift, Kind::Grpc, Kind::Other].map(of);
    let mut best: Vec<&Row> = [of(Kind::Ours), over_tcp].into_iter().flatten().collect();
    best.dedup_by_key(|row| &row.system);
    best.extend(peers.into_iter().flatten());
    best
}

/// Draws a bar for each row, and returns the place below them.
fn bars(body: &mut String, rows: &[&Row], top: f64) -> f64 {
    let most = rows.iter().map(|row| row.calls_per_s).fold(1e-9, f64::max);
    let mut y = top;
    for row in rows {
        let length = (RIGHT - LEFT) * row.calls_per_s / most;
        let (class, middle) = (Kind::of(&row.system).class(), y + BAR - 2.0);
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            "<text x='{}' y='{middle}' text-anchor='end'>{}</text>\
             <rect class='bar {class}' x='{LEFT}' y='{y}' width='{length:.1}' height='{BAR}'/>\
             <text x='{:.1}' y='{middle}'>{}/s</text>",
            LEFT - 8.0,
            escape(row.plain_system()),
            LEFT + length + 6.0,
            number(row.calls_per_s),
        );
        y += LINE;
    }
    y
}
