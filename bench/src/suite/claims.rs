//! Sentences about a run. Their figures come from its rows.

use super::Result;
use super::ratios::Targets;
use super::report::{Metric, Row};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A sentence with figures in braces, as `bench/ratios.toml` has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    title: String,
    /// `{name}` stands for the figure of this name, `{name.over}` for the system that it is divided
    /// by.
    text: String,
    figures: BTreeMap<String, Figure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    /// The title of the case, as the report has it: `get_answer, 1 client`.
    case: String,
    system: String,
    #[serde(default)]
    metric: Metric,
    /// A group, or a regular expression: the figure is a ratio to the best of these systems on the
    /// same case, or on `over_case`.
    over: Option<String>,
    over_case: Option<String>,
}

impl Claim {
    /// Returns the sentence, in Markdown.
    pub(super) fn render(&self, targets: &Targets, rows: &[Row]) -> Result<String> {
        let title = &self.title;
        let text = self.fill(targets, rows);
        let text = text.map_err(|why| format!("\"{title}\": {why}"))?;
        Ok(format!("**{title}** {text}"))
    }

    fn fill(&self, targets: &Targets, rows: &[Row]) -> Result<String> {
        let mut text = self.text.clone();
        for (name, figure) in &self.figures {
            let (value, over) = figure.of(targets, rows)?;
            let places = [
                (format!("{{{name}}}"), value),
                (format!("{{{name}.over}}"), over),
            ];
            if places.iter().all(|(place, _)| !text.contains(place)) {
                return Err(format!("no sentence needs the figure `{name}`").into());
            }
            for (place, value) in places {
                text = text.replace(&place, &value);
            }
        }
        match text.find(['{', '}']) {
            Some(at) => Err(format!("no figure is called so: {}", &text[at..]).into()),
            None => Ok(text),
        }
    }
}

impl Figure {
    /// Returns the figure, and the system that it is divided by.
    fn of(&self, targets: &Targets, rows: &[Row]) -> Result<(String, String)> {
        let on =
            |case: &str| -> Vec<&Row> { rows.iter().filter(|row| row.title() == case).collect() };
        let ours = on(&self.case);
        let row = ours.iter().find(|row| row.plain_system() == self.system);
        let row = row.ok_or_else(|| format!("no row of {} on {}", self.system, self.case))?;
        let figure = self.metric.of(row);
        let Some(over) = &self.over else {
            return Ok((self.metric.show(figure), String::new()));
        };
        let theirs = self
            .over_case
            .as_ref()
            .map_or(ours.clone(), |case| on(case));
        let best = targets.best(over, self.metric, &theirs)?;
        let ratio = figure / self.metric.of(best);
        Ok((ratio_in_words(ratio), format!("`{}`", best.plain_system())))
    }
}

/// Two digits, or three where they tell on which side of 1 a ratio is.
fn ratio_in_words(ratio: f64) -> String {
    match ratio {
        many if many >= 9.95 => format!("{many:.0}"),
        some if some >= 1.995 => format!("{some:.1}"),
        few => format!("{few:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "groups = { peers = ['peer-.*'] }\ntarget = []\n";

    fn row(system: &str, clients: usize, calls_per_s: f64, p99_us: f64) -> Row {
        Row {
            p99_us,
            ..Row::of_test(system, clients, calls_per_s)
        }
    }

    #[test]
    fn sentences_get_their_figures_from_rows() {
        let rows = [
            row("ours", 1, 300_000.0, 5.25),
            row("peer-a", 1, 100_000.0, 10.0),
            row("peer-b", 1, 20_000.0, 4.0),
            row("peer-b", 8, 400_000.0, 4.0),
        ];
        // Text, figures; the sentence or the error.
        let checks = [
            ("{a} times", "a = { over = 'peers' }", "**T** 3.0 times"),
            (
                "{a} of {a.over}",
                "a = { over = 'peer-b' }",
                "**T** 15 of `peer-b`",
            ),
            (
                "{a}",
                "a = { over = 'peers', over_case = 'w, 8 clients, own connections' }",
                "**T** 0.75",
            ),
            (
                "{a} calls, {b}",
                "a = {}\nb = { metric = 'p99_us' }",
                "**T** 300,000 calls, 5.25 µs",
            ),
            ("{b}", "a = {}", "\"T\": no sentence needs the figure `a`"),
            ("{a} {b}", "a = {}", "\"T\": no figure is called so: {b}"),
            ("{a}", "a = { over = 'lost' }", "no row of lost"),
            (
                "{a}",
                "a = { system = 'lost' }",
                "no row of lost on w, 1 client",
            ),
        ];
        for (text, figures, expected) in checks {
            let figures = figures.lines().map(|line| {
                let (name, rest) = line.split_once(" = {").unwrap_or_default();
                let rest = rest.trim_end_matches('}').trim();
                let mut parts = vec!["case = 'w, 1 client'"];
                if !rest.contains("system") {
                    parts.push("system = 'ours'");
                }
                if !rest.is_empty() {
                    parts.push(rest);
                }
                format!("{name} = {{ {} }}\n", parts.join(", "))
            });
            let figures: String = figures.collect();
            let claim = format!("title = 'T'\ntext = '{text}'\n[figures]\n{figures}");
            let claim: Claim = toml::from_str(&claim).unwrap_or_else(|e| panic!("{claim}: {e}"));
            let targets = Targets::parse(TARGETS).unwrap_or_else(|e| panic!("{e}"));
            let found = claim.render(&targets, &rows);
            let found = found.unwrap_or_else(|error| error.to_string());
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
