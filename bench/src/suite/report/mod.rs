//! The report: `report.json` for programs, `report.md` and `report.html` for readers.

mod bars;
mod bytes;
mod figures;
mod html;
mod markdown;
pub(super) mod overload;
mod page;
mod panels;
pub(crate) mod plot;
mod ranges;
mod row;
mod tables;

pub(crate) use page::publish;
pub(crate) use row::{Metric, Row, median, name};

pub(crate) use tables::Kind;

use super::Result;
use super::compare::{Comparison, compare};
use super::lines::Lines;
use super::program::About;
use super::ratios::{Ratio, Targets};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const NOISE: &str =
    "Medians of interleaved rounds; `~` marks rows whose rounds differ by more than a quarter.";

#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) machine: Value,
    pub(crate) systems: BTreeMap<String, About>,
    pub(crate) missing: Vec<Missing>,
    #[serde(default)]
    pub(crate) lines: Vec<Lines>,
    #[serde(default)]
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) comparison: Option<Comparison>,
    pub(crate) rows: Vec<Row>,
}

/// A system or figure that is not there, and why.
#[derive(Serialize, Deserialize)]
pub(crate) struct Missing {
    pub(crate) name: String,
    pub(crate) reason: String,
}

impl Missing {
    pub(crate) fn new(name: &str, reason: &str) -> Self {
        Missing {
            name: name.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Name and reason.
    pub(crate) fn pair(&self) -> (String, String) {
        (self.name.clone(), self.reason.clone())
    }
}

impl Report {
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?)
    }

    pub(crate) fn compare(&mut self, with: &Path, old: &Report) {
        let with = with.display().to_string();
        self.comparison = Some(compare(with, &old.rows, &mut self.rows));
    }

    pub(crate) fn judge(&mut self, targets: &Targets) {
        self.ratios = targets.judge(&self.rows);
    }

    /// Whether all targets are met that it was judged by.
    pub(crate) fn is_good(&self) -> bool {
        self.ratios.iter().all(Ratio::holds)
    }

    /// Writes the three files; gives what the terminal shows.
    pub(crate) fn write(&self, folder: &Path) -> Result<String> {
        fs::create_dir_all(folder)?;
        let json = serde_json::to_string_pretty(self)?;
        fs::write(folder.join("report.json"), json)?;
        fs::write(folder.join("report.md"), markdown::render(self))?;
        let page = folder.join("report.html");
        fs::write(&page, html::render(self))?;
        let brief = markdown::brief(self);
        Ok(format!("{brief}\nThe report is {}", page.display()))
    }

    /// Returns the rows of a case.
    fn group(&self, title: &str) -> Result<&[Row]> {
        let mut groups = self.groups();
        let group = groups.find(|group| group[0].title() == title);
        Ok(group.ok_or_else(|| format!("the report has no case `{title}`"))?)
    }

    /// The rows by case, in the order of the plan.
    fn groups(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|a, b| a.group() == b.group())
    }
}
