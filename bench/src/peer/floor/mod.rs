//! The floor: the bytes of a Thrift call sent back and forth over a raw socket or through shared
//! memory, and nothing else.

mod ring;
mod shm;

use super::dovetail::conversation;
use crate::harness::{
    self, Client, Failure, Load, Report, Request, Response, Server, System,
    callers::{self, Runner},
};
use shm::Shared;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

#[derive(Clone, Copy)]
pub(super) struct Floor {
    pub(super) medium: Medium,
    pub(super) wait: Wait,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Medium {
    Tcp,
    Unix,
    /// Memory that both processes share. They find each other over a Unix socket.
    Shm,
}

/// How the receiver waits.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Wait {
    /// In the kernel.
    Block,
    /// In a loop of receives that do not block.
    Poll,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Shm(Shared),
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl System for Floor {
    /// Answers, with a thread for each connection, until the process ends.
    fn start(&self, address: Option<&str>) -> Result<Server, Failure> {
        let floor = *self;
        let (listener, place) = floor.listen(address)?;
        thread::spawn(move || {
            while let Ok(socket) = listener.accept() {
                thread::spawn(move || floor.serve(socket));
            }
        });
        Ok(Server::new(place, ()))
    }

    fn call(&self, servers: &[String], load: &Load) -> Result<Report, Failure> {
        let address = harness::only(servers)?;
        load.own_connections("a raw connection has one caller")?;
        let clients: Result<Vec<_>, Failure> = (0..load.clients)
            .map(|_| self.connect(address, load))
            .collect();
        callers::measure(load, Runner::Threads, clients?)
    }
}

impl Floor {
    fn listen(self, address: Option<&str>) -> Result<(Listener, String), Failure> {
        if self.medium == Medium::Tcp {
            let listener = TcpListener::bind(address.unwrap_or("127.0.0.1:0"))?;
            let place = listener.local_addr()?.to_string();
            return Ok((Listener::Tcp(listener), place));
        }
        // An address that is no path is one for TCP, which every server is given.
        let path = match address.and_then(|address| address.strip_prefix("unix:")) {
            Some(path) => PathBuf::from(path),
            None => super::free_socket(),
        };
        let listener = UnixListener::bind(&path)?;
        Ok((Listener::Unix(listener), format!("unix:{}", path.display())))
    }

    /// The client says first which conversation it wants: so many bytes of workload and case.
    fn serve(self, mut socket: Socket) -> Result<(), Failure> {
        let mut length = [0];
        socket.read_exact(&mut length)?;
        let mut label = vec![0; length[0].into()];
        socket.read_exact(&mut label)?;
        let bytes = Conversation::of(&String::from_utf8(label)?)?;
        socket.write_all(&[1])?;
        let mut socket = self.prepare(socket, Shared::accept)?;
        let mut buffer = vec![0; bytes.request.len()];
        loop {
            socket.receive(&mut buffer)?;
            socket.send(&bytes.reply)?;
        }
    }

    fn connect(self, address: &str, load: &Load) -> Result<RawClient, Failure> {
        let mut socket = match address.strip_prefix("unix:") {
            Some(path) => Socket::Unix(UnixStream::connect(path)?),
            None => Socket::Tcp(TcpStream::connect(address)?),
        };
        let label = load.label.as_bytes();
        socket.write_all(&[u8::try_from(label.len())?])?;
        socket.write_all(label)?;
        socket.read_exact(&mut [0])?;
        let socket = self.prepare(socket, Shared::offer)?;
        let bytes = Conversation::of(&load.label)?;
        Ok(RawClient {
            socket,
            buffer: vec![0; bytes.reply.len()],
            bytes,
        })
    }

    /// Ready for what is measured; shared memory is shared in this way.
    fn prepare(
        self,
        socket: Socket,
        share: impl FnOnce(UnixStream, Wait) -> io::Result<Shared>,
    ) -> io::Result<Socket> {
        let poll = self.wait == Wait::Poll;
        Ok(match socket {
            Socket::Unix(stream) if self.medium == Medium::Shm => {
                Socket::Shm(share(stream, self.wait)?)
            }
            Socket::Unix(stream) => {
                stream.set_nonblocking(poll)?;
                Socket::Unix(stream)
            }
            Socket::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(poll)?;
                Socket::Tcp(stream)
            }
            ready @ Socket::Shm(_) => ready,
        })
    }
}

/// The bytes of a call, and of its answer.
struct Conversation {
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Conversation {
    /// Returns the bytes for a workload and its case. They are recorded once for all connections.
    fn of(label: &str) -> Result<Arc<Self>, Failure> {
        static KNOWN: Mutex<BTreeMap<String, Arc<Conversation>>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = known.get(label) {
            return Ok(bytes.clone());
        }
        let (workload, case) = label.split_once(' ').ok_or("no workload and case")?;
        let request = Request::new(workload, case).ok_or("no such workload")?;
        let (request, reply) = conversation(&request)?;
        let bytes = Arc::new(Conversation { request, reply });
        known.insert(label.to_owned(), bytes.clone());
        Ok(bytes)
    }
}

impl Listener {
    fn accept(&self) -> io::Result<Socket> {
        Ok(match self {
            Listener::Tcp(listener) => Socket::Tcp(listener.accept()?.0),
            Listener::Unix(listener) => Socket::Unix(listener.accept()?.0),
        })
    }
}

impl Socket {
    /// Fills the buffer, also where nothing blocks.
    fn receive(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => buffer = &mut buffer[count..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(buffer),
            Socket::Unix(socket) => socket.read(buffer),
            Socket::Shm(shared) => shared.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.write(bytes),
            Socket::Unix(socket) => socket.write(bytes),
            Socket::Shm(shared) => shared.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends the request's bytes and receives as many as the reply has.
struct RawClient {
    socket: Socket,
    bytes: Arc<Conversation>,
    buffer: Vec<u8>,
}

impl Client for RawClient {
    async fn call(&mut self, _: &Request) -> Result<Response, Failure> {
        self.socket.send(&self.bytes.request)?;
        self.socket.receive(&mut self.buffer)?;
        Ok(Response::Raw)
    }

    fn check(&self, _: &Response, _: &Response) -> bool {
        self.buffer == self.bytes.reply
    }
}
