//! The floor: the same bytes as a small Thrift call, sent back and forth over a raw TCP socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// The bytes of `get_answer(1)` in strict binary, unframed, and those of its answer.
const REQUEST: usize = 4 + (4 + "get_answer".len()) + 4 + (3 + 4 + 1);
const REPLY: usize = REQUEST;

/// How the receiver waits.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wait {
    /// In the kernel.
    Block,
    /// In a loop of non-blocking receives.
    Poll,
}

/// Answers one connection after the other, for ever.
pub(crate) fn serve(wait: Wait) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("READY {}", listener.local_addr()?.port());
    loop {
        let mut stream = connected(listener.accept()?.0, wait)?;
        let mut request = [0; REQUEST];
        while receive(&mut stream, &mut request).is_ok() {
            stream.write_all(&[7; REPLY])?;
        }
    }
}

/// Makes calls one after the other; the time of each, in nanoseconds.
pub(crate) fn call(port: u16, calls: usize, wait: Wait) -> io::Result<Vec<u64>> {
    let mut stream = connected(TcpStream::connect(("127.0.0.1", port))?, wait)?;
    let mut reply = [0; REPLY];
    let mut one = || {
        let start = Instant::now();
        stream.write_all(&[5; REQUEST])?;
        receive(&mut stream, &mut reply)?;
        Ok(start.elapsed().as_nanos() as u64)
    };
    (0..calls).map(|_| one()).collect()
}

fn connected(stream: TcpStream, wait: Wait) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(wait == Wait::Poll)?;
    Ok(stream)
}

fn receive(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(e) if e.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
