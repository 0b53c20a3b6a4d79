//! A plot for each of some cases, one below the other, in an SVG file of its own.

use super::html::escape;
use super::{Report, Row};
use crate::suite::Result;
use std::fmt::Write;

const WIDTH: f64 = 900.0;
/// The names of systems end here, and their bars begin.
pub(super) const LEFT: f64 = 210.0;
pub(super) const LINE: f64 = 17.0;
const HEAD: f64 = 30.0;

/// Draws the rows of each case. `draw` begins at a place, and returns the place below.
pub(super) fn file(
    report: &Report,
    titles: &[String],
    about: &str,
    draw: impl Fn(&mut String, &[Row], f64) -> f64,
) -> Result<String> {
    let mut body = String::new();
    let mut y = 0.0;
    for title in titles {
        let group = report.group(title)?;
        y += HEAD;
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            "<text class='head' x='{LEFT}' y='{}'>{}</text>",
            y - 9.0,
            escape(title)
        );
        y = draw(&mut body, group, y);
    }
    let style = include_str!("plot.css");
    Ok(format!(
        "<svg xmlns='http://www.w3.org/2000/svg' role='img' viewBox='0 0 {WIDTH} {}'>\
         <title>{about}</title><style>{style}</style>{body}</svg>\n",
        y + 8.0
    ))
}
