//! The latencies of systems on some cases, from the median to p99.9, in an SVG file of its own.

use super::html::escape;
use super::panels::{self, LEFT, LINE};
use super::plot::time;
use super::tables::Kind;
use super::{Report, Row};
use crate::suite::Result;
use std::fmt::Write;

const RIGHT: f64 = 800.0;
const BAR: f64 = 6.0;

/// The ends of the scale, in µs. It is a logarithm: tails are hundreds of medians long.
const LEAST: f64 = 0.1;
const MOST: f64 = 200_000.0;

/// Draws a bar for each system that is shown: from p50 to p99.9, with a mark at p99.
pub(super) fn file(report: &Report, titles: &[String], shown: &[&str]) -> Result<String> {
    let about = "Latencies from p50 to p99.9, with a mark at p99";
    panels::file(report, titles, about, |body, group, y| {
        let mut rows: Vec<&Row> = group.iter().collect();
        rows.retain(|row| shown.contains(&row.plain_system()));
        rows.sort_by(|a, b| a.p999_us.total_cmp(&b.p999_us));
        ranges(body, &rows, y)
    })
}

/// Returns the place below the names of the scale.
fn ranges(body: &mut String, rows: &[&Row], top: f64) -> f64 {
    let bottom = top + LINE * rows.len() as f64;
    scale(body, top - 6.0, bottom);
    for (number, row) in rows.iter().enumerate() {
        range(body, row, top + LINE * number as f64);
    }
    bottom + LINE
}

/// Draws a line for each power of ten, with its name below.
fn scale(body: &mut String, top: f64, bottom: f64) {
    let powers = std::iter::successors(Some(LEAST), |us| Some(us * 10.0));
    for us in powers.take_while(|us| *us <= MOST) {
        let (x, name) = (place(us), time(us));
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            body,
            "<path class='grid' d='M{x:.1} {top}V{bottom}'/>\
             <text class='axis' x='{x:.1}' y='{}' text-anchor='middle'>{name}</text>",
            bottom + 10.0
        );
    }
}

fn range(body: &mut String, row: &Row, y: f64) {
    let [from, mark, to] = [row.p50_us, row.p99_us, row.p999_us].map(place);
    let (class, name) = (Kind::of(&row.system).class(), escape(row.plain_system()));
    let _ = write!(
        body,
        "<text x='{}' y='{}' text-anchor='end'>{name}</text>\
         <rect class='bar {class}' x='{from:.1}' y='{}' width='{:.1}' height='{BAR}'/>\
         <rect class='bar {class}' x='{:.1}' y='{y}' width='2' height='{}'/>\
         <text x='{:.1}' y='{}'>{}</text>",
        LEFT - 8.0,
        y + 10.0,
        y + 3.0,
        (to - from).max(1.0),
        mark - 1.0,
        2.0 * BAR,
        to + 6.0,
        y + 10.0,
        time(row.p999_us),
    );
}

/// Returns the place of a latency on the scale.
fn place(us: f64) -> f64 {
    let share = (us.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    LEFT + (RIGHT - LEFT) * share
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_of_latencies() {
        for (us, expected) in [
            (0.01, 210.0),
            (0.1, 210.0),
            (200_000.0, 800.0),
            (1e9, 800.0),
        ] {
            assert_eq!(place(us), expected, "{us}");
        }
        assert_eq!(
            (place(100.0) - place(10.0)).round(),
            (place(10.0) - place(1.0)).round()
        );
    }
}
