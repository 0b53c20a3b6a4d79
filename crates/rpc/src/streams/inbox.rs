//! What has arrived for calls with streams.

use super::ended;
use crate::Status;
use dovetail_protocol::dovetail::{self, Connection, Event};
use dovetail_wire::{Bytes, Encoding};
use std::collections::{HashMap, VecDeque};
use std::task::Waker;

/// Wakes somebody who waits.
pub(crate) trait Wake: Clone {
    fn wake(&self);
}

impl Wake for Waker {
    fn wake(&self) {
        self.wake_by_ref();
    }
}

/// An encoded value.
pub(crate) type Body = (Encoding, Bytes);

/// An item as it came.
pub(crate) type Item = (Encoding, dovetail::Body);

/// What has arrived for the calls with streams of a connection, and who waits for it.
pub(crate) struct Inboxes<W> {
    calls: HashMap<u32, Inbox<W>>,
}

struct Inbox<W> {
    /// The answer, at the caller's end.
    answer: Option<Result<Body, Status>>,
    /// Items with their credit.
    items: VecDeque<(Item, usize)>,
    end: Option<Result<Option<Body>, Status>>,
    /// A call of this end's that is not over.
    open: bool,
    /// Why the call was broken off.
    over: Option<Status>,
    /// Waits for the answer, or for an item.
    reader: Option<W>,
    /// Waits for credit.
    writer: Option<W>,
    /// Runs the handler.
    runner: Option<W>,
}

/// What comes next on a stream.
pub(crate) enum Next {
    Item(Item),
    /// The end, with the exception of the contract's that it came with.
    End(Result<Option<Body>, Status>),
}

impl<W> Default for Inboxes<W> {
    fn default() -> Self {
        Inboxes {
            calls: HashMap::new(),
        }
    }
}

impl<W: Wake> Inbox<W> {
    fn wake(&self) {
        for waiter in [&self.reader, &self.writer, &self.runner]
            .into_iter()
            .flatten()
        {
            waiter.wake();
        }
    }
}

impl<W: Wake> Inboxes<W> {
    /// A call with streams begins.
    pub(crate) fn open(&mut self, call: u32) {
        let inbox = Inbox {
            answer: None,
            items: VecDeque::new(),
            end: None,
            open: true,
            over: None,
            reader: None,
            writer: None,
            runner: None,
        };
        self.calls.insert(call, inbox);
    }

    /// Notes that a call is over. True where it was not before.
    pub(crate) fn finished(&mut self, call: u32) -> bool {
        let open = self.calls.get_mut(&call).map(|inbox| &mut inbox.open);
        open.is_some_and(std::mem::take)
    }

    /// True for a call with streams that somebody still has to do with.
    pub(crate) fn has(&self, call: u32) -> bool {
        self.calls.contains_key(&call)
    }

    /// Takes in what has arrived on a stream; what is for nobody goes back.
    pub(crate) fn take_in(&mut self, event: Event, machine: &mut Connection) {
        match event {
            Event::Item {
                call,
                encoding,
                body,
                credit,
            } => match self.calls.get_mut(&call) {
                Some(inbox) => {
                    inbox.items.push_back(((encoding, body), credit));
                    inbox.reader.iter().for_each(W::wake);
                }
                None => machine.taken(call, credit),
            },
            Event::End { call, result } => {
                if let Some(inbox) = self.calls.get_mut(&call) {
                    inbox.end.get_or_insert(result);
                    inbox.wake();
                }
            }
            Event::Credit { call: Some(call) } => {
                let inbox = self.calls.get(&call);
                inbox.and_then(|inbox| inbox.writer.as_ref()).map(W::wake);
            }
            Event::Credit { call: None } => {
                let writers = self
                    .calls
                    .values()
                    .filter_map(|inbox| inbox.writer.as_ref());
                writers.for_each(W::wake);
            }
            Event::Call(_)
            | Event::Reply { .. }
            | Event::Released { .. }
            | Event::Cancelled { .. } => {}
        }
    }

    /// The answer to a call has come.
    pub(crate) fn answer(&mut self, call: u32, answer: Result<Body, Status>) {
        if let Some(inbox) = self.calls.get_mut(&call) {
            inbox.answer = Some(answer);
            inbox.wake();
        }
    }

    /// Takes the answer, where it has come; who asks is woken when it does.
    pub(crate) fn take_answer(&mut self, call: u32, waiter: &W) -> Option<Result<Body, Status>> {
        let Some(inbox) = self.calls.get_mut(&call) else {
            return Some(Err(ended()));
        };
        let answer = inbox.answer.take();
        match answer {
            Some(answer) => Some(answer),
            None => match &inbox.over {
                Some(why) => Some(Err(why.clone())),
                None => {
                    inbox.reader = Some(waiter.clone());
                    None
                }
            },
        }
    }

    /// Takes what comes next on the stream of the other end; who asks is woken when it comes. Of the end of
    /// a stream there is no end.
    pub(crate) fn next(&mut self, call: u32, machine: &mut Connection, waiter: &W) -> Option<Next> {
        let Some(inbox) = self.calls.get_mut(&call) else {
            return Some(Next::End(Err(ended())));
        };
        if let Some((body, credit)) = inbox.items.pop_front() {
            machine.taken(call, credit);
            return Some(Next::Item(body));
        }
        match (&inbox.end, &inbox.over) {
            (Some(end), _) => Some(Next::End(end.clone())),
            (None, Some(why)) => Some(Next::End(Err(why.clone()))),
            (None, None) => {
                inbox.reader = Some(waiter.clone());
                None
            }
        }
    }

    /// Notes who waits for credit. False where none will come.
    pub(crate) fn wait_to_send(&mut self, call: u32, waiter: &W) -> bool {
        match self.calls.get_mut(&call) {
            Some(inbox) if inbox.over.is_none() => {
                inbox.writer = Some(waiter.clone());
                true
            }
            _ => false,
        }
    }

    /// True where a call was broken off; else who asks is woken when it is.
    pub(crate) fn is_over(&mut self, call: u32, waiter: &W) -> bool {
        match self.calls.get_mut(&call) {
            Some(inbox) if inbox.over.is_none() => {
                inbox.runner = Some(waiter.clone());
                false
            }
            _ => true,
        }
    }

    /// Why nothing more can be sent.
    pub(crate) fn why_ended(&self, call: u32) -> Status {
        let over = self.calls.get(&call).and_then(|inbox| inbox.over.clone());
        over.unwrap_or_else(ended)
    }

    /// The call is over for this reason.
    pub(crate) fn fail(&mut self, call: u32, why: &Status) {
        if let Some(inbox) = self.calls.get_mut(&call) {
            inbox.over.get_or_insert_with(|| why.clone());
            inbox.wake();
        }
    }

    /// All calls are.
    pub(crate) fn fail_all(&mut self, why: &Status) {
        for inbox in self.calls.values_mut() {
            inbox.open = false;
            inbox.over.get_or_insert_with(|| why.clone());
            inbox.wake();
        }
    }

    /// Nobody takes what has arrived, or will: what is there goes back.
    pub(crate) fn ignore(&mut self, call: u32, machine: &mut Connection) {
        let items = self.calls.get_mut(&call).map(|inbox| &mut inbox.items);
        for (_, credit) in items.into_iter().flat_map(|items| items.drain(..)) {
            machine.taken(call, credit);
        }
        machine.ignore(call);
    }

    /// Nobody has to do with this call any longer.
    pub(crate) fn close(&mut self, call: u32, machine: &mut Connection) {
        self.ignore(call, machine);
        self.calls.remove(&call);
    }

    /// Wakes somebody who waits.
    pub(crate) fn wake_any(&self) {
        let mut waiting = self
            .calls
            .values()
            .flat_map(|inbox| [&inbox.reader, &inbox.writer])
            .flatten();
        if let Some(waiter) = waiting.next() {
            waiter.wake();
        }
    }
}
