use super::plan::Case;
use super::report::name;
use regex::Regex;
use std::time::Duration;

/// A load that the same servers answer in one go: a case, or a load that changes over time.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// `WORKLOAD CASE`, or that of a profile.
    pub(crate) name: String,
    /// Cases that run side by side, one step after the other.
    pub(crate) steps: Vec<Vec<Case>>,
    /// The systems to measure; all of them where the list is empty.
    pub(crate) systems: Option<Regex>,
    /// How long after one step the next one begins.
    pub(crate) step: Duration,
}

/// A row of the report: workload and case, or in a load with rates its name, and the step where
/// there are several.
#[derive(Debug, PartialEq)]
pub(crate) struct Label {
    pub(crate) workload: String,
    pub(crate) case: String,
    pub(crate) step: Option<usize>,
}

impl Scenario {
    /// A case by itself.
    pub(crate) fn single(case: Case) -> Self {
        Scenario {
            name: format!("{} {}", case.workload, case.case),
            steps: vec![vec![case]],
            systems: None,
            step: Duration::ZERO,
        }
    }

    /// Adds threads that compute beside it.
    pub(crate) fn beside(mut self, neighbours: usize) -> Self {
        for case in self.steps.iter_mut().flatten() {
            case.neighbours += neighbours;
        }
        if neighbours > 0 {
            self.name += &format!(" beside {neighbours}");
        }
        self
    }

    /// Returns the number of threads that compute beside it.
    pub(crate) fn neighbours(&self) -> usize {
        self.cases().map(|case| case.neighbours).max().unwrap_or(0)
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = &Case> {
        self.steps.iter().flatten()
    }

    /// Returns the label of each row of the report.
    pub(crate) fn labels(&self) -> Vec<Label> {
        let only = self.steps.len() == 1;
        let label = |number: usize, case: &Case| match case.rate {
            Some(rate) => Label {
                workload: self.name.clone(),
                case: match only {
                    true => load_label(case, rate),
                    false => format!("step {number}: {}", load_label(case, rate)),
                },
                step: (!only).then_some(number),
            },
            None => Label {
                workload: case.workload.to_owned(),
                case: case.case.to_owned(),
                step: None,
            },
        };
        let steps = (1..).zip(&self.steps);
        let labels =
            steps.flat_map(|(number, step)| step.iter().map(move |case| label(number, case)));
        labels.collect()
    }

    /// How many servers it takes.
    pub(crate) fn servers(&self, system: &str) -> usize {
        match system {
            "direct" => 0,
            _ => self.cases().map(|case| case.servers).max().unwrap_or(0),
        }
    }

    /// Whether a system can do all of it, and is of interest there.
    pub(crate) fn suits(&self, system: &str) -> bool {
        let wanted = self.systems.as_ref();
        wanted.is_none_or(|systems| systems.is_match(system))
            && self.cases().all(|case| case.suits(system))
    }

    /// How long it takes at least.
    pub(crate) fn duration(&self) -> Duration {
        self.step * self.steps.len() as u32
    }
}

/// `500 calls/s of get_blob 1024 to 4 servers at once`, without what goes without saying.
fn load_label(case: &Case, rate: f64) -> String {
    let call = name(case.workload, case.case);
    let mut label = format!("{rate} calls/s of {call}");
    if case.servers > 1 {
        label += &format!(" to {} servers at once", case.servers);
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::profile::Profile;

    #[test]
    fn names_and_servers() {
        // Profile, row, its step and label, servers of all steps.
        let rows = [
            (Profile::Ramp, 0, 1, "step 1: 500 calls/s of db_work 10", 1),
            (Profile::Mixed, 2, 2, "step 2: 200 calls/s of blob_100k", 1),
            (
                Profile::FanOut,
                3,
                4,
                "step 4: 500 calls/s of agent_small to 8 servers at once",
                8,
            ),
        ];
        for (profile, row, step, label, servers) in rows {
            let scenario = profile.scenario(Duration::from_secs(1));
            let expected = Label {
                workload: scenario.name.clone(),
                case: label.to_owned(),
                step: Some(step),
            };
            assert_eq!(scenario.labels()[row], expected);
            assert_eq!(scenario.servers("any"), servers, "{label}");
        }
    }
}
