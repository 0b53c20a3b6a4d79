//! One call over one connection, for calls without generated code.
//!
//! The library's clients know the types of a method when they are compiled. Here the contract is read at
//! run time, and a person wants to see bytes and times; so this drives the same machine by itself.

use crate::address::Address;
use bytes::BytesMut;
use dovetail::{Code, Execution, Status};
use dovetail_protocol::thrift::{ClientConnection, Headers, IncomingReply};
use dovetail_wire::Encode;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A call to make.
pub(crate) struct Outgoing<'a, P> {
    pub(crate) method: &'a str,
    pub(crate) oneway: bool,
    pub(crate) headers: &'a Headers,
    pub(crate) params: &'a P,
}

/// What a call cost. Filled in as far as it came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) connecting: Duration,
    pub(crate) calling: Duration,
    pub(crate) sent: usize,
    pub(crate) received: usize,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// When a call is given up.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    /// What is left; an error where nothing is.
    fn left(self, execution: Execution) -> Result<Duration, Status> {
        match self.at.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => {
                let message = format!("no answer within {:?}", self.timeout);
                Err(Status::new(Code::DeadlineExceeded, message).with_execution(execution))
            }
        }
    }
}

/// Connects, calls, and waits for the answer; for that of a one-way call only as long as it takes to send.
pub(crate) fn call<P: Encode>(
    address: &Address,
    connection: &mut ClientConnection,
    call: &Outgoing<'_, P>,
    timeout: Duration,
    cost: &mut Cost,
) -> Result<Option<IncomingReply>, Status> {
    let mut message = Vec::new();
    connection
        .call_with(
            call.method,
            call.oneway,
            call.headers,
            call.params,
            &mut message,
        )
        .map_err(|problem| Status::new(Code::InvalidArgument, problem.to_string()))?;
    let start = Instant::now();
    let deadline = Deadline {
        at: start + timeout,
        timeout,
    };
    let mut stream = Stream::connect(address, deadline)?;
    cost.connecting = start.elapsed();
    let start = Instant::now();
    let outcome = exchange(
        &mut stream,
        connection,
        &message,
        call.oneway,
        deadline,
        cost,
    );
    cost.calling = start.elapsed();
    outcome
}

fn exchange(
    stream: &mut Stream,
    connection: &mut ClientConnection,
    message: &[u8],
    oneway: bool,
    deadline: Deadline,
    cost: &mut Cost,
) -> Result<Option<IncomingReply>, Status> {
    stream.limit(deadline.left(Execution::NotSent)?)?;
    stream.write_all(message).map_err(|e| lost(&e, deadline))?;
    cost.sent = message.len();
    if oneway {
        stream.finish();
        return Ok(None);
    }
    let mut input = BytesMut::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        if let Some(reply) = connection.receive(&mut input).map_err(garbled)? {
            return Ok(Some(reply));
        }
        stream.limit(deadline.left(Execution::MayHaveRun)?)?;
        match stream.read(&mut chunk) {
            Ok(0) => {
                return match connection.end(&mut input).map_err(garbled)? {
                    Some(reply) => Ok(Some(reply)),
                    None => Err(closed(cost.received)),
                };
            }
            Ok(len) => {
                cost.received += len;
                input.extend_from_slice(&chunk[..len]);
            }
            Err(problem) if problem.kind() == ErrorKind::Interrupted => {}
            Err(problem) => return Err(lost(&problem, deadline)),
        }
    }
}

fn closed(received: usize) -> Status {
    let message = match received {
        0 => "the server closed the connection without a word",
        _ => "the server closed the connection in the middle of its answer",
    };
    Status::new(Code::Unavailable, message).with_execution(Execution::MayHaveRun)
}

fn garbled(problem: impl std::fmt::Display) -> Status {
    let message = format!("the answer cannot be read: {problem}");
    Status::new(Code::Internal, message).with_execution(Execution::MayHaveRun)
}

fn lost(problem: &io::Error, deadline: Deadline) -> Status {
    let late = matches!(problem.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    match deadline.left(Execution::MayHaveRun) {
        Err(status) if late => status,
        _ => Status::new(
            Code::Unavailable,
            format!("the connection was lost: {problem}"),
        )
        .with_execution(Execution::MayHaveRun),
    }
}

impl Stream {
    fn connect(address: &Address, deadline: Deadline) -> Result<Stream, Status> {
        let unavailable = |problem: io::Error| {
            Status::new(
                Code::Unavailable,
                format!("cannot connect to {address}: {problem}"),
            )
        };
        match address {
            Address::Unix(path) => UnixStream::connect(path)
                .map(Stream::Unix)
                .map_err(unavailable),
            Address::Tcp { host, port } => {
                let found = (host.as_str(), *port)
                    .to_socket_addrs()
                    .map_err(unavailable)?;
                let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
                for socket in found {
                    match TcpStream::connect_timeout(&socket, deadline.left(Execution::NotSent)?) {
                        Ok(stream) => {
                            // One small message each way: nothing to gain by waiting for more.
                            let _ = stream.set_nodelay(true);
                            return Ok(Stream::Tcp(stream));
                        }
                        Err(problem) => last = problem,
                    }
                }
                Err(unavailable(last))
            }
        }
    }

    fn limit(&self, left: Duration) -> Result<(), Status> {
        let set = match self {
            Stream::Tcp(s) => s
                .set_read_timeout(Some(left))
                .and(s.set_write_timeout(Some(left))),
            Stream::Unix(s) => s
                .set_read_timeout(Some(left))
                .and(s.set_write_timeout(Some(left))),
        };
        set.map_err(|problem| {
            Status::new(Code::Internal, format!("cannot set a timeout: {problem}"))
        })
    }

    /// Nothing more will be sent. A peer that is gone already does not matter any more.
    fn finish(&self) {
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(into),
            Stream::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
