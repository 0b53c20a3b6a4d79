//! One round of a system: its servers, and the clients of each step, in processes of their own.

use super::Result;
use super::host::{Host, Hosts, Process};
use super::neighbours::Neighbours;
use super::plan::Case;
use super::process::Deadline;
use super::scenario::Scenario;
use crate::agent::contract::Usage;
use serde::Deserialize;
use std::thread;
use std::time::Instant;

/// The figures of one round for one case.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) client: ClientFigures,
    pub(crate) server: ServerFigures,
}

/// The figures that a client prints.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ClientFigures {
    pub(crate) calls: u64,
    pub(crate) elapsed_ns: u64,
    pub(crate) cpu_ns: i64,
    pub(crate) voluntary_switches: i64,
    pub(crate) involuntary_switches: i64,
    pub(crate) peak_rss_kb: i64,
    pub(crate) latency: Latency,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Latency {
    pub(crate) mean_ns: f64,
    pub(crate) sd_ns: f64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
}

/// The figures of servers as seen from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerFigures {
    pub(crate) cpu_ns: f64,
    pub(crate) switches: f64,
    pub(crate) peak_kb: i64,
}

/// The figures of each case, in the order of the scenario.
pub(crate) fn run(
    hosts: &Hosts,
    system: &str,
    scenario: &Scenario,
    deadline: Deadline,
) -> Result<Vec<Figures>> {
    let mut servers = Servers::start(hosts.server(), system, scenario.servers(system), deadline)?;
    // All of them before the first step: connecting belongs to none.
    let mut steps = Vec::new();
    for step in &scenario.steps {
        steps.push(servers.clients(hosts.client(), system, step, deadline)?);
    }
    let _busy = Neighbours::start(scenario.neighbours())?;
    let mut usage = Vec::new();
    let began = Instant::now();
    for (number, clients) in (0..).zip(&mut steps) {
        let due = began + scenario.step * number;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        usage.push(servers.usage()?);
        clients.iter_mut().try_for_each(|client| client.go())?;
    }
    let mut figures = Vec::new();
    for clients in &mut steps {
        let lines = clients.iter_mut().map(|client| client.figures());
        figures.push(
            lines
                .map(|line| parse(&line?))
                .collect::<Result<Vec<_>>>()?,
        );
    }
    usage.push(servers.usage()?);
    let switches = servers.stop()?.saturating_sub_signed(usage[0].switches);
    Ok(share(figures, &usage, switches))
}

pub(crate) fn parse(line: &str) -> Result<ClientFigures> {
    Ok(serde_json::from_str(line).map_err(|_| format!("it failed: {line}"))?)
}

/// Divides what servers used among the cases, by calls: their time within a step, since cases of a
/// step run side by side, and their context switches over all steps, since these are complete only
/// at the end.
fn share(steps: Vec<Vec<ClientFigures>>, usage: &[Usage], switches: u64) -> Vec<Figures> {
    let calls = |step: &[ClientFigures]| step.iter().map(|client| client.calls).sum::<u64>() as f64;
    let all: f64 = steps.iter().map(|step| calls(step)).sum();
    let peak_kb = usage.last().map_or(0, |usage| usage.peak_kb);
    let mut figures = Vec::new();
    for (step, usage) in steps.into_iter().zip(usage.windows(2)) {
        let cpu_ns = (usage[1].cpu_ns - usage[0].cpu_ns) as f64 / calls(&step);
        figures.extend(step.into_iter().map(|client| Figures {
            server: ServerFigures {
                cpu_ns: cpu_ns * client.calls as f64,
                switches: switches as f64 / all * client.calls as f64,
                peak_kb,
            },
            client,
        }));
    }
    figures
}

/// The servers of a round; none where a client is its own.
struct Servers {
    processes: Vec<Box<dyn Process>>,
    addresses: Vec<String>,
}

impl Servers {
    fn start(host: &dyn Host, system: &str, count: usize, deadline: Deadline) -> Result<Self> {
        let servers = (0..count).map(|_| host.start_server(system, deadline));
        let (processes, addresses) = servers.collect::<Result<_>>()?;
        Ok(Servers {
            processes,
            addresses,
        })
    }

    /// The clients of a step, which call as many of these servers as they want.
    fn clients(
        &self,
        host: &dyn Host,
        system: &str,
        step: &[Case],
        deadline: Deadline,
    ) -> Result<Vec<Box<dyn Process>>> {
        let start = |case: &Case| {
            let called = case.servers.min(self.addresses.len());
            host.start_client(
                system,
                &case.load(system, &self.addresses[..called]),
                deadline,
            )
        };
        step.iter().map(start).collect()
    }

    /// Returns the usage of all together.
    fn usage(&self) -> Result<Usage> {
        let mut sum = Usage::default();
        for server in &self.processes {
            let usage = server.usage()?;
            sum.cpu_ns += usage.cpu_ns;
            sum.switches += usage.switches;
            sum.peak_kb += usage.peak_kb;
        }
        Ok(sum)
    }

    /// Only at its end are the threads of a server counted that have ended with their connections.
    fn stop(&mut self) -> Result<u64> {
        self.processes.iter_mut().map(|server| server.stop()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(calls: u64) -> ClientFigures {
        let figures = format!(
            r#"{{"calls": {calls}, "elapsed_ns": 1, "cpu_ns": 1, "voluntary_switches": 0, "involuntary_switches": 0,
            "peak_rss_kb": 1, "latency": {{"mean_ns": 1, "sd_ns": 0, "p50_ns": 1, "p99_ns": 1, "p999_ns": 1}}}}"#
        );
        parse(&figures).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn servers_are_shared_by_calls() {
        let usage = [100, 160, 360].map(|cpu_ns| Usage {
            cpu_ns,
            ..Usage::default()
        });
        let steps = vec![vec![client(10)], vec![client(10), client(30)]];
        let shares = share(steps, &usage, 100);
        let found: Vec<_> = shares
            .iter()
            .map(|f| (f.server.cpu_ns, f.server.switches))
            .collect();
        assert_eq!(found, [(60.0, 20.0), (50.0, 20.0), (150.0, 60.0)]);
    }
}
