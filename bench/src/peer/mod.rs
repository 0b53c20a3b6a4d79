//! A program under the contract of `bench/README.md`: Dovetail, the floors, and the direct call.

mod dovetail;
mod floor;
mod grpc;

use crate::harness::{
    self, Client, Entry, Failure, Load, Options, Report, Request, Response, Server, System,
    callers::{self, Runner},
};
use ::dovetail::transport::Polling;
use dovetail::{Dovetail, Driver};
use floor::{Floor, Medium, Wait};
use std::path::PathBuf;
use std::process::ExitCode;

#[allow(missing_docs, unreachable_pub)]
pub(crate) mod contract {
    ::dovetail::include_contract!("bench");
}

/// The systems of this program.
fn entries() -> Vec<Entry> {
    let entry = |name, configuration: &str, system| Entry {
        name,
        version: env!("CARGO_PKG_VERSION"),
        configuration: configuration.to_owned(),
        system,
    };
    vec![
        entry(
            "direct",
            "a function call that makes the result from what the server keeps",
            Box::new(DirectCall),
        ),
        entry(
            "floor-tcp",
            "the bytes of Thrift binary over a raw TCP socket, no decoding",
            floor(Medium::Tcp, Wait::Block),
        ),
        entry(
            "floor-tcp-poll",
            "the same, both ends receiving without blocking, in a loop",
            floor(Medium::Tcp, Wait::Poll),
        ),
        entry(
            "floor-unix",
            "the bytes of Thrift binary over a raw Unix socket, no decoding",
            floor(Medium::Unix, Wait::Block),
        ),
        entry(
            "floor-unix-poll",
            "the same, both ends receiving without blocking, in a loop",
            floor(Medium::Unix, Wait::Poll),
        ),
        entry(
            "floor-shm",
            "the bytes of Thrift binary through a ring of 1 MiB for each direction in memory that both processes share, \
             no decoding; who waits sleeps on a futex",
            floor(Medium::Shm, Wait::Block),
        ),
        entry(
            "floor-shm-poll",
            "the same, both ends looking for bytes in a loop",
            floor(Medium::Shm, Wait::Poll),
        ),
        entry(
            "dovetail-thrift-binary",
            "event loops; blocking client, a thread for each caller",
            thrift("binary+framed", Driver::Loops),
        ),
        entry(
            "dovetail-thrift-compact",
            "event loops; blocking client, a thread for each caller",
            thrift("compact+framed", Driver::Loops),
        ),
        entry(
            "dovetail-thrift-binary-blocking",
            "as dovetail-thrift-binary, but no end polls before it blocks",
            Box::new(Dovetail {
                polling: Polling::Never,
                ..THRIFT
            }),
        ),
        entry(
            "dovetail-thrift-binary-threads",
            "a server thread for each connection; blocking client, a thread for each caller",
            thrift("binary+framed", Driver::Threads),
        ),
        entry(
            "dovetail-thrift-binary-async",
            "event loops; async client, a task for each caller",
            thrift("binary+framed", Driver::Tasks),
        ),
        entry(
            "dovetail-tcp",
            "Dovetail's own wire; event loops; blocking client, a thread for each caller",
            Box::new(OWN),
        ),
        entry(
            "dovetail-tcp-async",
            "Dovetail's own wire; event loops; async client, a task for each caller",
            Box::new(Dovetail {
                driver: Driver::Tasks,
                ..OWN
            }),
        ),
        entry(
            "dovetail-grpc",
            "gRPC; event loops; async client, a task for each caller",
            Box::new(grpc::Grpc),
        ),
        entry(
            "dovetail-capnp",
            "Cap'n Proto's protocol; event loops; blocking client, a thread for each caller",
            thrift("capnp", Driver::Loops),
        ),
        entry(
            "dovetail-capnp-async",
            "Cap'n Proto's protocol; event loops; async client, a task for each caller",
            thrift("capnp", Driver::Tasks),
        ),
        entry(
            "dovetail-overload",
            "every wire; a pool of 64 threads; a quota that adapts between 2 and 200 calls",
            Box::new(Dovetail {
                around: dovetail::Around::Overload,
                ..OWN
            }),
        ),
        entry(
            "dovetail-callers-overload",
            "every wire; a pool of 64 threads; 40 calls a second of each caller, 4 at once",
            Box::new(Dovetail {
                around: dovetail::Around::Callers,
                ..OWN
            }),
        ),
        entry(
            "dovetail-unix",
            "Dovetail's own wire over a Unix socket; event loops; blocking client",
            Box::new(UNIX),
        ),
        entry(
            "dovetail-unix-async",
            "Dovetail's own wire over a Unix socket; event loops; async client",
            Box::new(Dovetail {
                driver: Driver::Tasks,
                ..UNIX
            }),
        ),
        entry(
            "dovetail-local",
            "Dovetail's own wire; event loops; blocking client, which moves from TCP to shared memory",
            Box::new(Dovetail {
                medium: dovetail::Medium::Local,
                ..OWN
            }),
        ),
        entry(
            "dovetail-local-intercepted",
            "dovetail-local with an interceptor that does nothing at each of three levels of the server",
            Box::new(Dovetail {
                medium: dovetail::Medium::Local,
                around: dovetail::Around::Levels,
                ..OWN
            }),
        ),
        entry(
            "dovetail-local-watched",
            "dovetail-local with statistics, and spans that are not recorded, at the server",
            Box::new(Dovetail {
                medium: dovetail::Medium::Local,
                around: dovetail::Around::Observers,
                ..OWN
            }),
        ),
        entry(
            "dovetail-shm",
            "Dovetail's own wire through shared memory; a thread for each connection; blocking client",
            Box::new(Dovetail {
                driver: Driver::Threads,
                ..SHARED_MEMORY
            }),
        ),
        entry(
            "dovetail-shm-loops",
            "Dovetail's own wire through shared memory; event loops; blocking client",
            Box::new(SHARED_MEMORY),
        ),
        entry(
            "dovetail-shm-async",
            "Dovetail's own wire through shared memory; event loops; async client",
            Box::new(Dovetail {
                driver: Driver::Tasks,
                ..SHARED_MEMORY
            }),
        ),
    ]
}

const THRIFT: Dovetail = Dovetail {
    wire: "binary+framed",
    driver: Driver::Loops,
    polling: Polling::Adaptive,
    medium: dovetail::Medium::Tcp,
    around: dovetail::Around::Nothing,
};

const OWN: Dovetail = Dovetail {
    wire: "dovetail",
    ..THRIFT
};

const UNIX: Dovetail = Dovetail {
    medium: dovetail::Medium::Unix,
    ..OWN
};

const SHARED_MEMORY: Dovetail = Dovetail {
    medium: dovetail::Medium::SharedMemory,
    ..OWN
};

fn thrift(wire: &'static str, driver: Driver) -> Box<dyn System> {
    Box::new(Dovetail {
        wire,
        driver,
        ..THRIFT
    })
}

fn floor(medium: Medium, wait: Wait) -> Box<dyn System> {
    Box::new(Floor { medium, wait })
}

/// The names of the systems of this program.
#[cfg(test)]
pub(crate) fn names() -> Vec<&'static str> {
    entries().iter().map(|entry| entry.name).collect()
}

pub(crate) fn run(options: &Options) -> ExitCode {
    harness::run(options, &entries())
}

/// A path for a Unix socket that no other process of this program has.
fn free_socket() -> PathBuf {
    let path = std::env::temp_dir().join(format!("dovetail-bench-{}.sock", std::process::id()));
    // A server that was killed may have left its own, and the system gives the same number again.
    let _ = std::fs::remove_file(&path);
    path
}

struct DirectCall;

impl System for DirectCall {
    fn start(&self, _: Option<&str>) -> Result<Server, Failure> {
        Ok(Server::new("", ()))
    }

    fn call(&self, _: &[String], load: &Load) -> Result<Report, Failure> {
        let clients = load.connect(|| Ok(Direct(load.request.response())))?;
        callers::measure(load, Runner::Threads, clients)
    }
}

/// The call without any system: the server's data, made into a result of one's own.
#[derive(Clone)]
struct Direct(Response);

impl Client for Direct {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        Ok(match request {
            // The data that comes in goes out: two copies, as in a call.
            Request::Samples(samples) => Response::Samples(samples.clone()),
            Request::Blob(_) => match &self.0 {
                Response::Blob(blob) => Response::Blob(blob.to_vec().into()),
                other => other.clone(),
            },
            _ => self.0.clone(),
        })
    }
}
