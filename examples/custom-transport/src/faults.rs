//! A transport around another one, which delivers in pieces and loses connections when it is told
//! to.

use dovetail::transport::{Connector, Listener, Stream, Wait};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The faults of the connections made with it. Clones are the same faults.
#[derive(Clone, Debug)]
pub struct Faults(Arc<State>);

#[derive(Debug)]
struct State {
    piece: usize,
    meter: Mutex<Meter>,
}

/// Bytes that have passed, both ways together.
#[derive(Debug)]
struct Meter {
    passed: usize,
    /// The byte at which the connection that comes so far is lost.
    end: usize,
}

impl Faults {
    /// Nothing goes wrong, but no more than `piece` bytes are sent or received at once;
    /// `usize::MAX` for no limit.
    pub fn in_pieces(piece: usize) -> Self {
        let meter = Meter {
            passed: 0,
            end: usize::MAX,
        };
        Faults(Arc::new(State {
            piece: piece.max(1),
            meter: Mutex::new(meter),
        }))
    }

    /// After this many more bytes, the connection that would carry the next one is lost; others
    /// made afterwards are sound. Exact as long as nobody sends and receives at the same time.
    pub fn lose_after(&self, bytes: usize) {
        let mut meter = self.meter();
        meter.end = meter.passed.saturating_add(bytes);
    }

    /// True as long as no connection has come so far as the last [`lose_after`](Self::lose_after)
    /// said.
    pub fn armed(&self) -> bool {
        self.meter().end != usize::MAX
    }

    /// A client's way to its server, with faults.
    pub fn connector(&self, inner: impl Connector + 'static) -> Arc<dyn Connector> {
        let (inner, faults) = (Box::new(inner), self.clone());
        Arc::new(FaultyConnector { inner, faults })
    }

    /// A server's source of connections, with faults.
    pub fn listener(&self, inner: impl Listener + 'static) -> Arc<dyn Listener> {
        let (inner, faults) = (Box::new(inner), self.clone());
        Arc::new(FaultyListener { inner, faults })
    }

    fn stream(&self, inner: Arc<dyn Stream>) -> Arc<dyn Stream> {
        Arc::new(FaultyStream {
            inner,
            faults: self.clone(),
            lost: AtomicBool::new(false),
        })
    }

    fn meter(&self) -> MutexGuard<'_, Meter> {
        let meter = self.0.meter.lock();
        meter.unwrap_or_else(PoisonError::into_inner)
    }
}

struct FaultyConnector {
    inner: Box<dyn Connector>,
    faults: Faults,
}

impl Connector for FaultyConnector {
    fn connect(&self, deadline: Instant) -> io::Result<Arc<dyn Stream>> {
        Ok(self.faults.stream(self.inner.connect(deadline)?))
    }

    fn target(&self) -> String {
        self.inner.target()
    }
}

struct FaultyListener {
    inner: Box<dyn Listener>,
    faults: Faults,
}

impl Listener for FaultyListener {
    fn accept(&self) -> io::Result<Option<Arc<dyn Stream>>> {
        let accepted = self.inner.accept()?;
        Ok(accepted.map(|stream| self.faults.stream(stream)))
    }

    fn close(&self) {
        self.inner.close();
    }

    fn address(&self) -> String {
        self.inner.address()
    }
}

struct FaultyStream {
    inner: Arc<dyn Stream>,
    faults: Faults,
    lost: AtomicBool,
}

impl FaultyStream {
    /// How many of so many bytes may pass at once. None may where the connection is lost, or is
    /// lost now.
    fn admit(&self, wanted: usize) -> io::Result<usize> {
        let mut meter = self.faults.meter();
        let room = meter.end.saturating_sub(meter.passed);
        if room == 0 && !self.lost.swap(true, Ordering::SeqCst) {
            meter.end = usize::MAX;
            self.inner.shutdown();
        }
        match self.lost.load(Ordering::SeqCst) {
            true => Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "lost on purpose",
            )),
            false => Ok(wanted.min(room).min(self.faults.0.piece)),
        }
    }

    fn count(&self, bytes: usize) {
        self.faults.meter().passed += bytes;
    }
}

impl Stream for FaultyStream {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        let most = self.admit(buffer.len())?;
        let received = self.inner.recv(&mut buffer[..most], wait)?;
        self.count(received);
        Ok(received)
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        let most = self.admit(bytes.len())?;
        let sent = self.inner.send(&bytes[..most], wait)?;
        self.count(sent);
        Ok(sent)
    }

    fn shutdown_recv(&self) {
        self.inner.shutdown_recv();
    }

    fn shutdown_send(&self) {
        self.inner.shutdown_send();
    }

    fn shutdown(&self) {
        self.inner.shutdown();
    }

    fn peer(&self) -> String {
        self.inner.peer()
    }
}
