//! Lines over a scale, as SVG, each with its name at its end.

use super::html::escape;
use super::tables::{Kind, figure};
use std::fmt::Write;

pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x_label: &'static str,
    pub(crate) x_name: Box<dyn Fn(f64) -> String>,
    pub(crate) x_scale: Scale,
    pub(crate) y_label: &'static str,
    pub(crate) y_name: fn(f64) -> String,
    pub(crate) y_scale: Scale,
    pub(crate) series: Vec<Series>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

impl Scale {
    /// How far a value is on the way from the least to the most.
    fn share(self, value: f64, least: f64, most: f64) -> f64 {
        match self {
            Scale::Linear => (value - least) / (most - least),
            Scale::Log => (value / least).ln() / (most / least).ln(),
        }
    }
}

pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// From left to right.
    pub(crate) points: Vec<(f64, f64)>,
}

const LEFT: f64 = 64.0;
const RIGHT: f64 = 700.0;
const WIDTH: f64 = 900.0;
const TOP: f64 = 16.0;
/// Between the names at the ends of lines.
const NAME: f64 = 14.0;

impl Plot {
    pub(crate) fn svg(&self) -> String {
        let title = escape(&self.title);
        let drawing = self.drawing("");
        format!("<figure><figcaption>{title}</figcaption>{drawing}</figure>")
    }

    /// A file of its own, for pages that cannot style it.
    pub(crate) fn file(&self) -> String {
        let style = include_str!("plot.css");
        let head = format!(
            "<title>{}</title><style>{style}</style>",
            escape(&self.title)
        );
        self.drawing(&head)
    }

    /// The values as text, a line for each series.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for series in &self.series {
            let points = series.points.iter();
            let values: Vec<_> = points.map(|(x, y)| format!("{x}: {y:.3}")).collect();
            let _ = writeln!(text, "  {:<36} {}", series.name, values.join("  "));
        }
        text
    }

    fn drawing(&self, head: &str) -> String {
        let bottom = TOP + (NAME * self.series.len() as f64).max(320.0);
        let frame = Frame::new(self, bottom);
        let mut svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' class='plot' role='img' viewBox='0 0 {WIDTH} {}'>{head}",
            bottom + 44.0
        );
        // Writing to a string cannot fail, here and below.
        for y in frame.y_ticks() {
            let (at, name) = (frame.y(y), (self.y_name)(y));
            let _ = write!(svg, "<path class='grid' d='M{LEFT} {at:.1}H{RIGHT}'/>");
            let _ = write!(
                svg,
                "<text x='{}' y='{:.1}' text-anchor='end'>{name}</text>",
                LEFT - 8.0,
                at + 4.0
            );
        }
        for &x in &frame.xs {
            let (at, name) = (frame.x(x), (self.x_name)(x));
            let _ = write!(
                svg,
                "<text x='{at:.1}' y='{}' text-anchor='middle'>{name}</text>",
                bottom + 18.0
            );
        }
        let middle = f64::midpoint(LEFT, RIGHT);
        let _ = write!(
            svg,
            "<text x='{middle}' y='{}' text-anchor='middle' class='axis'>{}</text><text class='axis' x='{LEFT}' y='10'>{}</text>",
            bottom + 38.0,
            self.x_label,
            self.y_label
        );
        for (series, name_y) in self.series.iter().zip(self.name_places(&frame)) {
            svg.push_str(&self.line(series, &frame, name_y));
        }
        svg + "</svg>"
    }

    /// Returns the places of the names: near the ends of their lines, but not onto one another.
    fn name_places(&self, frame: &Frame) -> Vec<f64> {
        let end = |series: &Series| series.points.last().map_or(0.0, |point| frame.y(point.1));
        let ends: Vec<f64> = self.series.iter().map(end).collect();
        spread_out(&ends, NAME, frame.bottom)
    }

    fn line(&self, series: &Series, frame: &Frame, name_y: f64) -> String {
        let mut path = String::new();
        let mut dots = String::new();
        for (index, &(x, y)) in series.points.iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            let (at, height) = (frame.x(x), frame.y(y));
            let _ = write!(path, "{command}{at:.1} {height:.1}");
            let _ = write!(dots, "<circle cx='{at:.1}' cy='{height:.1}' r='2.5'/>");
        }
        let (x, y) = series.points.last().copied().unwrap_or_default();
        let (end, height) = (frame.x(x), frame.y(y));
        let name = escape(&series.name);
        format!(
            "<g class='line {}'><title>{name}: {}</title><path d='{path}'/>{dots}\
         <path class='leader' d='M{:.1} {height:.1}L{} {name_y:.1}'/><text x='{}' y='{:.1}'>{name}</text></g>",
            series.kind.class(),
            (self.y_name)(y),
            end + 4.0,
            RIGHT + 18.0,
            RIGHT + 22.0,
            name_y + 4.0,
        )
    }
}

/// From values to places.
struct Frame {
    xs: Vec<f64>,
    least: f64,
    most: f64,
    bottom: f64,
    x_scale: Scale,
    y_scale: Scale,
}

impl Frame {
    fn new(plot: &Plot, bottom: f64) -> Self {
        let points = || plot.series.iter().flat_map(|series| &series.points);
        let mut xs: Vec<f64> = points().map(|point| point.0).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let ys = || points().map(|point| point.1);
        let most = ys().fold(0.0, f64::max);
        let least = ys().fold(f64::MAX, f64::min);
        let (least, most) = match plot.y_scale {
            Scale::Linear => (0.0, most * 1.05),
            Scale::Log => (least / 1.2, most * 1.2),
        };
        Frame {
            xs,
            least,
            most,
            bottom,
            x_scale: plot.x_scale,
            y_scale: plot.y_scale,
        }
    }

    fn x(&self, x: f64) -> f64 {
        let (Some(&first), Some(&last)) = (self.xs.first(), self.xs.last()) else {
            return LEFT;
        };
        LEFT + 20.0 + self.x_scale.share(x, first, last) * (RIGHT - LEFT - 40.0)
    }

    fn y(&self, y: f64) -> f64 {
        let share = self.y_scale.share(y, self.least, self.most);
        self.bottom - share * (self.bottom - TOP)
    }

    fn y_ticks(&self) -> Vec<f64> {
        match self.y_scale {
            Scale::Linear => linear_ticks(self.most),
            Scale::Log => log_ticks(self.least, self.most),
        }
    }
}

/// From 0, in steps of 1, 2 or 5 times a power of ten.
fn linear_ticks(most: f64) -> Vec<f64> {
    let rough = most / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    (0..=(most / step) as u32)
        .map(|n| f64::from(n) * step)
        .collect()
}

/// Powers of ten, and steps between them where there are few.
fn log_ticks(least: f64, most: f64) -> Vec<f64> {
    let decades = least.log10().floor() as i32..=most.log10().ceil() as i32;
    let factors: &[f64] = match most / least {
        many if many > 1000.0 => &[1.0],
        _ => &[1.0, 2.0, 5.0],
    };
    decades
        .flat_map(|decade| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(decade))
        })
        .filter(|tick| (least..=most).contains(tick))
        .collect()
}

/// Microseconds in the unit that suits them.
pub(crate) fn time(us: f64) -> String {
    match us {
        most if most >= 1e6 => format!("{} s", figure_of_tick(most / 1e6)),
        some if some >= 1e3 => format!("{} ms", figure_of_tick(some / 1e3)),
        few => format!("{} µs", figure_of_tick(few)),
    }
}

fn figure_of_tick(value: f64) -> String {
    match value.fract() {
        0.0 => format!("{value}"),
        _ => figure(value),
    }
}

pub(crate) fn number(value: f64) -> String {
    match value {
        many if many >= 10_000.0 => format!("{}k", figure_of_tick(many / 1000.0)),
        some => figure_of_tick(some),
    }
}

/// Moves places apart until they have this distance, in the same order, and none is below the
/// bottom.
fn spread_out(places: &[f64], distance: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
    let mut moved = places.to_vec();
    let mut least = f64::MIN;
    for &index in &order {
        moved[index] = moved[index].max(least);
        least = moved[index] + distance;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        moved[index] = moved[index].min(most);
        most = moved[index] - distance;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks() {
        assert_eq!(linear_ticks(10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(
            linear_ticks(23_000.0),
            [0.0, 5_000.0, 10_000.0, 15_000.0, 20_000.0]
        );
        assert_eq!(log_ticks(3.0, 60.0), [5.0, 10.0, 20.0, 50.0]);
        assert_eq!(
            log_ticks(0.5, 20_000.0),
            [1.0, 10.0, 100.0, 1_000.0, 10_000.0]
        );
    }

    #[test]
    fn names_do_not_cover_one_another() {
        let rows: &[(&[f64], &[f64])] = &[
            (&[], &[]),
            (&[10.0, 50.0], &[10.0, 50.0]),
            (&[50.0, 10.0], &[50.0, 10.0]),
            (&[50.0, 50.0, 50.0], &[50.0, 60.0, 70.0]),
            (&[95.0, 98.0], &[90.0, 100.0]),
        ];
        for (places, expected) in rows {
            assert_eq!(spread_out(places, 10.0, 100.0), *expected, "{places:?}");
        }
    }
}
