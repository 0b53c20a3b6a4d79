use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A system to measure: how to start its server and its client.
struct System {
    name: &'static str,
    program: PathBuf,
    /// What goes before `server` and its arguments: the name of one of our own systems goes after.
    own: Option<&'static str>,
}

/// What one round of one system gave.
struct Round {
    median_us: f64,
    p99_us: f64,
    client_cpu_us: f64,
    server_cpu_us: f64,
}

pub(crate) fn run(
    calls: usize,
    rounds: usize,
    thrift_cpp: Option<PathBuf>,
) -> Result<(), Box<dyn Error>> {
    let this = std::env::current_exe()?;
    let own = |name| System {
        name,
        program: this.clone(),
        own: Some(name),
    };
    let names = [
        "floor-tcp",
        "floor-tcp-poll",
        "dovetail-threads",
        "dovetail-loops",
    ];
    let mut systems: Vec<System> = names.into_iter().map(own).collect();
    match thrift_cpp {
        Some(program) => systems.push(System {
            name: "thrift-cpp-64k",
            program,
            own: None,
        }),
        None => println!("thrift-cpp-64k is left out: --thrift-cpp names its program\n"),
    }
    let mut results: Vec<Vec<Round>> = systems.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        for (system, results) in systems.iter().zip(&mut results) {
            eprintln!("round {round} of {rounds}: {}", system.name);
            results.push(measure(system, calls)?);
        }
    }
    println!(
        "small call, one blocking client, TCP, two processes, free to use all cores; medians of {rounds} rounds\n"
    );
    println!("| system | median µs | p99 µs | client CPU µs | server CPU µs |");
    println!("|---|---:|---:|---:|---:|");
    for (system, results) in systems.iter().zip(&results) {
        println!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} |",
            system.name,
            middle(results, |r| r.median_us),
            middle(results, |r| r.p99_us),
            middle(results, |r| r.client_cpu_us),
            middle(results, |r| r.server_cpu_us),
        );
    }
    Ok(())
}

fn measure(system: &System, calls: usize) -> Result<Round, Box<dyn Error>> {
    let mut server = Server::start(system)?;
    let before = server.cpu_us()?;
    let mut client = Command::new(&system.program)
        .arg("client")
        .args(system.own)
        .args([server.port.to_string(), calls.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let output = client.stdout.take().ok_or("no output")?;
    let mut times = Vec::with_capacity(calls);
    let (mut client_cpu, mut server_cpu) = (0.0, 0.0);
    for line in BufReader::new(output).lines() {
        // The times come after the calls, while the threads that served them still exist.
        if times.is_empty() {
            client_cpu = cpu_us(client.id())?;
            server_cpu = server.cpu_us()? - before;
        }
        times.push(line?.trim().parse::<u64>()?);
    }
    if !client.wait()?.success() || times.len() != calls {
        return Err(format!("the client of {} failed", system.name).into());
    }
    server.stop();
    times.sort_unstable();
    Ok(Round {
        median_us: times[calls / 2] as f64 / 1e3,
        p99_us: times[calls * 99 / 100] as f64 / 1e3,
        client_cpu_us: client_cpu / calls as f64,
        server_cpu_us: server_cpu / calls as f64,
    })
}

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(system: &System) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(&system.program)
            .arg("server")
            .args(system.own)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line
            .trim()
            .strip_prefix("READY ")
            .ok_or("the server is not ready")?
            .parse()?;
        Ok(Server { child, port })
    }

    fn cpu_us(&self) -> Result<f64, Box<dyn Error>> {
        cpu_us(self.child.id())
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// User and system time of a process so far, of all its threads.
fn cpu_us(pid: u32) -> Result<f64, Box<dyn Error>> {
    let tasks = Path::new("/proc").join(pid.to_string()).join("task");
    let mut nanoseconds = 0.0;
    for task in fs::read_dir(tasks)?.flatten() {
        let schedstat = fs::read_to_string(task.path().join("schedstat"))?;
        nanoseconds += schedstat.split(' ').next().unwrap_or("0").parse::<f64>()?;
    }
    Ok(nanoseconds / 1e3)
}

fn middle(rounds: &[Round], figure: fn(&Round) -> f64) -> f64 {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
