//! One connection of a server without its socket: what drivers on threads and on event loops have in common.

use super::Shared;
use super::counters::count;
use super::running::RunningCall;
use crate::context::Caller;
use bytes::BytesMut;
use dovetail_protocol::thrift::{IncomingCall, ProtocolError, ServerConnection};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What has arrived, how long the peer may take, and why the connection ends.
///
/// A driver receives behind [`input`](Self::input), takes calls with [`next`](Self::next), and starts them
/// when it likes. Once [`ends`](Self::ends), it sends the answers that are still
/// missing, then what [`farewell`](Self::farewell) says, and closes.
pub(super) struct Session<'a> {
    shared: &'a Arc<Shared>,
    caller: Arc<Caller>,
    /// False for a connection too many: its first call is refused.
    welcome: bool,
    machine: Box<ServerConnection>,
    pub(super) input: BytesMut,
    /// When the message that is in `input`, incomplete, began to arrive.
    message_began: Option<Instant>,
    end: Option<End>,
}

/// Why a connection ends.
enum End {
    /// Either end has closed it, between two messages.
    Closed,
    /// The answer to the last call says so.
    LastCall,
    /// The peer broke the rules, or a limit.
    Broken(ProtocolError),
}

impl<'a> Session<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, caller: Caller, welcome: bool) -> Self {
        Session {
            shared,
            caller: Arc::new(caller),
            welcome,
            machine: Box::new(ServerConnection::new(shared.options.clone())),
            input: BytesMut::new(),
            message_began: None,
            end: None,
        }
    }

    /// The next call that has arrived; `None` where more has to be received first, or the connection ends.
    pub(super) fn next(&mut self) -> Option<IncomingCall> {
        if self.ends() {
            return None;
        }
        match self.machine.receive(&mut self.input) {
            Ok(call) => {
                let call = call?;
                self.message_began = None;
                if call.reply.closes() || !self.welcome {
                    self.end = Some(End::LastCall);
                }
                Some(call)
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Starts a call; its answer comes in `buffer`, which is empty.
    pub(super) fn start(&self, call: IncomingCall, buffer: Vec<u8>) -> RunningCall<'a> {
        match self.no_room() {
            None => self.shared.start(call, self.caller.clone(), buffer),
            Some(why) => self.shared.turn_away(&call, why, buffer),
        }
    }

    /// Why calls are refused just now.
    pub(super) fn no_room(&self) -> Option<String> {
        let limits = &self.shared.limits;
        if !self.welcome {
            return Some(format!("the server has {} connections", limits.connections));
        }
        (self.shared.waiting.load(Ordering::Relaxed) >= limits.calls)
            .then(|| format!("the server has {} calls waiting", limits.calls))
    }

    /// What a thread that may wait does with a call there is room for.
    #[cfg(feature = "async")]
    pub(super) fn starter(&self) -> impl FnOnce(IncomingCall) -> Vec<u8> + Send + use<> {
        let (shared, caller) = (self.shared.clone(), self.caller.clone());
        move |call| crate::block_on::block_on(shared.start(call, caller, Vec::new()))
    }

    /// True where no further call is taken.
    pub(super) fn ends(&self) -> bool {
        self.end.is_some()
    }

    /// True where nothing has arrived that waits to be a call.
    pub(super) fn is_idle(&self) -> bool {
        self.input.is_empty()
    }

    /// How much to receive next.
    pub(super) fn needs(&self) -> usize {
        self.machine.needs()
    }

    /// What the connection itself has to say between answers.
    pub(super) fn transmit(&mut self, out: &mut Vec<u8>) {
        self.machine.transmit(out);
    }

    /// The last words, behind all answers. True where the peer may still be sending, so that its bytes have
    /// to be received for a while; see [`LINGER`](super::LINGER).
    pub(super) fn farewell(&self, out: &mut Vec<u8>) -> bool {
        if let Some(End::Broken(error)) = &self.end {
            self.machine.goodbye(error, out);
        }
        !matches!(self.end, Some(End::Closed))
    }

    /// How long to wait for the peer, from now.
    pub(super) fn patience(&mut self) -> Duration {
        let limits = &self.shared.limits;
        if self.is_idle() {
            return match self.welcome {
                true => limits.idle,
                false => limits.handshake,
            };
        }
        let began = *self.message_began.get_or_insert_with(Instant::now);
        self.message_limit().saturating_sub(began.elapsed())
    }

    fn message_limit(&self) -> Duration {
        match self.machine.wire() {
            Some(_) => self.shared.limits.transfer,
            None => self.shared.limits.handshake,
        }
    }

    /// The peer let the time pass that [`patience`](Self::patience) gave it.
    pub(super) fn timed_out(&mut self) {
        let counters = &self.shared.counters;
        match self.is_idle() {
            true => {
                count(&counters.idle_timeouts);
                self.end = Some(End::Closed);
            }
            false => {
                count(&counters.transfer_timeouts);
                let limit = self.message_limit();
                let error = ProtocolError::TooSlow { limit };
                self.machine.fail(error.clone(), &self.input);
                self.end = Some(End::Broken(error));
            }
        }
    }

    /// The peer has closed its side, or this end wants to close while the connection is idle.
    pub(super) fn closed(&mut self) {
        match self.machine.end(&mut self.input) {
            Ok(()) => self.end = Some(End::Closed),
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: ProtocolError) {
        count(&self.shared.counters.protocol_errors);
        self.end = Some(End::Broken(error));
    }
}

/// Answers that wait to be sent together. Two buffers take turns, so that answers one at a time cost no copy
/// and no allocation.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) bytes: Vec<u8>,
    spare: Vec<u8>,
}

/// Answers that wait for calls which have arrived with theirs leave at the latest when they are this long;
/// a buffer that has grown beyond is not kept.
const FLUSH: usize = 64 << 10;

impl Outbox {
    /// An empty buffer for an answer.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    /// Takes an answer to be sent.
    pub(super) fn put(&mut self, mut answer: Vec<u8>) {
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, &mut answer);
        } else {
            self.bytes.extend_from_slice(&answer);
            answer.clear();
        }
        self.spare = answer;
    }

    /// True where there is no buffer yet to be used again.
    #[cfg(feature = "async")]
    pub(super) fn is_new(&self) -> bool {
        self.bytes.capacity() == 0 && self.spare.capacity() == 0
    }

    /// True where it is time to send what is there.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() > FLUSH
    }

    /// Everything has been sent.
    pub(super) fn sent(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > FLUSH {
            self.bytes = Vec::new();
        }
    }
}
