//! Hundreds of clients and servers in one process, to see what a test bed is too small for: how
//! even policies are, what happens to a server that comes back, and what subsets cost. The plots
//! are in docs/balancing.md.

mod world;

use crate::suite::report::Kind;
use crate::suite::report::plot::{Plot, Scale, Series, time};
use clap::Parser;
use dovetail_balance::{HashRing, LeastRequest, Policy, Settings, Subset};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use world::{Change, Plan, run};

/// The options of `dovetail-bench simulate`.
#[derive(Parser)]
pub(crate) struct Options {
    /// The folder of the plots.
    #[arg(long, default_value = "docs/balancing")]
    out: PathBuf,
}

/// Runs all simulations and writes their plots.
pub(crate) fn simulate(options: &Options) -> ExitCode {
    let plots = [
        ("load", load as fn() -> Plot),
        ("slow-server", slow_server),
        ("restart", restart),
        ("subset", subset),
    ];
    let write = || {
        std::fs::create_dir_all(&options.out)?;
        for (name, plot) in plots {
            let plot = plot();
            println!("{}", plot.text());
            let file = options.out.join(format!("{name}.svg"));
            std::fs::write(&file, plot.file())?;
            println!("wrote {}\n", file.display());
        }
        Ok::<_, std::io::Error>(())
    };
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", options.out.display());
            ExitCode::FAILURE
        }
    }
}

/// Policies by the names of their lines.
fn policies() -> Vec<(&'static str, Policy)> {
    vec![
        ("one at random", Policy::LeastRequest(LeastRequest::of(1))),
        ("round_robin", Policy::RoundRobin),
        ("ring_hash", Policy::RingHash(HashRing::default())),
        ("maglev", Policy::Maglev),
        ("least_request", Policy::LeastRequest(LeastRequest::of(2))),
    ]
}

fn settings(policy: Policy) -> Settings {
    Settings {
        policy,
        ..Settings::default()
    }
}

/// The colours of lines, in turn.
const KINDS: [Kind; 5] = [
    Kind::Floor,
    Kind::Thrift,
    Kind::Grpc,
    Kind::Other,
    Kind::Ours,
];

fn lines(rows: impl IntoIterator<Item = (&'static str, Vec<(f64, f64)>)>) -> Vec<Series> {
    let lines = rows.into_iter().zip(KINDS.into_iter().cycle());
    let line = |((name, points), kind): ((&'static str, _), _)| Series {
        name: name.to_owned(),
        kind,
        points,
    };
    lines.map(line).collect()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// How long the slowest calls wait, by load and policy.
fn load() -> Plot {
    let at = |policy: &Policy, load: f64| {
        let plan = Plan {
            load,
            seconds: 10,
            settings: settings(policy.clone()),
            ..Plan::default()
        };
        (load, micros(run(&plan, &[]).quantile(0.99)))
    };
    let loads = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
    let rows = policies()
        .into_iter()
        .map(|(name, policy)| (name, loads.map(|load| at(&policy, load)).to_vec()));
    Plot {
        title: "p99 of a call by load: 100 clients, 100 servers with 4 workers each, calls of 10 ms at the mean".to_owned(),
        x_label: "load, as a part of what the servers can do",
        x_name: Box::new(|x| format!("{x}")),
        x_scale: Scale::Linear,
        y_label: "p99",
        y_name: time,
        y_scale: Scale::Log,
        series: lines(rows),
    }
}

/// The share of a server that is fifty times slower.
fn slow_server() -> Plot {
    let rows = policies().into_iter().map(|(name, policy)| {
        let plan = slow_plan(policy);
        let record = run(&plan, &[Change::Slow(0, 50.0)]);
        let at = |second: usize| {
            let all: u64 = (0..plan.servers)
                .map(|server| record.calls[server][second])
                .sum();
            let share = record.calls[0][second] as f64 / all.max(1) as f64 * 100.0;
            (second as f64, share.max(0.01))
        };
        (name, (0..plan.seconds as usize).map(at).collect())
    });
    Plot {
        title: "the calls of one server of five that is 50 times slower than the others".to_owned(),
        x_label: "seconds",
        x_name: Box::new(|x| format!("{x}")),
        x_scale: Scale::Linear,
        y_label: "% of all calls",
        y_name: |share| format!("{share} %"),
        y_scale: Scale::Log,
        series: lines(rows),
    }
}

fn slow_plan(policy: Policy) -> Plan {
    Plan {
        clients: 10,
        servers: 5,
        workers: 16,
        load: 0.3,
        seconds: 20,
        timeout: Duration::from_secs(2),
        settings: settings(policy),
        ..Plan::default()
    }
}

/// The calls of a server that was away for ten seconds.
fn restart() -> Plot {
    let slowly = Settings {
        slow_start: Duration::from_secs(15),
        ..Settings::default()
    };
    let rows = [
        ("round_robin", settings(Policy::RoundRobin)),
        ("least_request", Settings::default()),
        ("least_request, slow start", slowly),
    ];
    let rows = rows.map(|(name, settings)| {
        let plan = restart_plan(settings);
        let record = run(&plan, &[Change::Restart(0, 10, 20)]);
        let at = |second: usize| {
            let others: u64 = (1..plan.servers).map(|one| record.calls[one][second]).sum();
            let mean = others as f64 / (plan.servers - 1) as f64;
            (second as f64, record.calls[0][second] as f64 / mean)
        };
        (name, (0..plan.seconds as usize).map(at).collect())
    });
    Plot {
        title: "the calls of a server that is away from second 10 to 20".to_owned(),
        x_label: "seconds",
        x_name: Box::new(|x| match x % 5.0 {
            0.0 => format!("{x}"),
            _ => String::new(),
        }),
        x_scale: Scale::Linear,
        y_label: "times the mean of the others",
        y_name: |times| format!("{times}"),
        y_scale: Scale::Linear,
        series: lines(rows),
    }
}

fn restart_plan(settings: Settings) -> Plan {
    Plan {
        clients: 200,
        servers: 20,
        seconds: 40,
        load: 0.6,
        settings,
        ..Plan::default()
    }
}

/// How uneven the load is where clients use a part of the servers.
fn subset() -> Plot {
    let sizes = [5, 10, 20, 50, 100, 300];
    let rows = [
        ("300 clients", 300),
        ("1,000 clients", 1000),
        ("3,000 clients", 3000),
    ];
    let rows = rows.map(|(name, clients)| {
        let at = |size: usize| {
            let plan = subset_plan(clients, size);
            (size as f64, run(&plan, &[]).imbalance())
        };
        (name, sizes.map(at).to_vec())
    });
    Plot {
        title: "the load of the busiest of 300 servers, by the size of each client's subset"
            .to_owned(),
        x_label: "servers of a client",
        x_name: Box::new(|x| format!("{x}")),
        x_scale: Scale::Log,
        y_label: "times the mean",
        y_name: |times| format!("{times}"),
        y_scale: Scale::Linear,
        series: lines(rows),
    }
}

fn subset_plan(clients: usize, size: usize) -> Plan {
    Plan {
        clients,
        servers: 300,
        workers: 1,
        load: 0.5,
        seconds: 20,
        settings: Settings {
            subset: Some(Subset::of(size, 0)),
            ..settings(Policy::RoundRobin)
        },
        ..Plan::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_server_gets_next_to_no_calls() {
        let record = run(&slow_plan(Policy::default()), &[Change::Slow(0, 50.0)]);
        let of = |server| record.between(server, 1, 20);
        let all: u64 = (0..5).map(of).sum();
        let share = of(0) as f64 / all as f64;
        assert!(share < 0.003, "{share}");
    }

    #[test]
    fn least_request_is_quicker_than_round_robin_under_load() {
        let p99 = |policy| {
            let plan = Plan {
                clients: 20,
                servers: 20,
                load: 0.9,
                seconds: 5,
                settings: settings(policy),
                ..Plan::default()
            };
            run(&plan, &[]).quantile(0.99)
        };
        let (least, turns) = (p99(Policy::default()), p99(Policy::RoundRobin));
        assert!(least < turns, "{least:?} {turns:?}");
    }

    #[test]
    fn one_that_comes_back_is_not_overrun() {
        let plan = restart_plan(Settings::default());
        let record = run(&plan, &[Change::Restart(0, 10, 20)]);
        let mean = (1..20).map(|one| record.between(one, 20, 22)).sum::<u64>() as f64 / 19.0;
        let times = record.between(0, 20, 22) as f64 / mean;
        assert!((0.5..1.5).contains(&times), "{times}");
        assert_eq!(record.failed, 0);
    }

    #[test]
    fn larger_subsets_are_more_even() {
        let imbalance = |size| {
            run(
                &Plan {
                    seconds: 5,
                    ..subset_plan(300, size)
                },
                &[],
            )
            .imbalance()
        };
        let (few, many) = (imbalance(5), imbalance(100));
        assert!(many < few && many < 1.3, "{few} {many}");
    }
}
