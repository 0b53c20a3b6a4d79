//! Servers that get more calls than they can do: how many of them they still do, how late, and how
//! soon the others hear of it.
//!
//! A call takes 2 ms of the processor. The server has one core, the callers have another. Calls are
//! due at fixed times, whatever becomes of earlier ones (an open loop), and nobody tries again.

mod fairness;
mod generator;
mod stalls;

use super::local::Local;
use super::process::Deadline;
use super::report::overload::{Curve, Point, Share, write};
use super::{Options, Result};
use generator::{Caller, point};
use rustix::thread::{CpuSet, sched_setaffinity};
use stalls::{Stall, Watch};
use std::time::Duration;

/// The processor's time of a call.
const CALL: Duration = Duration::from_millis(2);

/// The offered loads, as parts of what one core can do.
const LOADS: [f64; 7] = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0];

/// The cores of server and callers.
const SERVER: usize = 0;
const CALLERS: usize = 1;

/// A server and the wire by which it is called, all by the same callers.
struct System {
    name: &'static str,
    server: &'static str,
    caller: Caller,
}

static SYSTEMS: [System; 5] = [
    System {
        name: "dovetail-tcp",
        server: "dovetail-overload",
        caller: Caller::Contract("dovetail"),
    },
    System {
        name: "dovetail-grpc",
        server: "dovetail-overload",
        caller: Caller::Contract("grpc"),
    },
    System {
        name: "dovetail-thrift-binary",
        server: "dovetail-overload",
        caller: Caller::Contract("binary+framed"),
    },
    System {
        name: "tonic",
        server: "tonic-overload",
        caller: Caller::Proto,
    },
    System {
        name: "thrift-cpp-nonblocking",
        server: "thrift-cpp-overload",
        caller: Caller::Contract("binary+framed"),
    },
];

/// The server that has a quota for each caller, and the wires on which callers name themselves.
static FAIR: [System; 2] = [
    System {
        name: "dovetail-tcp",
        server: "dovetail-callers-overload",
        caller: Caller::Contract("dovetail"),
    },
    System {
        name: "dovetail-grpc",
        server: "dovetail-callers-overload",
        caller: Caller::Contract("grpc"),
    },
];

/// Measures all systems, and writes the report.
pub(super) fn run(options: &Options, seconds: f64) -> Result<()> {
    let time = Duration::try_from_secs_f64(seconds).map_err(|e| format!("--overload: {e}"))?;
    let (local, missing) = Local::describe(&options.programs, None)?;
    for left_out in missing {
        eprintln!("left out: {}: {}", left_out.name, left_out.reason);
    }
    let mut curves = Vec::new();
    for system in &SYSTEMS {
        if !options.only.is_match(system.name) {
            continue;
        }
        match local.systems().get(system.server) {
            Some(about) => curves.push(Curve {
                name: system.name.to_owned(),
                configuration: about.configuration.clone(),
                points: measure(&local, system, time)?,
            }),
            None => eprintln!("left out: {}: its program is not there", system.name),
        }
    }
    let mut shares = Vec::new();
    for system in FAIR.iter().filter(|s| options.only.is_match(s.name)) {
        for times in fairness::TIMES {
            let (ends, stalls) = serve(&local, system, time, |address| {
                fairness::measure(&system.caller, address, times, time)
            })?;
            for (caller, ends) in ["nine callers", "the tenth"].into_iter().zip(ends) {
                let point = point(times, time, &ends, &stalls);
                eprintln!("{:24} {caller}: {point}", system.name);
                shares.push(Share {
                    name: system.name.to_owned(),
                    caller,
                    point,
                });
            }
        }
    }
    println!("{}", write(&options.out, seconds, &curves, &shares)?);
    Ok(())
}

fn measure(local: &Local, system: &'static System, time: Duration) -> Result<Vec<Point>> {
    let measure = |load: &f64| {
        let rate = load / CALL.as_secs_f64();
        let (ends, stalls) = serve(local, system, time, |address| {
            generator::measure(&system.caller, address, rate, time)
        })?;
        let point = point(*load, time, &ends, &stalls);
        eprintln!("{:24} {point}", system.name);
        Ok(point)
    };
    LOADS.iter().map(measure).collect()
}

/// Runs a server on its core, and something on the callers' that is given its address. Returns the
/// result, and the stalls of both cores meanwhile.
fn serve<T>(
    local: &Local,
    system: &System,
    time: Duration,
    call: impl FnOnce(&str) -> Result<T>,
) -> Result<(T, Vec<Stall>)> {
    let limit = time * 3 + Duration::from_secs(60);
    pin(SERVER)?;
    let (server, address) = local.server(system.server, Deadline::after(limit))?;
    let watch = Watch::start([SERVER, CALLERS])?;
    pin(CALLERS)?;
    let called = call(&address);
    drop(server);
    Ok((called?, watch.stop()))
}

/// Keeps this thread, and what it starts, on one core.
fn pin(core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).map_err(|e| format!("core {core}: {e}"))?;
    Ok(())
}
