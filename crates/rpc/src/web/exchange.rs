//! A call with streams, between its handles and its driver.
//!
//! The driver alone has the stream of HTTP/2, or the connection of HTTP/1.1: a task of its own at
//! the caller, the call's future or the connection's at the server. So nobody is in its way who
//! holds a handle and does something else. It takes in what comes, which the other end gets credit
//! for as the handles take it, and sends what they have queued, as the other end takes it.

#[cfg(feature = "grpc")]
mod caller;
#[cfg(feature = "grpc")]
mod http2;

use super::Style;
use super::message::{Plain, parameters};
use crate::method::Method;
#[cfg(feature = "grpc")]
use crate::peer::streams::Body;
#[cfg(feature = "grpc")]
use crate::peer::streams::given_up;
use crate::peer::streams::{Inbox, Item, Next, Unsent};
use crate::{Code, Exceptions, Status};
use bytes::{Bytes, BytesMut};
use dovetail_protocol::envelope::PREFIX;
use dovetail_wire::{Encode, Encoding, Limits};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// If so many bytes wait to be sent, a further sender has to wait, too.
const ENOUGH: usize = 16 << 10;

/// If so many bytes wait that the handler has not taken, no more is received by WebSocket.
const WINDOW: usize = 64 << 10;

/// A call with streams.
pub(crate) struct Exchange {
    method: &'static Method,
    decoding: Limits,
    encoding: Limits,
    /// How this end sends.
    style: Style,
    end: ExchangeEnd,
    state: Mutex<ExchangeState>,
}

/// Which end of the call this is.
#[derive(Clone, Copy, PartialEq)]
enum ExchangeEnd {
    #[cfg(feature = "grpc")]
    Caller,
    Callee,
}

#[derive(Default)]
struct ExchangeState {
    inbox: Inbox,
    /// Bytes of the items in the inbox.
    waiting: usize,
    /// No handle takes what comes.
    ignored: bool,
    /// Messages to be sent.
    out: BytesMut,
    outgoing: Outgoing,
    /// A result comes before the server's items.
    result: bool,
    /// The server's headers are there, or may be sent.
    begun: bool,
    /// Over HTTP/1.1: they have been.
    headed: bool,
    /// Over HTTP/1.1: what is left is sent with the end.
    over: bool,
    /// By WebSocket: the caller has gone, and takes not even the end.
    silent: bool,
    /// The caller has the answer.
    #[cfg(feature = "grpc")]
    answered: bool,
    /// The last message where the server sends one.
    #[cfg(feature = "grpc")]
    last: Option<Bytes>,
    /// How many have come there.
    #[cfg(feature = "grpc")]
    messages: usize,
    driver: Option<Waker>,
}

/// The items that this end sends.
#[derive(Default, PartialEq)]
enum Outgoing {
    #[default]
    Open,
    /// Nothing comes behind what is queued.
    Ending,
    #[cfg(feature = "grpc")]
    Ended,
}

impl ExchangeState {
    fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// Returns whether something can be sent over HTTP/1.1.
    fn has_piece(&self) -> bool {
        !self.over && self.begun && (!self.headed || !self.out.is_empty())
    }

    fn is_full(&self) -> bool {
        self.waiting >= WINDOW && self.inbox.is_open()
    }

    /// Takes all that is to be sent.
    fn take(&mut self) -> Bytes {
        let full = self.out.len() >= ENOUGH;
        let bytes = self.out.split().freeze();
        if full {
            self.inbox.room();
        }
        bytes
    }

    /// The answer to the caller, before any items.
    #[cfg(feature = "grpc")]
    fn answer(&mut self, answer: Result<Body, Status>) {
        self.answered = true;
        self.inbox.answer(answer);
    }
}

/// A piece that can be sent over HTTP/1.1.
pub(crate) struct Piece {
    /// Nothing of the answer has been sent before.
    pub(crate) first: bool,
    pub(crate) bytes: Bytes,
}

/// The state that the handles of a call share; the last of them leaves it.
pub(crate) struct Handle(Arc<Exchange>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Exchange {
    /// At the handler of a call.
    pub(crate) fn at_callee(method: &'static Method, limits: Limits, style: Style) -> Arc<Self> {
        Arc::new(Exchange {
            method,
            decoding: limits,
            encoding: limits,
            style,
            end: ExchangeEnd::Callee,
            state: Mutex::default(),
        })
    }

    pub(crate) fn handle(self: &Arc<Self>) -> Handle {
        Handle(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, ExchangeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The field of a message that an item is: parameters or a result, if there are any, are field
    /// 1 of the first one.
    fn field(&self, state: &ExchangeState, mine: bool) -> i32 {
        let before = match mine == (self.end == ExchangeEnd::Callee) {
            true => state.result,
            false => !self.method.params.is_empty(),
        };
        if before { 2 } else { 1 }
    }

    fn push(&self, state: &mut ExchangeState, message: Bytes) {
        let message = self.style.item(self.method, message);
        state.out.extend_from_slice(&message);
        state.wake_driver();
    }

    /// The server's answer begins, with its result where that comes before the items.
    pub(crate) fn begin(&self, result: Option<Bytes>) {
        let mut state = self.lock();
        state.begun = true;
        state.result = result.is_some();
        match result {
            Some(result) => self.push(&mut state, result),
            None => state.wake_driver(),
        }
    }

    /// Returns the next piece of the answer over HTTP/1.1; `None` where there is none.
    pub(crate) fn piece(&self) -> Option<Piece> {
        let mut state = self.lock();
        if !state.has_piece() {
            return None;
        }
        let first = !std::mem::replace(&mut state.headed, true);
        let bytes = state.take();
        Some(Piece { first, bytes })
    }

    /// Returns the rest before the end of the answer; `None` where it has not begun, and may be
    /// anything.
    pub(crate) fn rest(&self) -> Option<Piece> {
        let mut state = self.lock();
        state.over = true;
        let first = !state.headed;
        let bytes = state.take();
        state.begun.then_some(Piece { first, bytes })
    }

    /// Returns the bytes that can still be sent by WebSocket before the end; `None` where not even
    /// those can be.
    pub(crate) fn last(&self) -> Option<Bytes> {
        let mut state = self.lock();
        state.over = true;
        (!state.silent).then(|| state.take())
    }

    /// Returns whether the end is sent next over HTTP/1.1, or nothing more is.
    pub(crate) fn is_answered(&self) -> bool {
        self.lock().over
    }

    /// The call is over for this reason, and nothing more is said, not even that.
    pub(crate) fn silence(&self, why: &Status) {
        let mut state = self.lock();
        state.silent = true;
        state.over = true;
        drop(state);
        self.fail(why);
    }

    /// Returns whether there is a piece; else the waker is woken when there is.
    #[cfg(feature = "async")]
    pub(crate) fn has_piece(&self, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        state.driver = Some(context.waker().clone());
        state.has_piece()
    }

    /// True once the server's answer has begun.
    #[cfg(feature = "grpc")]
    pub(crate) fn has_begun(&self) -> bool {
        self.lock().begun
    }

    /// Bytes that nobody has taken yet.
    #[cfg(feature = "grpc")]
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Returns whether no more is received by WebSocket.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full()
    }

    /// Returns whether more is received; else the waker is woken when it is.
    pub(crate) fn has_room(&self, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        state.driver = Some(context.waker().clone());
        !state.is_full()
    }

    /// Takes in a message.
    pub(crate) fn arrived(&self, arrived: Plain) {
        let Plain {
            message,
            compressed,
        } = arrived;
        let mut state = self.lock();
        #[cfg(feature = "grpc")]
        if self.end == ExchangeEnd::Caller {
            match self.method.kind.server_streams() {
                false => {
                    state.messages += 1;
                    return state.last = Some(message);
                }
                true if !state.answered => {
                    let reply = self.style.form(Some(self.method)).body(message);
                    return state.answer(Ok(reply));
                }
                true => {}
            }
        }
        if state.ignored {
            return;
        }
        let credit = PREFIX + message.len();
        let (encoding, body) = parameters(self.method, self.style.codec, message);
        let item = Item {
            encoding,
            body: body.into(),
            compressed,
            field: self.field(&state, false),
        };
        state.waiting += credit;
        state.inbox.put(item, credit);
    }

    /// The caller sends no more, or nothing that can be understood.
    pub(crate) fn caller_ends(&self, end: Result<(), Status>) {
        self.lock().inbox.end(end.map(|()| None));
    }

    /// The call is over for this reason, and nothing more is sent or received.
    pub(crate) fn fail(&self, why: &Status) {
        let mut state = self.lock();
        state.inbox.fail(why);
        state.wake_driver();
    }

    /// Returns whether the call was broken off; else the waker is woken when it is.
    pub(super) fn is_over(&self, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        // One that is answered is over, too, but for another reason.
        (!state.over || state.silent) && state.inbox.is_over(context.waker())
    }
}

/// Operations of handles; [`StreamCall`](crate::peer::streams::StreamCall) explains them.
impl Handle {
    pub(crate) fn limits(&self) -> Limits {
        self.0.decoding
    }

    pub(crate) fn leave(&self) {
        let mut state = self.0.lock();
        match self.0.end {
            #[cfg(feature = "grpc")]
            ExchangeEnd::Caller => state.inbox.fail(&given_up()),
            ExchangeEnd::Callee => {
                state.ignored = true;
                state.waiting = 0;
                state.inbox.clear().for_each(drop);
            }
        }
        state.wake_driver();
    }

    pub(crate) fn poll_answer(
        &self,
        context: &Context<'_>,
    ) -> Poll<Result<(Encoding, Bytes), Status>> {
        let answer = self.0.lock().inbox.take_answer(context.waker());
        answer.map_or(Poll::Pending, Poll::Ready)
    }

    pub(crate) fn poll_send<E: Encode>(
        &self,
        item: impl FnOnce(i32) -> E,
        compress: Option<bool>,
        context: &Context<'_>,
    ) -> Poll<Result<(), Unsent>> {
        let mut state = self.0.lock();
        let full = state.out.len() >= ENOUGH;
        if full && state.inbox.wait_to_send(context.waker()) {
            return Poll::Pending;
        }
        if !state.inbox.is_open() {
            return Poll::Ready(Err(Unsent::Over(state.inbox.why_ended())));
        }
        let item = item(self.0.field(&state, true));
        let style = self.0.style;
        let style = Style {
            packs: compress.unwrap_or(style.packs),
            ..style
        };
        let form = style.form(Some(self.0.method));
        let message = form.envelope(&item, self.0.encoding)?;
        self.0.push(&mut state, style.packed(message));
        Poll::Ready(Ok(()))
    }

    pub(crate) fn poll_next(&self, context: &Context<'_>) -> Poll<Next> {
        let mut state = self.0.lock();
        let Some((next, credit)) = state.inbox.next(context.waker()) else {
            return Poll::Pending;
        };
        state.waiting = state.waiting.saturating_sub(credit);
        if credit > 0 {
            state.wake_driver();
        }
        Poll::Ready(next)
    }

    /// A caller sends no more; how a callee ends is said by its answer.
    pub(crate) fn end(&self) {
        let mut state = self.0.lock();
        if state.outgoing == Outgoing::Open && self.0.end != ExchangeEnd::Callee {
            state.outgoing = Outgoing::Ending;
        }
        state.wake_driver();
    }

    pub(crate) fn end_with<E: Exceptions>(&self, _: E) -> Result<(), Unsent> {
        Err(Unsent::Over(no_exceptions()))
    }
}

#[cold]
fn no_exceptions() -> Status {
    let what = "over HTTP the stream of a caller cannot end with an exception";
    Status::new(Code::Unimplemented, what)
}
