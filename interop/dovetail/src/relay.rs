//! A relay between a client and a server, which counts round trips, and can cut a connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// A client that sends nothing for so long waits for an answer.
const QUIET: Duration = Duration::from_millis(300);

/// Begins the address of a server that speaks TLS, which the relay hands on as it is.
const SECURE: &str = "tls://";

pub(crate) struct Relay {
    pub(crate) address: String,
    watch: Arc<Watch>,
}

struct Watch {
    start: Instant,
    /// Milliseconds from the start to the last bytes of the client's.
    asked: AtomicU64,
    rounds: AtomicU32,
    cuts: AtomicBool,
}

impl Relay {
    /// Relays connections to this server.
    pub(crate) fn start(server: &str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let own = listener.local_addr()?;
        let (address, server) = match server.strip_prefix(SECURE) {
            Some(server) => (format!("{SECURE}{own}"), server),
            None => (own.to_string(), server),
        };
        let watch = Arc::new(Watch {
            start: Instant::now(),
            asked: AtomicU64::new(0),
            rounds: AtomicU32::new(0),
            cuts: AtomicBool::new(false),
        });
        let (server, watching) = (server.to_owned(), watch.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let _ = relay(client, &server, &watching);
            }
        });
        Ok(Relay { address, watch })
    }

    /// How often the client has waited for bytes of the server's since the last time.
    pub(crate) fn rounds(&self) -> u32 {
        self.watch.rounds.swap(0, Ordering::SeqCst)
    }

    /// Closes a connection instead of handing the next answers on.
    pub(crate) fn cut(&self) {
        self.watch.cuts.store(true, Ordering::SeqCst);
    }
}

/// A socket to a server.
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn connect(address: &str) -> io::Result<Self> {
        match address.strip_prefix("unix:") {
            Some(path) => Ok(Socket::Unix(UnixStream::connect(path)?)),
            None => Ok(Socket::Tcp(TcpStream::connect(address)?)),
        }
    }

    fn halves(&self) -> io::Result<(Box<dyn Read + Send>, Box<dyn Write + Send>)> {
        Ok(match self {
            Socket::Tcp(socket) => (Box::new(socket.try_clone()?), Box::new(socket.try_clone()?)),
            Socket::Unix(socket) => (Box::new(socket.try_clone()?), Box::new(socket.try_clone()?)),
        })
    }

    fn close(&self) {
        let _ = match self {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }
}

fn relay(client: TcpStream, server: &str, watch: &Arc<Watch>) -> io::Result<()> {
    let server = Socket::connect(server)?;
    let (from_server, to_server) = server.halves()?;
    let (from_client, to_client) = (client.try_clone()?, client.try_clone()?);
    let asking = watch.clone();
    thread::spawn(move || {
        let _ = asks(from_client, to_server, &asking);
        server.close();
    });
    let answering = watch.clone();
    thread::spawn(move || {
        let _ = answers(from_server, to_client, &answering);
        let _ = client.shutdown(Shutdown::Both);
    });
    Ok(())
}

impl Watch {
    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64 + 1
    }
}

fn asks(mut client: impl Read, mut server: impl Write, watch: &Watch) -> io::Result<()> {
    let mut bytes = [0; 1 << 16];
    loop {
        match client.read(&mut bytes)? {
            0 => return Ok(()),
            count => {
                watch.asked.store(watch.now(), Ordering::SeqCst);
                server.write_all(&bytes[..count])?;
            }
        }
    }
}

/// Hands answers on once the client asks nothing more: all that have come until then at a time.
fn answers(
    server: impl Read + Send + 'static,
    mut client: impl Write,
    watch: &Watch,
) -> io::Result<()> {
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || {
        let _ = receive(server, &sender);
    });
    let mut answered = 0;
    while let Ok(mut bytes) = answers.recv() {
        if watch.asked.load(Ordering::SeqCst) > answered {
            while watch.now() < watch.asked.load(Ordering::SeqCst) + QUIET.as_millis() as u64 {
                thread::sleep(QUIET / 10);
            }
            answered = watch.asked.load(Ordering::SeqCst);
            watch.rounds.fetch_add(1, Ordering::SeqCst);
            bytes.extend(answers.try_iter().flatten());
        }
        if watch.cuts.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        client.write_all(&bytes)?;
    }
    Ok(())
}

fn receive(mut server: impl Read, answers: &Sender<Vec<u8>>) -> io::Result<()> {
    let mut bytes = [0; 1 << 16];
    loop {
        let count = server.read(&mut bytes)?;
        if count == 0 || answers.send(bytes[..count].to_vec()).is_err() {
            return Ok(());
        }
    }
}
