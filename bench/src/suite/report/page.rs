//! A page about a run. Its text is written by hand; the tables and sentences between marks are made
//! of a report, and replaced by those of the next one.

use super::tables::{self, Kind, Table};
use super::{Report, Row, bars, bytes, markdown, ranges};
use crate::suite::Result;
use crate::suite::plan::{ACROSS, ends};
use crate::suite::ratios::Targets;
use std::fs;
use std::path::Path;

/// Begins a part that is made: `<!-- figures: best -->`.
const BEGIN: &str = "<!-- figures: ";
const BEGUN: &str = " -->\n";
const END: &str = "<!-- end of figures -->\n";

/// The systems whose latencies are shown: one configuration of each library, and floors.
const TAILS: &[&str] = &[
    "dovetail-local",
    "dovetail-tcp",
    "dovetail-tcp-async",
    "dovetail-thrift-binary",
    "dovetail-grpc",
    "dovetail-capnp",
    "thrift-cpp-64k",
    "thrift-cpp-64k-unix",
    "thrift-go-framed",
    "grpc-cpp",
    "grpc-go",
    "tonic",
    "volo",
    "tarpc",
    "capnp-cpp",
    "floor-tcp",
    "floor-shm",
    "floor-shm-poll",
];

/// Replaces the parts of a page that are made, and its plots beside it.
pub(crate) fn publish(file: &Path, report: &Report, targets: &Targets) -> Result<()> {
    let name = file.display();
    let page = fs::read_to_string(file).map_err(|e| format!("{name}: {e}"))?;
    let page = replace(&page, |what| part(what, report, targets));
    fs::write(file, page.map_err(|e| format!("{name}: {e}"))?)?;
    let plot = bars::file(report, targets.plotted())?;
    fs::write(file.with_extension("svg"), plot)?;
    let tails = ranges::file(report, targets.tails(), TAILS)?;
    Ok(fs::write(file.with_extension("tails.svg"), tails)?)
}

/// Replaces the parts between marks.
fn replace(page: &str, part: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, marked)) = rest.split_once(BEGIN) {
        let (what, old) = marked.split_once(BEGUN).ok_or("a mark has no end")?;
        let (_, behind) = old
            .split_once(END)
            .ok_or_else(|| format!("the figures `{what}` have no end"))?;
        let new = part(what).map_err(|e| format!("the figures `{what}`: {e}"))?;
        text += &format!("{before}{BEGIN}{what}{BEGUN}\n{}\n\n{END}", new.trim());
        rest = behind;
    }
    Ok(text + rest)
}

fn part(what: &str, report: &Report, targets: &Targets) -> Result<String> {
    let (kind, rest) = what.split_once(' ').unwrap_or((what, ""));
    let table = match kind {
        "run" => return Ok(run(report)),
        "claims" => {
            let claims = targets.claims(&report.rows)?;
            return Ok(claims.iter().map(|claim| format!("- {claim}\n")).collect());
        }
        "best" => tables::summaries(report).into_iter().next(),
        "short" => tables::targets(report).map(short),
        "bytes" => Some(bytes::table(report)),
        "beside" => {
            let (system, over) = rest.split_once(' ').ok_or("`beside SYSTEM OVER`")?;
            Some(tables::beside(report, targets, system, over))
        }
        "tails" => Some(tails(report.group(rest)?)),
        "across" => Some(across(report.group(rest)?)),
        "cases" => return Ok(report.groups().map(case).collect()),
        _ => {
            let known = "run, claims, best, short, bytes, beside, tails, across and cases";
            return Err(format!("known are {known}").into());
        }
    };
    let table = table.filter(|table| !table.lines.is_empty());
    Ok(markdown::grid(&table.ok_or("the report has none")?))
}

/// The place and time of a run, and how many targets it met.
fn run(report: &Report) -> String {
    let fact = |name: &str| report.machine[name].as_str().unwrap_or_default();
    let thrown: usize = report.rows.iter().map(|row| row.rounds_thrown).sum();
    let met = report.ratios.iter().filter(|ratio| ratio.holds()).count();
    format!(
        "On {}: {} cores of {}, Linux {}; {} systems, {} cases, up to {} rounds of each. Rounds that were repeated, \
         since other programs used more than 5 % of the machine: {thrown}. It met {met} of {} targets.",
        fact("date"),
        fact("cores"),
        fact("cpu"),
        fact("kernel"),
        report.systems.len(),
        report.groups().count(),
        report.rows.iter().map(|row| row.rounds).max().unwrap_or(0),
        report.ratios.len(),
    )
}

/// The targets that are not met.
fn short(mut targets: Table) -> Table {
    targets.lines.retain(|line| line.kind == Kind::Bad);
    targets
}

fn tails(group: &[Row]) -> Table {
    let is_shown = |row: &&Row| TAILS.contains(&row.plain_system());
    let rows: Vec<Row> = group.iter().filter(is_shown).cloned().collect();
    tables::latencies(&rows)
}

/// The pairs of different systems, and each of these systems by itself.
fn across(group: &[Row]) -> Table {
    let pairs = ACROSS.iter().copied().map(ends);
    let systems: Vec<&str> = pairs
        .flat_map(|(client, server)| [client, server])
        .collect();
    let is_shown = |row: &&Row| row.is_across() || systems.contains(&row.plain_system());
    let rows: Vec<Row> = group.iter().filter(is_shown).cloned().collect();
    tables::latencies(&rows)
}

/// The latencies of all systems on a case, under its title.
fn case(group: &[Row]) -> String {
    let table = tables::latencies(group);
    format!("### {}\n\n{}\n", table.title, markdown::grid(&table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_replaced() {
        let part = |what: &str| match what {
            "a b" => Ok("new\n".to_owned()),
            _ => Err("unknown".into()),
        };
        let checks = [
            ("text\n", "text\n"),
            (
                "one\n<!-- figures: a b -->\n<!-- end of figures -->\ntwo\n",
                "one\n<!-- figures: a b -->\n\nnew\n\n<!-- end of figures -->\ntwo\n",
            ),
            (
                "<!-- figures: a b -->\n\nold\n\n<!-- end of figures -->\n<!-- figures: a b -->\n<!-- end of figures -->\n",
                "<!-- figures: a b -->\n\nnew\n\n<!-- end of figures -->\n<!-- figures: a b -->\n\nnew\n\n<!-- end of figures -->\n",
            ),
            (
                "<!-- figures: c -->\n<!-- end of figures -->\n",
                "the figures `c`: unknown",
            ),
            (
                "<!-- figures: a b -->\nold\n",
                "the figures `a b` have no end",
            ),
        ];
        for (page, expected) in checks {
            let found = replace(page, part).unwrap_or_else(|error| error.to_string());
            assert_eq!(found, expected, "{page}");
        }
    }
}
