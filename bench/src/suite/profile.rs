//! Loads that change over time.

use super::plan::Case;
use super::scenario::Scenario;
use clap::ValueEnum;
use std::time::Duration;

/// How a load changes. Calls are due at fixed times, whatever earlier ones do, and steps begin on
/// time, whether or not the calls of the one before are over.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Profile {
    /// More and more calls.
    Ramp,
    /// More and more calls of many callers, until no system can do them.
    Saturation,
    /// A few calls, then many at once, then a few: how long does it take to recover?
    Burst,
    /// Small calls, then large ones beside them.
    Mixed,
    /// Each call goes to several servers at once, and is over with the last answer.
    FanOut,
}

/// Workload, case, callers, calls a second, and how many servers each call goes to.
type Line = (&'static str, &'static str, usize, f64, usize);

/// Lines that run side by side.
type Step = &'static [Line];

const RAMP: &[Step] = &[
    &[("db_work", "10", 32, 500.0, 1)],
    &[("db_work", "10", 32, 1_000.0, 1)],
    &[("db_work", "10", 32, 2_000.0, 1)],
    &[("db_work", "10", 32, 4_000.0, 1)],
    &[("db_work", "10", 32, 8_000.0, 1)],
    &[("db_work", "10", 32, 16_000.0, 1)],
];

const SATURATION: &[Step] = &[
    &[("db_work", "10", 64, 5_000.0, 1)],
    &[("db_work", "10", 64, 10_000.0, 1)],
    &[("db_work", "10", 64, 20_000.0, 1)],
    &[("db_work", "10", 64, 40_000.0, 1)],
    &[("db_work", "10", 64, 60_000.0, 1)],
    &[("db_work", "10", 64, 80_000.0, 1)],
    &[("db_work", "10", 64, 100_000.0, 1)],
    &[("db_work", "10", 64, 120_000.0, 1)],
];

const BURST: &[Step] = &[
    &[("agent_small", "-", 64, 1_000.0, 1)],
    &[("agent_small", "-", 64, 20_000.0, 1)],
    &[("agent_small", "-", 64, 1_000.0, 1)],
    &[("agent_small", "-", 64, 1_000.0, 1)],
];

const MIXED: &[Step] = &[
    &[("agent_small", "-", 16, 2_000.0, 1)],
    &[
        ("agent_small", "-", 16, 2_000.0, 1),
        ("blob_100k", "-", 4, 200.0, 1),
    ],
    &[
        ("agent_small", "-", 16, 2_000.0, 1),
        ("blob_100k", "-", 4, 200.0, 1),
        ("get_blob", "1048576", 2, 20.0, 1),
    ],
    &[("agent_small", "-", 16, 2_000.0, 1)],
];

const FAN_OUT: &[Step] = &[
    &[("agent_small", "-", 16, 500.0, 1)],
    &[("agent_small", "-", 16, 500.0, 2)],
    &[("agent_small", "-", 16, 500.0, 4)],
    &[("agent_small", "-", 16, 500.0, 8)],
];

impl Profile {
    fn table(self) -> (&'static str, &'static [Step]) {
        match self {
            Profile::Ramp => ("ramp", RAMP),
            Profile::Saturation => ("saturation", SATURATION),
            Profile::Burst => ("burst", BURST),
            Profile::Mixed => ("mixed", MIXED),
            Profile::FanOut => ("fan-out", FAN_OUT),
        }
    }

    /// With steps of this time.
    pub(crate) fn scenario(self, step: Duration) -> Scenario {
        let case = |&(workload, case, clients, rate, servers): &Line| Case {
            workload,
            case,
            clients,
            connections: clients,
            calls: ((rate * step.as_secs_f64()) as usize).max(1),
            limit: None,
            rate: Some(rate),
            servers,
            neighbours: 0,
        };
        let (name, steps) = self.table();
        Scenario {
            name: name.to_owned(),
            steps: steps
                .iter()
                .map(|step| step.iter().map(case).collect())
                .collect(),
            systems: None,
            step,
        }
    }
}
