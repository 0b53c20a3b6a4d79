use super::format::{CapturedCall, CapturedHeader, CapturedItem, encoded};
use super::queue::{Form, Queue};
use crate::peer::intercept::{CallEnd, CallHead, Direction, Outcome};
use crate::peer::record::{Kept, Record, Recorded as Value};
use crate::sessions::HEADER;
use crate::{Context, clock};
use dovetail_wire::description::{Masks, Part};
use dovetail_wire::{Bytes, Encoding, Limits};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The most bytes of a call. Of a call with more, further items are missing.
const MOST: usize = 8 << 20;

/// Bytes that a call takes beside its messages.
const OVERHEAD: usize = 256;

/// The parameters of a call of which there are none yet.
const NOT_DECODED: &str = "the parameters: they were not decoded";

/// Headers by which a caller shows who it is. Only their names are kept.
const CREDENTIALS: [&str; 5] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    HEADER,
];

/// A call that is captured, while it runs.
pub(crate) struct Recording {
    queue: Arc<Queue>,
    /// The sensitive fields of the method's messages.
    masks: Option<Arc<Masks>>,
    /// In JSON the one parameter and the result have no object around them.
    bare: bool,
    number: u64,
    began: Instant,
    call: Mutex<Recorded>,
}

/// The part of a call that has happened.
#[derive(Default)]
struct Recorded {
    call: CapturedCall,
    size: usize,
    /// It has been handed over: at the end of the call, or at that of the capture.
    over: bool,
}

impl Recording {
    pub(super) fn begin(queue: &Arc<Queue>, number: u64, head: &CallHead<'_>) -> Self {
        let began = clock::now();
        let context = head.context();
        let headers = head.headers().map(|(name, value)| CapturedHeader {
            name: name.to_owned(),
            value: match CREDENTIALS
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
            {
                true => Bytes::from_static("…".as_bytes()),
                false => Bytes::copy_from_slice(value),
            },
        });
        let principal = head
            .principal()
            .map(|principal| principal.name().to_owned());
        let deadline = head
            .deadline()
            .map(|at| micros(at.saturating_duration_since(began)));
        let trace = context.trace();
        let call = CapturedCall {
            began: micros(began.saturating_duration_since(queue.began())),
            service: head.service().full_name().into_owned(),
            method: head.method().name.to_owned(),
            wire: head.wire().to_string(),
            peer: head.peer().to_owned(),
            principal: principal.unwrap_or_default(),
            headers: headers.collect(),
            deadline,
            trace: trace.map_or_else(String::new, |trace| format!("{:032x}", trace.trace_id())),
            missing: NOT_DECODED.to_owned(),
            ..CapturedCall::default()
        };
        let headers = call
            .headers
            .iter()
            .map(|header| header.name.len() + header.value.len());
        let size = OVERHEAD + headers.sum::<usize>();
        Recording {
            masks: queue.masks(head.method()),
            bare: head.method().messages,
            queue: queue.clone(),
            number,
            began,
            call: Mutex::new(Recorded {
                call,
                size,
                over: false,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes a message without its sensitive values.
    fn encode(&self, part: Part, message: &dyn Value) -> Kept {
        match (self.queue.form(), &self.masks) {
            (Form::Text, _) => {
                let is_item = matches!(part, Part::ClientStream | Part::ServerStream);
                message.json(self.bare || is_item)
            }
            (Form::File, None) => message.tagged(),
            (Form::File, Some(masks)) => {
                let mut hidden = masks.hide(part);
                let message = message.tagged()?;
                let read = Encoding::Tagged.decode(&mut hidden, &message, Limits::default());
                read.map_err(|error| format!("its sensitive fields cannot be hidden: {error}"))?;
                hidden.tagged()
            }
        }
    }

    /// The capture ends before the call.
    pub(super) fn cut(&self) {
        let mut recorded = self.lock();
        recorded.call.elapsed = micros(self.began.elapsed());
        if let Some((call, times)) = recorded.hand_over() {
            drop(recorded);
            self.queue.push_cut(&call, times);
        }
    }
}

impl Record for Recording {
    fn parameters(&self, parameters: &dyn Value) {
        let parameters = self.encode(Part::Parameters, parameters);
        let mut recorded = self.lock();
        recorded.call.missing.clear();
        if let Some(parameters) = recorded.keep("the parameters", parameters) {
            recorded.call.parameters = parameters;
        }
    }

    fn item(&self, direction: Direction, item: &dyn Value) {
        let at = micros(self.began.elapsed());
        let item = match direction {
            Direction::Sent => self.encode(Part::ServerStream, item),
            Direction::Received => self.encode(Part::ClientStream, item),
        };
        let mut recorded = self.lock();
        if let Some(item) = recorded.keep("an item", item) {
            let sent = direction == Direction::Sent;
            recorded.call.items.push(CapturedItem { at, sent, item });
        }
    }

    fn reply(&self, reply: &dyn Value) {
        let reply = self.encode(Part::Reply, reply);
        let mut recorded = self.lock();
        if let Some(reply) = recorded.keep("the result", reply) {
            recorded.call.reply = reply;
        }
    }

    fn thrown(&self, exception: &dyn Value) {
        let exception = self.encode(Part::ServerStream, exception);
        let mut recorded = self.lock();
        if let Some(thrown) = recorded.keep("the exception of the stream", exception) {
            recorded.call.thrown = thrown;
        }
    }

    fn end(&self, context: &Context, end: &CallEnd<'_>) {
        self.queue.closed(self.number);
        let filter = self.queue.filter();
        if !filter.ends(end) {
            return;
        }
        let mut recorded = self.lock();
        if let Outcome::Failed(status) = end.outcome() {
            recorded.call.message = status.message().to_owned();
        }
        recorded.call.code = end.outcome().name().to_owned();
        recorded.call.elapsed = micros(end.elapsed());
        if recorded.call.trace.is_empty() {
            let trace = context
                .trace()
                .map(|trace| format!("{:032x}", trace.trace_id()));
            recorded.call.trace = trace.unwrap_or_default();
        }
        if let Some((call, times)) = recorded.hand_over() {
            drop(recorded);
            self.queue.push(&call, times);
        }
    }
}

impl Recorded {
    /// Returns the encoded call with the times of its beginning and its end, once.
    fn hand_over(&mut self) -> Option<(Vec<u8>, (i64, i64))> {
        if std::mem::replace(&mut self.over, true) {
            return None;
        }
        let call = std::mem::take(&mut self.call);
        Some((encoded(&call), (call.began, call.began + call.elapsed)))
    }

    /// Returns the bytes, unless the call is over, or they cannot be kept, which is noted.
    fn keep(&mut self, what: &str, bytes: Kept) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let bytes = bytes.and_then(|bytes| match self.size + bytes.len() <= MOST {
            true => Ok(bytes),
            false => Err("the call has more than 8 MiB".to_owned()),
        });
        match bytes {
            Ok(bytes) => {
                self.size += bytes.len() + size_of::<CapturedItem>();
                Some(bytes)
            }
            Err(why) => {
                if self.call.missing.is_empty() {
                    self.call.missing = format!("{what}: {why}");
                }
                None
            }
        }
    }
}

pub(super) fn micros(time: std::time::Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
