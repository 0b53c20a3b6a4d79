//! Client and server in one process: two bounded queues of bytes.

use super::{Connector, Listener, Presence, Stream, Wait};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The address of this process for itself.
pub(crate) const IN_PROCESS: &str = "in-process";

/// The bytes that a direction holds before the sender waits.
const ROOM: usize = 256 << 10;

#[derive(Default)]
struct Queue {
    bytes: VecDeque<u8>,
    closed: bool,
}

impl Queue {
    /// Appends as much as there is room for.
    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = ROOM.saturating_sub(self.bytes.len()).min(bytes.len());
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.bytes.extend(bytes.get(..room).unwrap_or_default());
        Ok(room)
    }
}

#[derive(Default)]
struct Direction {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// The waker for tasks.
    #[cfg(feature = "async")]
    woken: tokio::sync::Notify,
}

impl Direction {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().closed = true;
        self.notify();
    }

    fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn notify(&self) {
        self.changed.notify_all();
        #[cfg(feature = "async")]
        self.woken.notify_waiters();
    }

    /// Waits until the queue is like this.
    #[cfg(feature = "async")]
    async fn until(&self, ready: impl Fn(&Queue) -> bool) {
        loop {
            let mut woken = std::pin::pin!(self.woken.notified());
            // Events from now on are not missed.
            woken.as_mut().enable();
            if ready(&self.lock()) {
                return;
            }
            woken.await;
        }
    }

    fn wait<'a>(
        &self,
        queue: MutexGuard<'a, Queue>,
        deadline: Option<Instant>,
    ) -> io::Result<MutexGuard<'a, Queue>> {
        let Some(deadline) = deadline else {
            return Ok(self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner));
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let (queue, _) = self
            .changed
            .wait_timeout(queue, left)
            .unwrap_or_else(PoisonError::into_inner);
        Ok(queue)
    }
}

/// One end of a connection inside the process.
pub struct MemoryStream {
    incoming: Arc<Direction>,
    outgoing: Arc<Direction>,
}

/// Two connected ends.
pub fn memory_pair() -> (MemoryStream, MemoryStream) {
    let (a, b) = (Arc::<Direction>::default(), Arc::<Direction>::default());
    let left = MemoryStream {
        incoming: a.clone(),
        outgoing: b.clone(),
    };
    (
        left,
        MemoryStream {
            incoming: b,
            outgoing: a,
        },
    )
}

#[cfg(feature = "async")]
impl MemoryStream {
    /// Waits until there is something to receive, or nothing comes any more.
    pub(crate) async fn readable(&self) {
        let ready = |queue: &Queue| queue.closed || !queue.bytes.is_empty();
        self.incoming.until(ready).await;
    }

    /// Waits until something can be sent, or nothing any more.
    pub(crate) async fn writable(&self) {
        let ready = |queue: &Queue| queue.closed || queue.bytes.len() < ROOM;
        self.outgoing.until(ready).await;
    }

    /// Waits until the peer has gone; `half` where one has that has closed its sending side.
    pub(crate) async fn gone(&self, half: bool) {
        self.incoming.until(|queue| queue.closed).await;
        if !half {
            self.outgoing.until(|queue| queue.closed).await;
        }
    }

    /// Sends as much as there is room for.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes, Wait::Poll)
    }
}

impl Stream for MemoryStream {
    fn recv(&self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        let mut queue = self.incoming.lock();
        while queue.bytes.is_empty() {
            match wait {
                _ if queue.closed => return Ok(0),
                Wait::Poll => return Err(io::ErrorKind::WouldBlock.into()),
                Wait::Until(deadline) => queue = self.incoming.wait(queue, deadline)?,
            }
        }
        let received = io::Read::read(&mut queue.bytes, buffer)?;
        drop(queue);
        self.incoming.notify();
        Ok(received)
    }

    fn send(&self, bytes: &[u8], wait: Wait) -> io::Result<usize> {
        let mut queue = self.outgoing.lock();
        loop {
            match (queue.put(bytes), wait) {
                (Err(e), Wait::Until(deadline)) if e.kind() == io::ErrorKind::WouldBlock => {
                    queue = self.outgoing.wait(queue, deadline)?;
                }
                (sent, _) => {
                    drop(queue);
                    self.outgoing.notify();
                    return sent;
                }
            }
        }
    }

    fn shutdown_recv(&self) {
        self.incoming.close();
    }

    fn shutdown_send(&self) {
        self.outgoing.close();
    }

    fn shutdown(&self) {
        self.incoming.close();
        self.outgoing.close();
    }

    fn presence(&self) -> Presence {
        match (self.incoming.is_closed(), self.outgoing.is_closed()) {
            (true, true) => Presence::Gone,
            (true, false) => Presence::HalfClosed,
            (false, _) => Presence::There,
        }
    }

    fn peer(&self) -> String {
        IN_PROCESS.to_owned()
    }
}

impl Drop for MemoryStream {
    fn drop(&mut self) {
        self.shutdown();
    }
}

#[derive(Default)]
struct Backlog {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// The waker for a task.
    #[cfg(feature = "testing")]
    woken: tokio::sync::Notify,
}

#[derive(Default)]
struct Waiting {
    streams: VecDeque<MemoryStream>,
    closed: bool,
    /// Refuses, but may listen again.
    refuses: bool,
    /// Both directions of all connections there are, where a test may cut them.
    #[cfg(feature = "async")]
    open: Vec<std::sync::Weak<Direction>>,
}

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The listener for connections from a server's own process.
pub struct MemoryListener(Arc<Backlog>);

/// How clients of the same process connect. Cheap to clone.
#[derive(Clone)]
pub struct MemoryConnector(Arc<Backlog>);

/// A listener and the connector that reaches it.
pub fn memory() -> (MemoryListener, MemoryConnector) {
    let backlog = Arc::<Backlog>::default();
    (MemoryListener(backlog.clone()), MemoryConnector(backlog))
}

impl MemoryConnector {
    fn open(&self) -> io::Result<MemoryStream> {
        let (client, server) = memory_pair();
        let mut waiting = self.0.lock();
        if waiting.closed || waiting.refuses {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        waiting.streams.push_back(server);
        self.0.changed.notify_one();
        #[cfg(feature = "testing")]
        self.0.woken.notify_one();
        Ok(client)
    }
}

/// Operations of tests on connections.
#[cfg(feature = "async")]
impl MemoryConnector {
    /// A connection that [`cut`](Self::cut) cuts.
    pub(crate) fn open_for_test(&self) -> io::Result<MemoryStream> {
        let stream = self.open()?;
        let open = &mut self.0.lock().open;
        open.retain(|direction| direction.strong_count() > 0);
        open.extend([&stream.incoming, &stream.outgoing].map(Arc::downgrade));
        Ok(stream)
    }
}

#[cfg(feature = "testing")]
impl MemoryConnector {
    pub(crate) fn cut(&self) {
        let open = std::mem::take(&mut self.0.lock().open);
        for direction in open.iter().filter_map(std::sync::Weak::upgrade) {
            direction.lock().bytes.clear();
            direction.close();
        }
    }

    pub(crate) fn refuse(&self, refuse: bool) {
        self.0.lock().refuses = refuse;
    }
}

#[cfg(feature = "testing")]
impl MemoryListener {
    /// The next connection.
    pub(crate) async fn accepted(&self) -> MemoryStream {
        loop {
            if let Some(stream) = self.0.lock().streams.pop_front() {
                return stream;
            }
            self.0.woken.notified().await;
        }
    }
}

impl std::fmt::Debug for MemoryConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryConnector")
    }
}

impl Connector for MemoryConnector {
    fn is_private(&self) -> bool {
        true
    }

    fn connect(&self, _: Instant) -> io::Result<Arc<dyn Stream>> {
        Ok(Arc::new(self.open()?))
    }

    fn target(&self) -> String {
        IN_PROCESS.to_owned()
    }
}

impl Listener for MemoryListener {
    fn accept(&self) -> io::Result<Option<Arc<dyn Stream>>> {
        let mut waiting = self.0.lock();
        loop {
            if waiting.closed {
                return Ok(None);
            }
            if let Some(stream) = waiting.streams.pop_front() {
                return Ok(Some(Arc::new(stream)));
            }
            waiting = self
                .0
                .changed
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn close(&self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }

    fn address(&self) -> String {
        IN_PROCESS.to_owned()
    }
}
