//! 10,000 idle connections and 64 busy ones on one event-loop server: nothing is refused. Prints
//! the memory for each idle connection, and the CPU time that an idle server and an idle client
//! take.
//!
//! The server is this program again, in a process of its own: the two together have more sockets
//! than a process usually may.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use dovetail::blocking::Channel;
use dovetail::method::ServiceDescriptor;
use dovetail::server::{Call, HandlerFuture};
use dovetail::{Address, Context, Running, Server, Service, Status, descriptor};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const IDLE: usize = 10_000;
const BUSY: usize = 64;
const CALLS: i32 = 200;

/// Descriptors beside the connections.
const SPARE: u64 = 200;

descriptor!(static COUNTER = "Counter" {
    next(1 number: i32) -> i32;
});

struct Counter;

impl Service for Counter {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &COUNTER
    }

    fn call<'a>(&'a self, _: usize, call: Call) -> HandlerFuture<'a> {
        call.unary((0,), |_: Context, (number,)| async move {
            Ok::<i32, Status>(number + 1)
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    raise_the_limit()?;
    match std::env::var("CROWD_ROLE").as_deref() {
        Ok("server") => serve(),
        _ => visit(),
    }
}

fn raise_the_limit() -> Result<(), Box<dyn Error>> {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = (IDLE + BUSY) as u64 + SPARE;
    if limit.maximum.is_some_and(|most| most < needed) {
        return Err(format!(
            "this test needs {needed} open files: raise the hard limit (`ulimit -Hn`)"
        )
        .into());
    }
    limit.current = limit.current.map(|now| now.max(needed));
    Ok(setrlimit(Resource::Nofile, limit)?)
}

/// Answers each line of standard input with a line of figures; ends with it.
fn serve() -> Result<(), Box<dyn Error>> {
    let server = Server::new().service(Counter);
    let running = server.listen("tcp://127.0.0.1:0")?.start()?;
    println!("{}", running.addresses()[0]);
    for line in std::io::stdin().lines() {
        line?;
        println!("{}", figures(&running)?);
    }
    Ok(())
}

/// Resident memory in KiB, CPU time in µs, connections, and what was refused or failed.
fn figures(running: &Running) -> Result<String, Box<dyn Error>> {
    let counters = running.counters();
    let wrong = counters.refused_connections
        + counters.refused_calls
        + counters.accept_errors
        + counters.protocol_errors
        + counters.idle_timeouts
        + counters.closed_for_room
        + counters.transfer_timeouts;
    let (memory, cpu) = (resident_kib()?, cpu_us()?);
    Ok(format!("{memory} {cpu} {} {wrong}", running.connections()))
}

fn resident_kib() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("no VmRSS")?.parse()?)
}

fn cpu_us() -> Result<u64, Box<dyn Error>> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000)
}

/// The server's process, seen from outside.
struct Host {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    address: String,
}

#[derive(Debug)]
struct Figures {
    memory_kib: u64,
    cpu_us: u64,
    connections: u64,
    wrong: u64,
}

impl Host {
    fn start() -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .env("CROWD_ROLE", "server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ask = child.stdin.take().ok_or("no input")?;
        let mut answers = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut address = String::new();
        answers.read_line(&mut address)?;
        Ok(Host {
            child,
            ask,
            answers,
            address: address.trim().to_owned(),
        })
    }

    fn figures(&mut self) -> Result<Figures, Box<dyn Error>> {
        writeln!(self.ask)?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        match numbers?[..] {
            [memory_kib, cpu_us, connections, wrong] => Ok(Figures {
                memory_kib,
                cpu_us,
                connections,
                wrong,
            }),
            _ => Err(format!("no figures: {line:?}").into()),
        }
    }

    fn connect(&self) -> Result<TcpStream, Box<dyn Error>> {
        let Address::Tcp(place) = self.address.parse()? else {
            return Err("the server listens on TCP".into());
        };
        let stream = TcpStream::connect(place)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(stream)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A call of `next(1)`, framed binary, and its answer.
fn call(stream: &mut TcpStream) -> Result<(), Box<dyn Error>> {
    stream.write_all(
        b"\x00\x00\x00\x18\x80\x01\x00\x01\x00\x00\x00\x04next\x00\x00\x00\x01\x08\x00\x01\x00\x00\x00\x01\x00",
    )?;
    let mut reply = [0; 28];
    stream.read_exact(&mut reply)?;
    match reply[23..27] {
        [0, 0, 0, 2] => Ok(()),
        _ => Err(format!("not the answer: {reply:?}").into()),
    }
}

fn visit() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut host = Host::start()?;
    // The first connections pay for what all share.
    let warm: Result<Vec<TcpStream>, _> = (0..16).map(|_| host.connect()).collect();
    for mut stream in warm? {
        call(&mut stream)?;
    }
    let empty = host.figures()?;

    let mut idle = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let mut stream = host.connect()?;
        call(&mut stream)?;
        idle.push(stream);
    }
    let full = host.figures()?;
    assert_eq!(full.connections, IDLE as u64);

    let channels = busy(&host)?;
    idle.iter_mut().try_for_each(call)?;

    let (before, ours) = (host.figures()?, cpu_us()?);
    thread::sleep(Duration::from_secs(2));
    let (ours, after) = (cpu_us()? - ours, host.figures()?);
    assert_eq!(after.connections, (IDLE + BUSY) as u64);
    assert_eq!(after.wrong, 0, "{after:?}");
    drop(channels);

    let bytes = (full.memory_kib - empty.memory_kib) * 1024 / IDLE as u64;
    let theirs = after.cpu_us - before.cpu_us;
    println!(
        "{IDLE} idle and {BUSY} busy connections, {CALLS} calls on each of those: all answered"
    );
    println!("memory for each idle connection: {bytes} bytes");
    println!(
        "CPU time in two idle seconds: server {theirs} us, client with {BUSY} channels {ours} us"
    );
    println!("took {:.1?}", start.elapsed());
    // The memory for asking for the figures is in these.
    assert!(bytes < 3 << 10, "an idle connection keeps {bytes} bytes");
    assert!(theirs < 20_000, "an idle server works: {theirs} us");
    assert!(ours < 20_000, "an idle client works: {ours} us");
    Ok(())
}

/// Keeps some connections busy at the same time; they stay open, idle then.
fn busy(host: &Host) -> Result<Vec<Channel>, Box<dyn Error>> {
    let channels: Result<Vec<Channel>, Status> =
        (0..BUSY).map(|_| Channel::connect(&host.address)).collect();
    let channels = channels?;
    thread::scope(|scope| {
        for channel in &channels {
            scope.spawn(move || {
                for number in 0..CALLS {
                    let next: Result<i32, Status> = channel.call(&COUNTER.methods[0], (&number,));
                    assert_eq!(next, Ok(number + 1));
                }
            });
        }
    });
    Ok(channels)
}
