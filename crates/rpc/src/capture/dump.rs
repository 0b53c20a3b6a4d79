//! The bytes of connections as they come and go, with the calls that they make up.

use super::shown::{ShownCall, ShownCalls};
use crate::Status;
use crate::observer::Observer;
use crate::peer::intercept::Direction;
use crate::peer::traffic::Tap;
use dovetail_wire::{Bytes, message};
use futures_core::Stream;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Bytes after which a dump ends, by default.
const BYTES: i64 = 16 << 20;

/// Bytes that wait for the administrator. Further ones are left out.
const WAITING: usize = 4 << 20;

/// Which connections a dump shows, and when it ends. A default one shows all connections for a
/// minute, and ends earlier with 16 MiB.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DumpFilter {
    /// A connection, by its number among [those of the server](crate::admin::Admin). By default all
    /// of them, also those that begin during the dump.
    pub connection: Option<i64>,
    /// Beginnings of the addresses of callers. All callers where the list is empty.
    pub peers: Vec<String>,
    /// Seconds after which the dump ends. Default: 60.
    pub seconds: Option<i32>,
    /// Bytes after which the dump ends. Default: 16 MiB.
    pub bytes: Option<i64>,
}

message!(DumpFilter {
    /// A connection, by its number; by default all, also those that begin during the dump.
    1 connection: Option<i64>,
    /// Beginnings of the addresses of callers; all callers if there are none.
    2 peers: Vec<String>,
    /// Seconds after which the dump ends; by default 60.
    3 seconds: Option<i32>,
    /// Bytes after which the dump ends; by default 16 MiB.
    4 bytes: Option<i64>,
});

/// A part of a dump: bytes of a connection, or a call that has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dumped {
    /// Microseconds after the beginning of the dump.
    pub at: i64,
    /// The number of the connection.
    pub connection: i64,
    /// The address of its peer.
    pub peer: String,
    /// The server has sent the bytes.
    pub sent: bool,
    /// Bytes of the wire; over TLS those inside.
    pub bytes: Bytes,
    /// Bytes that have been left out so far, because they came faster than these were taken.
    pub left_out: i64,
    /// A call. It comes without bytes, behind its own.
    pub call: Option<ShownCall>,
}

message!(Dumped {
    /// Microseconds after the beginning of the dump.
    1 at as "at_us": i64,
    /// The number of the connection.
    2 connection: i64,
    /// The address of its peer.
    3 peer: String,
    /// The server has sent the bytes.
    4 sent: bool,
    /// Bytes of the wire; over TLS those inside.
    5 bytes: Bytes,
    /// Bytes that have been left out so far, because they came faster than these were taken.
    6 left_out as "left_out_bytes": i64,
    /// A call that has ended. It comes without bytes, behind its own.
    7 call: Option<ShownCall>,
});

/// The bytes of connections on their way to an administrator.
pub(crate) struct Dump {
    filter: DumpFilter,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parts: VecDeque<Dumped>,
    /// Bytes of the parts that nobody has taken yet.
    waiting: usize,
    /// All bytes so far.
    bytes: u64,
    left_out: usize,
    over: bool,
    reader: Option<Waker>,
}

impl Dump {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next part, or whether there will be none.
    fn poll(&self, context: &Context<'_>) -> Poll<Option<Dumped>> {
        let mut state = self.lock();
        match state.parts.pop_front() {
            Some(part) => {
                state.waiting -= part.bytes.len();
                Poll::Ready(Some(part))
            }
            None if state.over => Poll::Ready(None),
            None => {
                state.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Tap for Dump {
    fn wants(&self, connection: u64, peer: &str) -> bool {
        let DumpFilter {
            connection: asked,
            peers,
            ..
        } = &self.filter;
        let is_asked = |asked: i64| u64::try_from(asked) == Ok(connection);
        asked.is_none_or(is_asked)
            && (peers.is_empty() || peers.iter().any(|known| peer.starts_with(known)))
    }

    fn take(
        &self,
        (connection, peer): (u64, &str),
        direction: Direction,
        bytes: &mut dyn Iterator<Item = &[u8]>,
    ) {
        let (mut piece, mut size) = (Vec::new(), 0);
        for slice in bytes {
            size += slice.len();
            // There is no room for a longer one.
            if size <= WAITING {
                piece.extend_from_slice(slice);
            }
        }
        let mut state = self.lock();
        if state.over {
            return;
        }
        if state.waiting + size > WAITING {
            state.left_out += size;
            return;
        }
        let part = Dumped {
            at: i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX),
            connection: i64::try_from(connection).unwrap_or(i64::MAX),
            peer: peer.to_owned(),
            sent: direction == Direction::Sent,
            left_out: i64::try_from(state.left_out).unwrap_or(i64::MAX),
            bytes: piece.into(),
            call: None,
        };
        state.waiting += part.bytes.len();
        state.bytes += part.bytes.len() as u64;
        state.parts.push_back(part);
        state.over = state.bytes >= self.filter.bytes.unwrap_or(BYTES).unsigned_abs();
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }
}

/// The parts of a dump, which ends when this is dropped, or with the capture of its calls.
pub(crate) struct DumpedParts {
    dump: Arc<Dump>,
    calls: ShownCalls,
    server: Arc<dyn Observer>,
}

impl DumpedParts {
    /// Begins a dump of a server's connections.
    pub(crate) fn start(filter: &DumpFilter, calls: ShownCalls, server: Arc<dyn Observer>) -> Self {
        let dump = Arc::new(Dump {
            filter: filter.clone(),
            began: Instant::now(),
            state: Mutex::default(),
        });
        server.tap(Some(dump.clone()));
        DumpedParts {
            dump,
            calls,
            server,
        }
    }
}

impl Stream for DumpedParts {
    type Item = Result<Dumped, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.dump.poll(context) {
            Poll::Ready(part) => return Poll::Ready(part.map(Ok)),
            Poll::Pending => {}
        }
        let call = Pin::new(&mut self.calls).poll_next(context);
        call.map(|call| {
            let call = call?;
            Some(call.map(|call| Dumped {
                at: call.began.saturating_add(call.elapsed),
                peer: call.peer.clone(),
                call: Some(call),
                ..Dumped::default()
            }))
        })
    }
}

impl Drop for DumpedParts {
    fn drop(&mut self) {
        self.server.tap(None);
    }
}
