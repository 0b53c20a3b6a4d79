//! The arrivals for calls with streams.

use super::ended;
use crate::Status;
use dovetail_protocol::dovetail::{self, Connection, Event};
use dovetail_wire::{Bytes, Encoding};
use std::collections::{HashMap, VecDeque};
use std::task::Waker;

/// An encoded value.
pub(crate) type Body = (Encoding, Bytes);

/// An item as it came.
pub(crate) struct Item {
    pub(crate) encoding: Encoding,
    /// A struct with the item as its only field, and that field's id.
    pub(crate) body: dovetail::Body,
    /// Whether it came compressed.
    pub(crate) compressed: bool,
    pub(crate) field: i32,
}

/// The arrivals for a call with streams, and the wakers of those who wait for them.
#[derive(Default)]
pub(crate) struct Inbox {
    /// The answer, at the caller's end.
    answer: Option<Result<Body, Status>>,
    /// Items with their credit.
    items: VecDeque<(Item, usize)>,
    end: Option<Result<Option<Body>, Status>>,
    /// Why the call was broken off.
    over: Option<Status>,
    /// Waits for the answer, or for an item.
    reader: Option<Waker>,
    /// Waits for credit.
    writer: Option<Waker>,
    /// Runs the handler.
    runner: Option<Waker>,
}

/// The next event on a stream.
pub(crate) enum Next {
    Item(Item),
    /// The end, with the exception of the contract's that it came with.
    End(Result<Option<Body>, Status>),
}

impl Inbox {
    fn wake(&self) {
        for waiter in [&self.reader, &self.writer, &self.runner]
            .into_iter()
            .flatten()
        {
            waiter.wake_by_ref();
        }
    }

    /// An item has come.
    pub(crate) fn put(&mut self, item: Item, credit: usize) {
        self.items.push_back((item, credit));
        self.reader.iter().for_each(Waker::wake_by_ref);
    }

    /// The end of the other end's stream has.
    pub(crate) fn end(&mut self, result: Result<Option<Body>, Status>) {
        self.end.get_or_insert(result);
        self.wake();
    }

    /// The answer has.
    pub(crate) fn answer(&mut self, answer: Result<Body, Status>) {
        self.answer = Some(answer);
        self.wake();
    }

    /// There is room to send.
    pub(crate) fn room(&self) {
        self.writer.iter().for_each(Waker::wake_by_ref);
    }

    /// The call is over for this reason.
    pub(crate) fn fail(&mut self, why: &Status) {
        self.over.get_or_insert_with(|| why.clone());
        self.wake();
    }

    /// Takes the answer, where it has come; who asks is woken when it does.
    pub(crate) fn take_answer(&mut self, waiter: &Waker) -> Option<Result<Body, Status>> {
        let over = || self.over.clone().map(Err);
        let answer = self.answer.take().or_else(over);
        self.reader = answer.is_none().then(|| waiter.clone());
        answer
    }

    /// Takes what comes next on the stream of the other end, and its credit; who asks is woken when
    /// it comes. Of the end of a stream there is no end.
    pub(crate) fn next(&mut self, waiter: &Waker) -> Option<(Next, usize)> {
        self.reader = None;
        if let Some((item, credit)) = self.items.pop_front() {
            return Some((Next::Item(item), credit));
        }
        let end = match (&self.end, &self.over) {
            (Some(end), _) => end.clone(),
            (None, Some(why)) => Err(why.clone()),
            (None, None) => {
                self.reader = Some(waiter.clone());
                return None;
            }
        };
        Some((Next::End(end), 0))
    }

    /// Nobody waits for credit any longer.
    pub(crate) fn has_sent(&mut self) {
        self.writer = None;
    }

    /// Notes who waits for credit. False where none will come.
    pub(crate) fn wait_to_send(&mut self, waiter: &Waker) -> bool {
        let open = self.over.is_none();
        if open {
            self.writer = Some(waiter.clone());
        }
        open
    }

    /// Returns whether the call was broken off; else the waker is woken when it is.
    pub(crate) fn is_over(&mut self, waiter: &Waker) -> bool {
        if self.over.is_none() {
            self.runner = Some(waiter.clone());
        }
        self.over.is_some()
    }

    /// Returns false where the call is over.
    pub(crate) fn is_open(&self) -> bool {
        self.over.is_none()
    }

    /// Why nothing more can be sent.
    pub(crate) fn why_ended(&self) -> Status {
        self.over.clone().unwrap_or_else(ended)
    }

    /// Drops the items that nobody takes, and gives their credit.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = usize> + '_ {
        self.items.drain(..).map(|(_, credit)| credit)
    }
}

/// The arrivals for the calls with streams of a connection.
#[derive(Default)]
pub(crate) struct Inboxes {
    calls: HashMap<u32, Open>,
}

/// A call with streams that somebody still has to do with.
struct Open {
    inbox: Inbox,
    /// Made by this end, and not over.
    counts: bool,
}

impl Inboxes {
    /// A call with streams begins.
    pub(crate) fn open(&mut self, call: u32) {
        let inbox = Inbox::default();
        let open = Open {
            inbox,
            counts: true,
        };
        self.calls.insert(call, open);
    }

    fn get(&mut self, call: u32) -> Option<&mut Inbox> {
        self.calls.get_mut(&call).map(|open| &mut open.inbox)
    }

    /// Notes that a call is over. True where it was not before.
    pub(crate) fn finished(&mut self, call: u32) -> bool {
        let counts = self.calls.get_mut(&call).map(|open| &mut open.counts);
        counts.is_some_and(std::mem::take)
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
            } => match self.get(call) {
                Some(inbox) => {
                    let field = 0;
                    let item = Item {
                        encoding,
                        compressed: body.is_compressed(),
                        body,
                        field,
                    };
                    inbox.put(item, credit);
                }
                None => machine.taken(call, credit),
            },
            Event::End { call, result } => {
                if let Some(inbox) = self.get(call) {
                    inbox.end(result);
                }
            }
            Event::Credit { call: Some(call) } => {
                if let Some(inbox) = self.get(call) {
                    inbox.room();
                }
            }
            Event::Credit { call: None } => {
                self.calls.values().for_each(|open| open.inbox.room());
            }
            Event::Call(_)
            | Event::Reply { .. }
            | Event::Released { .. }
            | Event::Cancelled { .. } => {}
        }
    }

    /// The answer to a call has come.
    pub(crate) fn answer(&mut self, call: u32, answer: Result<Body, Status>) {
        if let Some(inbox) = self.get(call) {
            inbox.answer(answer);
        }
    }

    /// See [`Inbox::take_answer`].
    pub(crate) fn take_answer(
        &mut self,
        call: u32,
        waiter: &Waker,
    ) -> Option<Result<Body, Status>> {
        match self.get(call) {
            Some(inbox) => inbox.take_answer(waiter),
            None => Some(Err(ended())),
        }
    }

    /// See [`Inbox::next`].
    pub(crate) fn next(
        &mut self,
        call: u32,
        machine: &mut Connection,
        waiter: &Waker,
    ) -> Option<Next> {
        let Some(inbox) = self.get(call) else {
            return Some(Next::End(Err(ended())));
        };
        let (next, credit) = inbox.next(waiter)?;
        if let Next::Item(_) = next {
            machine.taken(call, credit);
        }
        Some(next)
    }

    /// See [`Inbox::has_sent`].
    pub(crate) fn has_sent(&mut self, call: u32) {
        if let Some(inbox) = self.get(call) {
            inbox.has_sent();
        }
    }

    /// See [`Inbox::wait_to_send`].
    pub(crate) fn wait_to_send(&mut self, call: u32, waiter: &Waker) -> bool {
        self.get(call)
            .is_some_and(|inbox| inbox.wait_to_send(waiter))
    }

    /// See [`Inbox::is_over`].
    pub(crate) fn is_over(&mut self, call: u32, waiter: &Waker) -> bool {
        self.get(call).is_none_or(|inbox| inbox.is_over(waiter))
    }

    /// See [`Inbox::why_ended`].
    pub(crate) fn why_ended(&self, call: u32) -> Status {
        let open = self.calls.get(&call);
        open.map_or_else(ended, |open| open.inbox.why_ended())
    }

    /// See [`Inbox::fail`].
    pub(crate) fn fail(&mut self, call: u32, why: &Status) {
        if let Some(inbox) = self.get(call) {
            inbox.fail(why);
        }
    }

    /// All calls are over.
    pub(crate) fn fail_all(&mut self, why: &Status) {
        for open in self.calls.values_mut() {
            open.counts = false;
            open.inbox.fail(why);
        }
    }

    /// Nobody takes what has arrived, or will: what is there goes back.
    pub(crate) fn ignore(&mut self, call: u32, machine: &mut Connection) {
        let inbox = self.get(call);
        for credit in inbox.into_iter().flat_map(Inbox::clear) {
            machine.taken(call, credit);
        }
        machine.ignore(call);
    }

    /// Nobody has to do with this call any longer.
    pub(crate) fn close(&mut self, call: u32, machine: &mut Connection) {
        self.ignore(call, machine);
        self.calls.remove(&call);
    }

    /// Those who wait for something.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Waker> {
        let inboxes = self.calls.values();
        inboxes
            .flat_map(|open| [&open.inbox.reader, &open.inbox.writer])
            .flatten()
    }
}
