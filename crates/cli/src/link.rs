//! A connection that counts what goes over it, for `call --verbose`.

use dovetail::transport::{Connector, Stream, Wait};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The cost of a call.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    sent: AtomicUsize,
    received: AtomicUsize,
    connecting: OnceLock<Duration>,
}

impl Cost {
    /// Bytes sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes received.
    pub(crate) fn received(&self) -> usize {
        self.received.load(Ordering::Relaxed)
    }

    /// How long it took to connect; `None` where that failed.
    pub(crate) fn connecting(&self) -> Option<Duration> {
        self.connecting.get().copied()
    }
}

/// Connects to a server, and counts.
pub(crate) struct Counting {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) cost: Arc<Cost>,
}

struct Counted {
    stream: Arc<dyn Stream>,
    cost: Arc<Cost>,
}

impl Connector for Counting {
    fn connect(&self, deadline: Instant) -> io::Result<Arc<dyn Stream>> {
        let start = Instant::now();
        let stream = self.connector.connect(deadline)?;
        // A person waits for the first of several connections.
        let _ = self.cost.connecting.set(start.elapsed());
        let cost = self.cost.clone();
        Ok(Arc::new(Counted { stream, cost }))
    }

    fn target(&self) -> String {
        self.connector.target()
    }
}

impl Stream for Counted {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        let received = self.stream.recv(buffer, wait)?;
        self.cost.received.fetch_add(received, Ordering::Relaxed);
        Ok(received)
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        let sent = self.stream.send(bytes, wait)?;
        self.cost.sent.fetch_add(sent, Ordering::Relaxed);
        Ok(sent)
    }

    fn shutdown_recv(&self) {
        self.stream.shutdown_recv();
    }

    fn shutdown_send(&self) {
        self.stream.shutdown_send();
    }

    fn shutdown(&self) {
        self.stream.shutdown();
    }

    fn peer(&self) -> String {
        self.stream.peer()
    }
}
