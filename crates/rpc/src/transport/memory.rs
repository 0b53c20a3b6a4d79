//! Client and server in one process: two bounded queues of bytes.

use super::{Connector, Listener, Stream, Wait};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a direction holds before the sender waits.
const ROOM: usize = 256 << 10;

#[derive(Default)]
struct Queue {
    bytes: VecDeque<u8>,
    closed: bool,
}

#[derive(Default)]
struct Direction {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Direction {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
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
        self.incoming.changed.notify_all();
        Ok(received)
    }

    fn send_all(&self, mut bytes: &[u8], deadline: Option<Instant>) -> io::Result<()> {
        let mut queue = self.outgoing.lock();
        while !bytes.is_empty() {
            if queue.closed {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let room = ROOM.saturating_sub(queue.bytes.len()).min(bytes.len());
            if room == 0 {
                queue = self.outgoing.wait(queue, deadline)?;
                continue;
            }
            let (now, later) = bytes.split_at(room);
            queue.bytes.extend(now);
            bytes = later;
            self.outgoing.changed.notify_all();
        }
        Ok(())
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

    fn peer(&self) -> String {
        "in-process".to_owned()
    }
}

impl Drop for MemoryStream {
    fn drop(&mut self) {
        self.shutdown();
    }
}

#[derive(Default)]
struct Backlog {
    waiting: Mutex<(VecDeque<MemoryStream>, bool)>,
    changed: Condvar,
}

/// Where a server takes connections from its own process.
pub struct MemoryListener(Arc<Backlog>);

/// How clients of the same process connect. Cheap to clone.
#[derive(Clone)]
pub struct MemoryConnector(Arc<Backlog>);

/// A listener and the connector that reaches it.
pub fn memory() -> (MemoryListener, MemoryConnector) {
    let backlog = Arc::<Backlog>::default();
    (MemoryListener(backlog.clone()), MemoryConnector(backlog))
}

impl Connector for MemoryConnector {
    fn connect(&self, _: Instant) -> io::Result<Arc<dyn Stream>> {
        let (client, server) = memory_pair();
        let mut waiting = self
            .0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if waiting.1 {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        waiting.0.push_back(server);
        self.0.changed.notify_one();
        Ok(Arc::new(client))
    }

    fn target(&self) -> String {
        "in-process".to_owned()
    }
}

impl Listener for MemoryListener {
    fn accept(&self) -> io::Result<Option<Arc<dyn Stream>>> {
        let mut waiting = self
            .0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            if waiting.1 {
                return Ok(None);
            }
            if let Some(stream) = waiting.0.pop_front() {
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
        self.0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .1 = true;
        self.0.changed.notify_all();
    }

    fn address(&self) -> String {
        "in-process".to_owned()
    }
}
