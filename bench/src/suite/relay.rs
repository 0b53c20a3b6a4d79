//! Counts the bytes of a call by passing a connection on.

use super::Result;
use super::plan::Case;
use super::process::{Talking, load};
use super::program::Program;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Bytes of one call with its answer: the difference between many calls and few, so that what a connection
/// costs once does not count.
pub(crate) fn wire_bytes(program: &Program, system: &str, case: &Case) -> Result<u64> {
    const FEW: usize = 2;
    const MANY: usize = 12;
    let few = count(program, system, case, FEW)?;
    let many = count(program, system, case, MANY)?;
    Ok((many - few) / (MANY - FEW) as u64)
}

fn count(program: &Program, system: &str, case: &Case, calls: usize) -> Result<u64> {
    let mut server = Talking::start(&mut program.command("server", system))?;
    let behind = server.ready()?;
    if behind.starts_with("unix:") || system == "direct" {
        return Err("no TCP".into());
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let bytes = Arc::new(AtomicU64::new(0));
    let counter = bytes.clone();
    thread::spawn(move || {
        for front in listener.incoming().flatten() {
            // A connection that fails shows in the client.
            let _ = pass_on(front, &behind, &counter);
        }
    });
    let one = Case {
        clients: 1,
        connections: 1,
        ..*case
    };
    let mut command = program.command("client", system);
    command.args(["--address", &address]);
    let mut client = Talking::start(&mut load(command, &one, calls))?;
    client.ready()?;
    client.finish()?;
    Ok(bytes.load(Ordering::SeqCst))
}

fn pass_on(front: TcpStream, behind: &str, counter: &Arc<AtomicU64>) -> Result<()> {
    let back = TcpStream::connect(behind)?;
    for stream in [&front, &back] {
        stream.set_nodelay(true)?;
    }
    for (from, to) in [(front.try_clone()?, back.try_clone()?), (back, front)] {
        let counter = counter.clone();
        thread::spawn(move || copy(from, to, &counter));
    }
    Ok(())
}

fn copy(mut from: TcpStream, mut to: TcpStream, counter: &AtomicU64) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        counter.fetch_add(count as u64, Ordering::SeqCst);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
