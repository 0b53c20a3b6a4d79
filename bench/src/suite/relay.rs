//! Counts the bytes of a call by passing a connection on.

use super::Result;
use super::plan::{self, Case};
use super::process::{Deadline, Talking};
use super::program::Program;
use super::round;
use crate::agent::contract::Load;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Bytes of one call with its answer, without what a connection costs once.
pub(crate) fn wire_bytes(
    program: &Program,
    system: &str,
    case: &Case,
    deadline: Deadline,
) -> Result<u64> {
    const CALLS: i32 = 20;
    const LIMIT_MS: i32 = 100;
    if plan::needs_one_host(system) {
        return Err("no TCP".into());
    }
    let mut server = Talking::start(&mut program.server(system), deadline)?;
    let behind = server.ready()?;
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
    let load = Load {
        calls: CALLS,
        limit_ms: Some(LIMIT_MS),
        ..case.alone().load(system, &[address])
    };
    let mut client = Talking::start(&mut program.client(system, &load), deadline)?;
    // All answers of the warm-up have passed by then.
    client.ready()?;
    let before = bytes.load(Ordering::SeqCst);
    client.go()?;
    let calls = round::parse(&client.figures()?)?.calls;
    let passed = bytes.load(Ordering::SeqCst) - before;
    Ok(passed.checked_div(calls).ok_or("no calls")?)
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
