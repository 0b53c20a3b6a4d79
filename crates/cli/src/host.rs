//! A small server around the protocol machine, for contracts that are read at run time: one thread for each
//! connection, answers in the order of the calls.

use crate::address::Address;
use crate::failure::{Exit, Failure, Result};
use bytes::BytesMut;
use dovetail_protocol::thrift::{IncomingCall, ServerConnection, ServerOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Answers calls.
pub(crate) trait Answer: Send + Sync + 'static {
    /// Appends the answer to a call.
    fn answer(&self, call: &IncomingCall, out: &mut Vec<u8>);
}

/// A bound port or socket.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// As many threads as a machine for development has no trouble with.
const MOST_CONNECTIONS: usize = 512;

/// A peer that says nothing for so long is gone.
const IDLE: Duration = Duration::from_secs(600);

impl Listener {
    pub(crate) fn bind(address: &Address) -> Result<Listener> {
        let bound = match address {
            Address::Tcp { host, port } => {
                TcpListener::bind((host.as_str(), *port)).map(Listener::Tcp)
            }
            Address::Unix(path) => {
                // A socket that nobody answers is left over from a server that has ended.
                if path.exists()
                    && UnixStream::connect(path)
                        .is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
                {
                    let _ = std::fs::remove_file(path);
                }
                UnixListener::bind(path).map(Listener::Unix)
            }
        };
        bound.map_err(|problem| {
            let failure = Failure::new(Exit::Failed, format!("cannot listen on {address}: {problem}"));
            match (problem.kind(), address) {
                (ErrorKind::AddrInUse, Address::Tcp { host, port }) => failure.help(format!(
                    "another program has the port {port}; choose one with --listen tcp://{host}:{}, or 0 for any that is free",
                    port.checked_add(1).unwrap_or(0)
                )),
                (ErrorKind::AddrInUse, Address::Unix(_)) => {
                    failure.help("another server answers there; choose another path with --listen")
                }
                (ErrorKind::PermissionDenied, _) => {
                    failure.help("choose a port above 1023, or a path that you may write to, with --listen")
                }
                _ => failure.help("choose another address with --listen"),
            }
        })
    }

    /// The address with the port that the system chose.
    pub(crate) fn address(&self, asked: &Address) -> Address {
        match (self, asked) {
            (Listener::Tcp(listener), Address::Tcp { host, .. }) => match listener.local_addr() {
                Ok(local) => Address::Tcp {
                    host: host.clone(),
                    port: local.port(),
                },
                Err(_) => asked.clone(),
            },
            _ => asked.clone(),
        }
    }

    /// Answers calls for ever.
    pub(crate) fn serve(&self, options: &Arc<ServerOptions>, answer: &Arc<impl Answer>) {
        let connections = Arc::new(AtomicUsize::new(0));
        loop {
            let accepted: io::Result<Box<dyn Stream>> = match self {
                Listener::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(IDLE))?;
                    Ok(Box::new(stream) as _)
                }),
                Listener::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_read_timeout(Some(IDLE))?;
                    Ok(Box::new(stream) as _)
                }),
            };
            let Ok(stream) = accepted else {
                // Out of descriptors, most likely: wait until some are free instead of spinning.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            if connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                connections.fetch_sub(1, Ordering::Relaxed);
                eprintln!("a connection was refused: {MOST_CONNECTIONS} are open");
                continue;
            }
            let (options, answer, open) = (options.clone(), answer.clone(), connections.clone());
            std::thread::spawn(move || {
                // A peer that goes away is no concern of the others.
                let _ = converse(stream, options, &*answer);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
}

trait Stream: Read + Write + Send {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

fn converse(
    mut stream: Box<dyn Stream>,
    options: Arc<ServerOptions>,
    answer: &impl Answer,
) -> io::Result<()> {
    let mut connection = ServerConnection::new(options);
    let mut input = BytesMut::new();
    let mut chunk = vec![0; 64 << 10];
    let mut out = Vec::new();
    loop {
        let (mut closes, mut error) = (false, None);
        while !closes {
            match connection.receive(&mut input) {
                Ok(Some(call)) => {
                    answer.answer(&call, &mut out);
                    closes = call.reply.closes();
                }
                Ok(None) => break,
                Err(problem) => {
                    connection.goodbye(&problem, &mut out);
                    error = Some(problem);
                    closes = true;
                }
            }
        }
        connection.transmit(&mut out);
        stream.write_all(&out)?;
        out.clear();
        if let Some(problem) = error {
            eprintln!("a connection was closed: {problem}");
        }
        if closes {
            return Ok(());
        }
        match stream.read(&mut chunk)? {
            0 => return Ok(()),
            len => input.extend_from_slice(&chunk[..len]),
        }
    }
}
