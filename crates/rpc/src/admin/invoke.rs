//! Calls that administrators make with JSON.
//!
//! ```text
//!   invoke ──► Connect's protocol for streams ──► a connection in memory ──► the server, as any call
//! ```
//!
//! So authentication, permissions, quotas and limits of the server hold for them, too.

use crate::method::path;
use crate::transport::{Stream as Connection, Wait};
use crate::{Code, Status};
use bytes::BytesMut;
use dovetail_protocol::connect::{END, end, read_failure};
use dovetail_protocol::envelope::{Assembler, PREFIX, prefix};
use dovetail_protocol::metadata::encode_value;
use dovetail_wire::{Bytes, message};
use futures_core::Stream;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// Calls at the same time. Each has a thread at either end.
const MAX: usize = 16;

/// Messages of an answer that wait for the administrator.
const WAITING: usize = 64;

/// Bytes of the largest message of an answer.
const MAX_MESSAGE: usize = 16 << 20;

/// Bytes of the longest head of an answer, and of the longest text of a refusal.
const MAX_HEAD: usize = 64 << 10;

/// The time of a call that names none, in milliseconds.
const TIMEOUT: i64 = 30_000;

/// The longest time, in milliseconds: an hour.
const MAX_TIMEOUT: i64 = 3_600_000;

/// The time that the server has to say so itself when the time of a call is over: threads do not.
const GRACE: Duration = Duration::from_millis(100);

/// Bytes that are received at once.
const PIECE: usize = 16 << 10;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Invocation {
    pub(super) service: String,
    pub(super) method: String,
    messages: Vec<String>,
    headers: Vec<InvocationHeader>,
    timeout: Option<i64>,
}

message!(Invocation {
    /// The service with its package; empty for functions.
    1 service: String,
    2 method: String,
    /// The messages of the caller in JSON, as the protocol of Connect has them: the parameters as
    /// an object, or the message of a contract of protobuf's; for a stream `{"params": …}` where
    /// the method has parameters, then `{"item": …}` for each item.
    3 messages: Vec<String>,
    4 headers: Vec<InvocationHeader>,
    /// The time that the call has, in milliseconds; by default 30,000.
    5 timeout as "timeout_ms": Option<i64>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct InvocationHeader {
    name: String,
    value: String,
}

message!(InvocationHeader {
    1 name: String,
    2 value: String,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct InvocationMessage {
    at: i64,
    message: String,
    last: bool,
}

message!(InvocationMessage {
    /// When it came, in microseconds after the beginning of the call.
    1 at as "at_us": i64,
    /// The message in JSON: `{"result": …}`, `{"item": …}`, or the message of a contract of
    /// protobuf's. The last one has `error`, if the call has failed, and `metadata`.
    2 message: String,
    3 last: bool,
});

/// The number of calls that run.
#[derive(Clone, Default)]
pub(super) struct Invocations(Arc<AtomicUsize>);

/// One of them, as long as this exists.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Invocations {
    fn enter(&self) -> Result<Place, Status> {
        let place = Place(self.0.clone());
        match self.0.fetch_add(1, Ordering::Relaxed) < MAX {
            true => Ok(place),
            false => {
                let what = format!("administrators make {MAX} calls already: wait for one to end");
                Err(Status::new(Code::ResourceExhausted, what))
            }
        }
    }

    /// Makes a call over this connection. Returns the messages of the answer.
    pub(super) fn start(
        &self,
        invocation: &Invocation,
        connection: Arc<dyn Connection>,
    ) -> Result<Answer, Status> {
        let place = self.enter()?;
        let request = invocation.request()?;
        let (sender, receiver) = sync_channel(WAITING);
        let awaited = Awaited::default();
        let answer = Answer {
            receiver,
            awaited: awaited.clone(),
            connection: connection.clone(),
        };
        let began = Instant::now();
        let exchange = Exchange {
            connection,
            began,
            deadline: began + invocation.time() + GRACE,
            messages: Messages {
                sender: Some(sender),
                awaited,
            },
        };
        let run = move || {
            exchange.run(&request);
            drop(place);
        };
        let thread = thread::Builder::new().name("dovetail invoke".to_owned());
        match thread.spawn(run) {
            Ok(_) => Ok(answer),
            Err(error) => {
                let what = format!("the thread of the call cannot be started: {error}");
                Err(Status::new(Code::ResourceExhausted, what))
            }
        }
    }
}

impl Invocation {
    fn time(&self) -> Duration {
        let asked = self.timeout.unwrap_or(TIMEOUT);
        Duration::from_millis(asked.clamp(1, MAX_TIMEOUT).unsigned_abs())
    }

    /// Returns the request as HTTP/1.1 has it. The answer goes up to the end of the connection.
    fn request(&self) -> Result<Vec<u8>, Status> {
        let path = path(&self.service, &self.method);
        if path.is_empty() || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(invalid(format!("{path:?} is no path of a method")));
        }
        let mut body = Vec::new();
        for message in &self.messages {
            let prefix = prefix(message.len());
            body.extend(prefix.ok_or_else(|| invalid("a message of more than 4 GiB"))?);
            body.extend_from_slice(message.as_bytes());
        }
        let mut head = format!(
            "POST /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/connect+json\r\n\
             Connect-Protocol-Version: 1\r\nConnect-Timeout-Ms: {}\r\nContent-Length: {}\r\n",
            self.time().as_millis(),
            body.len()
        );
        for header in &self.headers {
            let encoded = encode_value(&header.name, header.value.as_bytes());
            let (name, value) = encoded.map_err(|error| invalid(error.to_string()))?;
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut request = head.into_bytes();
        request.append(&mut body);
        Ok(request)
    }
}

#[cold]
fn invalid(what: impl Into<String>) -> Status {
    Status::new(Code::InvalidArgument, what.into())
}

/// The waker of the task that waits for messages.
#[derive(Clone, Default)]
struct Awaited(Arc<Mutex<Option<Waker>>>);

impl Awaited {
    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let waker = self.lock().take();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The messages of an answer. The call is cancelled when this is dropped.
pub(super) struct Answer {
    receiver: Receiver<InvocationMessage>,
    awaited: Awaited,
    connection: Arc<dyn Connection>,
}

impl Stream for Answer {
    type Item = Result<InvocationMessage, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A message that comes after the look finds the waker.
        *self.awaited.lock() = Some(context.waker().clone());
        match self.receiver.try_recv() {
            Ok(message) => Poll::Ready(Some(Ok(message))),
            Err(TryRecvError::Disconnected) => Poll::Ready(None),
            Err(TryRecvError::Empty) => Poll::Pending,
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.connection.shutdown();
    }
}

/// The way of messages to the administrator.
struct Messages {
    /// There until this is dropped.
    sender: Option<SyncSender<InvocationMessage>>,
    awaited: Awaited,
}

impl Messages {
    /// Waits for room. Returns false if nobody takes messages any longer.
    fn send(&self, message: InvocationMessage) -> bool {
        let sender = self.sender.as_ref();
        let taken = sender.is_some_and(|sender| sender.send(message).is_ok());
        self.awaited.wake();
        taken
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        // The woken task looks whether the sender has gone.
        self.sender = None;
        self.awaited.wake();
    }
}

/// A call, in its thread.
struct Exchange {
    connection: Arc<dyn Connection>,
    began: Instant,
    deadline: Instant,
    messages: Messages,
}

impl Exchange {
    fn run(self, request: &[u8]) {
        if let Err(why) = self.exchange(request) {
            let end = end(Some(&why.into()), None, &[]);
            self.pass_on(end.get(PREFIX..).unwrap_or_default(), true);
        }
        self.connection.shutdown();
    }

    /// Passes a message on. Returns false if nobody takes it.
    fn pass_on(&self, message: &[u8], last: bool) -> bool {
        self.messages.send(InvocationMessage {
            at: i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX),
            message: String::from_utf8_lossy(message).into_owned(),
            last,
        })
    }

    fn exchange(&self, request: &[u8]) -> Result<(), Status> {
        // A server that refuses a request need not read it: its answer says why.
        let _ = self.connection.send_all(request, Some(self.deadline));
        let mut input = BytesMut::new();
        let (status, head) = loop {
            if let Some(found) = head(&input) {
                break found;
            }
            if input.len() > MAX_HEAD || !self.receive(&mut input)? {
                return Err(cut());
            }
        };
        let mut rest = input.split_off(head);
        if status != 200 {
            while rest.len() < MAX_HEAD && self.receive(&mut rest)? {}
            let header = |name| (name == "content-type").then_some(&b"application/json"[..]);
            return Err(read_failure(status, header, &rest).status);
        }
        self.answer(rest)
    }

    /// Passes the messages of the answer on.
    fn answer(&self, mut input: BytesMut) -> Result<(), Status> {
        let mut assembler = Assembler::new(MAX_MESSAGE).ending_with(END);
        loop {
            let mut piece: Bytes = input.split().freeze();
            while let Some(frame) = assembler.take(&mut piece)? {
                if !self.pass_on(&frame.message, frame.end) || frame.end {
                    return Ok(());
                }
            }
            if !self.receive(&mut input)? {
                return Err(cut());
            }
        }
    }

    /// Receives what comes next. Returns false at the end of the connection.
    fn receive(&self, input: &mut BytesMut) -> Result<bool, Status> {
        let wait = Wait::Until(Some(self.deadline));
        match self.connection.recv_behind(input, PIECE, wait) {
            Ok(received) => Ok(received > 0),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let what = "the server has not answered in time";
                Err(Status::new(Code::DeadlineExceeded, what))
            }
            Err(error) => Err(Status::new(Code::Unavailable, error.to_string())),
        }
    }
}

/// Returns the status of an answer and the length of its head, once it is there.
fn head(input: &[u8]) -> Option<(u16, usize)> {
    let end = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let first = input.split(|byte| *byte == b'\r').next()?;
    let status = std::str::from_utf8(first).ok()?.split(' ').nth(1)?;
    Some((status.parse().ok()?, end))
}

#[cold]
fn cut() -> Status {
    Status::new(Code::Unavailable, "the server has ended the connection")
}
