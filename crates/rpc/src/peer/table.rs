//! The calls of one connection that wait for their replies, whoever made the connection.

use super::answer::Answered;
use super::capnp;
use super::failures::crowded;
use super::local_upgrade::LocalUpgrade;
use super::machine::{Arrival, Called, Caps, Fault, Machine, Reply};
use super::options::{MAX_CALLS, PeerOptions};
use super::outgoing::{Outgoing, Queued};
use super::waiting::{Entry, IdHasher, Waiter};
use super::wake_list::WakeList;
use crate::peer::objects::{
    Collected, ObjectDirectory, Objects, ReceivedCaps, RemoteState, Transfer,
};
use crate::peer::streams::{Inboxes, Next, ended, given_up};
use crate::{Address, Code, Status, Wire};
use bytes::BytesMut;
use dovetail_protocol::dovetail::{Connection, Owner, owner};
use dovetail_protocol::{Execution, msgpack_rpc};
use dovetail_wire::{Encode, Limits, ObjectNumbers};
use std::collections::{HashMap, hash_map};
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::task::Waker;

/// Keeps each reply for the waiter of its call.
pub(crate) struct Table {
    machine: Machine,
    /// Encoded calls that no one has begun to send.
    pub(crate) out: Vec<u8>,
    /// How often `out` was taken to be sent.
    taken: u64,
    calls: HashMap<u64, Entry, BuildHasherDefault<IdHasher>>,
    pub(crate) streams: Inboxes,
    pub(crate) objects: Arc<Objects>,
    /// The objects that calls without an answer have passed.
    passed: HashMap<u64, Arc<Transfer>>,
    /// Those whose replies have come, until the table is no longer locked.
    pub(crate) wake_list: WakeList,
    limits: Limits,
    /// Those without a reply.
    open: usize,
    most: usize,
    /// Why the connection is no longer used.
    broken: Option<Status>,
    /// The server has refused a call, because it goes down.
    refused: bool,
    upgrade: LocalUpgrade,
}

/// Whether calls are made on a connection.
pub(crate) enum Usable {
    /// It takes no further call.
    No,
    Yes,
    /// Yes, and there is another way to the same server; said once.
    Moves(Address),
}

impl Table {
    /// Makes the table of a connection that this end makes. It may move to shared memory where it
    /// has these ports of TCP.
    pub(crate) fn new(options: &PeerOptions, ports: Option<(u16, u16)>) -> Self {
        let objects = Objects::new(options.client.limits.objects);
        let machine = Machine::new(options);
        Table {
            upgrade: LocalUpgrade::new(options.may_move, ports),
            ..Self::with_machine(machine, objects, options.decoding, options.calls)
        }
    }

    /// Whether it takes a further call, and, once, where to go on from now.
    pub(crate) fn usable(&mut self) -> Usable {
        // While calls are open, the connection stays for them alone.
        match self.broken() || self.closing() {
            true => Usable::No,
            false => self.begin_to_move().map_or(Usable::Yes, Usable::Moves),
        }
    }

    fn begin_to_move(&mut self) -> Option<Address> {
        match self.upgrade {
            LocalUpgrade::Unknown(..) => {
                let said = self
                    .machine
                    .native()
                    .and_then(|machine| machine.meeting_point());
                self.upgrade.begin(said)
            }
            _ => None,
        }
    }

    /// Returns whether another connection takes the place of this one.
    pub(crate) fn give_way(&mut self) -> bool {
        self.upgrade.give_way()
    }

    /// A connection that this end has accepted.
    pub(crate) fn accepted(
        machine: impl Into<Machine>,
        objects: Arc<Objects>,
        limits: Limits,
    ) -> Self {
        Self::with_machine(machine.into(), objects, limits, MAX_CALLS)
    }

    /// Returns the wire of the connection.
    pub(crate) fn wire(&self) -> Wire {
        self.machine.wire()
    }

    fn with_machine(machine: Machine, objects: Arc<Objects>, limits: Limits, most: usize) -> Self {
        Table {
            machine,
            out: Vec::new(),
            taken: 0,
            calls: HashMap::default(),
            streams: Inboxes::default(),
            objects,
            passed: HashMap::new(),
            wake_list: WakeList::default(),
            limits,
            open: 0,
            most,
            broken: None,
            refused: false,
            upgrade: LocalUpgrade::Off,
        }
    }

    /// Queues a call; `waiter` makes who is woken by its reply. `None` where the call has to wait
    /// for its [`turn`](Self::turn).
    pub(crate) fn call(
        &mut self,
        call: &Outgoing<'_, impl Encode>,
        waiter: impl FnOnce() -> Waker,
    ) -> Result<Option<Queued>, Status> {
        if let Some(why) = &self.broken {
            return Err(why.clone().with_execution(Execution::NotSent));
        }
        if self.closing() {
            let why = "the server takes no further call on this connection";
            return Err(Status::new(Code::Unavailable, why).with_execution(Execution::NotSent));
        }
        if !self.turn() {
            return Ok(None);
        }
        if self.open >= self.most {
            return Err(crowded(self.most));
        }
        let streams = call.method.is_some_and(|method| method.kind.streams());
        let passes = call.method.filter(|method| method.objects);
        if (call.oneway || passes.is_some()) && !self.upgrade.stay() {
            let why = "the connection has moved to shared memory";
            return Err(Status::new(Code::Unavailable, why).with_execution(Execution::NotSent));
        }
        let target = call
            .object
            .map(|object| object.remote.target())
            .transpose()?;
        let transfer = passes.map(|_| Arc::new(Transfer::new(self.objects.clone(), None)));
        let number = self
            .machine
            .call(call, target, transfer.clone(), &mut self.out);
        let number = number.map_err(|error| {
            let failed = transfer.as_ref().and_then(|transfer| transfer.failure());
            failed.unwrap_or(error)
        })?;
        if let Some(number) = number {
            self.open += 1;
            if streams {
                self.streams.open(number as u32);
                return Ok(Some(Queued(Some(number))));
            }
            if let Some(transfer) = transfer.filter(|transfer| transfer.exports()) {
                self.passed.insert(number, transfer);
            }
            let entry = Entry {
                waiter: match call.promise {
                    None => Waiter::Caller(waiter()),
                    Some(slot) => {
                        *slot.lock() = RemoteState::Promised(number as u32);
                        Waiter::Promise(slot.clone())
                    }
                },
                queued: self.taken,
                reply: None,
                name: call.method.map_or("", |method| method.name),
                read: call.read.filter(|_| passes.is_some()),
            };
            self.calls.insert(number, entry);
        }
        Ok(Some(Queued(number)))
    }

    /// Returns false where a call has to wait until another one is answered; see
    /// [`Machine::exclusive`].
    pub(crate) fn turn(&self) -> bool {
        self.broken.is_some() || self.closing() || !self.machine.exclusive()
    }

    /// Takes what has arrived, and wakes those who wait for it. Gives what the other end calls.
    pub(crate) fn receive(
        &mut self,
        input: &mut BytesMut,
        directory: &ObjectDirectory<'_>,
    ) -> (Vec<Called>, Result<(), Fault>) {
        let mut all = Vec::new();
        let received = loop {
            match self.advance(input, directory) {
                Ok(Some(called)) => all.push(called),
                Ok(None) => break Ok(()),
                Err(fault) => break Err(fault),
            }
        };
        self.transmit();
        (all, received)
    }

    /// Takes in arrivals up to the next call of the other end's.
    pub(crate) fn advance(
        &mut self,
        input: &mut BytesMut,
        directory: &ObjectDirectory<'_>,
    ) -> Result<Option<Called>, Fault> {
        loop {
            match self.machine.receive(input, directory)? {
                None => return Ok(None),
                Some(Arrival::Called(called)) => {
                    match &called {
                        Called::Call(call) if call.kind.streams() => {
                            self.streams.open(call.reply.call());
                        }
                        Called::Call(_) | Called::Named(_) | Called::Placed(_) => {}
                        Called::Cancelled(call) => self.streams.fail(*call, &ended()),
                    }
                    return Ok(Some(called));
                }
                Some(arrival) => self.take_in(arrival)?,
            }
        }
    }

    /// Takes in what the machine has kept back until now, without receiving anything.
    pub(crate) fn ready(&mut self, directory: &ObjectDirectory<'_>) -> Option<Called> {
        loop {
            let arrival = self.machine.ready(directory)?;
            match arrival {
                Arrival::Called(called) => return Some(called),
                // Nothing that was kept back can be wrong.
                arrival => drop(self.take_in(arrival)),
            }
        }
    }

    /// Takes what is queued, to be sent, and leaves an empty buffer.
    pub(crate) fn take_out(&mut self, empty: Vec<u8>) -> Vec<u8> {
        self.taken += 1;
        std::mem::replace(&mut self.out, empty)
    }

    /// Moves the queue behind the bytes that a driver has to send already.
    pub(crate) fn move_out(&mut self, to: &mut Vec<u8>) {
        self.taken += 1;
        to.append(&mut self.out);
    }

    /// The peer has closed the connection, which can be the end of a reply.
    pub(crate) fn end(&mut self, input: &mut BytesMut) -> Result<(), Fault> {
        if let Some(reply) = self.machine.end(input)? {
            self.deliver(reply);
        }
        Ok(())
    }

    fn take_in(&mut self, arrival: Arrival) -> Result<(), Fault> {
        let call = match arrival {
            Arrival::Reply(reply) if !self.streams.has(reply.call as u32) => {
                self.deliver(reply);
                return Ok(());
            }
            Arrival::Released { object, count } => return self.released(object, count),
            Arrival::Reply(reply) => {
                self.streams.answer(reply.call as u32, reply.result);
                Some(reply.call as u32)
            }
            Arrival::Stream { call, event } => {
                if let Some(machine) = self.machine.native() {
                    self.streams.take_in(event, machine);
                }
                call
            }
            Arrival::Called(_) => None,
        };
        if let Some(call) = call
            && self
                .machine
                .native()
                .is_some_and(|own| own.made(call) && !own.is_open(call))
        {
            self.finished(call);
        }
        Ok(())
    }

    fn released(&mut self, object: u32, count: u64) -> Result<(), Fault> {
        let released = self.objects.release(object, count);
        released.map_err(|_| {
            let what = format!("a release of references to object {object} that were not sent");
            if let Some(machine) = self.machine.native() {
                machine.fail(Code::InvalidArgument, &what);
            }
            what.into()
        })
    }

    /// This end has no longer so many references to an object.
    pub(crate) fn release(&mut self, object: u32, count: u64) {
        if count > 0 && self.broken.is_none() {
            self.machine.release(object, count);
            self.transmit();
        }
    }

    /// A call with streams is over.
    fn finished(&mut self, call: u32) {
        self.open -= usize::from(self.streams.finished(call));
    }

    /// The connection as streams use it; `None` where its wire has none.
    pub(crate) fn native(&mut self) -> Option<(&mut Connection, &mut Inboxes, &mut Vec<u8>)> {
        Some((self.machine.native()?, &mut self.streams, &mut self.out))
    }

    /// The machine of Dovetail's own wire.
    pub(crate) fn machine(&mut self) -> Option<&mut Connection> {
        self.machine.native()
    }

    /// The machine of msgpack-rpc.
    pub(crate) fn rpc(&mut self) -> Option<&mut msgpack_rpc::Connection> {
        self.machine.rpc()
    }

    /// Returns the next event on the stream of a call; see [`Inboxes::next`].
    pub(crate) fn next(&mut self, call: u32, waiter: &Waker) -> Option<Next> {
        let next = match self.machine.native() {
            Some(machine) => self.streams.next(call, machine, waiter),
            None => None,
        };
        self.transmit();
        next
    }

    /// The machine of Cap'n Proto's protocol.
    pub(crate) fn capnp(&mut self) -> Option<&mut capnp::Peer> {
        self.machine.capnp()
    }

    /// Moves what the machine has to say behind these bytes, which leave on their own. Queues it
    /// where the order of messages counts: once this end has called, or objects have been passed.
    /// Returns whether there is anything in the queue.
    pub(crate) fn transmit_beside(&mut self, out: &mut Vec<u8>) -> bool {
        let only_answers = self.capnp().is_some_and(|machine| machine.only_answers());
        match only_answers && self.out.is_empty() && !self.objects.were_passed() {
            true => self.machine.transmit(out),
            false => self.transmit(),
        }
        !self.out.is_empty()
    }

    /// Queues what the machine has to say.
    pub(crate) fn transmit(&mut self) {
        self.machine.transmit(&mut self.out);
    }

    /// A caller has lost interest in a call with streams, or a handler in its caller's items.
    pub(crate) fn leave(&mut self, call: u32) {
        let Some(machine) = self.machine.native() else {
            return;
        };
        if !machine.made(call) {
            self.streams.ignore(call, machine);
        } else if self.streams.finished(call) {
            self.open -= 1;
            machine.abandon(call);
            self.streams.fail(call, &given_up());
        }
        self.transmit();
    }

    /// Nobody has to do with a call with streams any longer.
    pub(crate) fn close(&mut self, call: u32) {
        self.leave(call);
        if let Some(machine) = self.machine.native() {
            self.streams.close(call, machine);
        }
        self.transmit();
    }

    fn deliver(&mut self, reply: Reply) {
        self.refused |= self.machine.native().is_none() && goes_down(&reply);
        if !self.passed.is_empty()
            && let Some(passed) = self.passed.remove(&reply.call)
            && let Err(status) = &reply.result
            && matches!(
                status.execution(),
                Execution::NotStarted | Execution::NotSent
            )
        {
            passed.undo();
        }
        let Some(entry) = self.calls.get_mut(&reply.call) else {
            return self.release_all(reply.caps.unwrap_or_default().numbers);
        };
        if entry.reply.is_some() {
            return;
        }
        self.open -= 1;
        if let Waiter::Caller(_) = &entry.waiter {
            let (mut unused, mut objects) = (Vec::new(), None);
            match (entry.read, reply.caps) {
                (None, caps) => unused = caps.unwrap_or_default().numbers,
                (Some(_), caps) => {
                    let lease = self.objects.lease();
                    let transfer = Transfer::new(self.objects.clone(), lease);
                    objects = Some(match caps {
                        None => Arc::new(transfer) as Arc<dyn ObjectNumbers>,
                        Some(caps) => Arc::new(ReceivedCaps::new(transfer, caps.numbers)),
                    });
                }
            }
            let result = reply.result;
            entry.reply = Some(result.map(|body| Answered { body, objects }));
            entry.wake(&mut self.wake_list);
            return self.release_all(unused);
        }
        if let Some(entry) = self.calls.remove(&reply.call) {
            self.deliver_late(reply, &entry);
        }
    }

    /// Gives back the references to those of these objects that are the other end's.
    fn release_all(&mut self, numbers: Vec<u64>) {
        for number in numbers {
            if let Some(Owner::Sender(number)) = owner(number) {
                self.release(number, 1);
            }
        }
    }

    /// Takes in a reply of which nobody takes the value but the objects: the first one may be a
    /// promised one.
    fn deliver_late(&mut self, reply: Reply, entry: &Entry) {
        let (outcome, (first, mut numbers)) = match (reply.result, entry.read, reply.caps) {
            (result, _, Some(caps)) => (result.map(drop), caps.split()),
            (Ok(body), Some(read), None) => {
                let collected = Arc::new(Collected::default());
                let objects = Some(collected.clone() as _);
                let outcome = read(entry.name, Answered { body, objects }, self.limits);
                let numbers = collected.take();
                let promised = (!numbers.is_empty()).then_some(0);
                (outcome, Caps { numbers, promised }.split())
            }
            (result, ..) => (result.map(drop), (None, Vec::new())),
        };
        if let Waiter::Promise(slot) = &entry.waiter {
            let object = outcome.and_then(|()| promised(entry.name, first));
            let mut state = slot.lock();
            match (&*state, object) {
                (RemoteState::Promised(_), Ok(number)) => {
                    *state = RemoteState::Here { number, count: 1 };
                }
                (RemoteState::Promised(_), Err(why)) => {
                    let why = why.with_execution(Execution::NotStarted);
                    *state = RemoteState::Failed(why);
                }
                _ => numbers.extend(first),
            }
            drop(state);
            if let Some(machine) = self.machine.native() {
                // From now on it is called by its number.
                machine.forget(reply.call as u32);
            }
        } else {
            numbers.extend(first);
        }
        self.release_all(numbers);
        self.transmit();
    }

    /// Takes the reply to a call, where it has come; a caller asks until it has it.
    pub(crate) fn take(&mut self, call: u64) -> Option<Result<Answered, Status>> {
        match self.calls.entry(call) {
            hash_map::Entry::Occupied(entry) if entry.get().reply.is_some() => entry.remove().reply,
            _ => None,
        }
    }

    /// Returns the waiter of a call; `None` where nobody waits.
    #[cfg(feature = "async")]
    pub(crate) fn waiter(&mut self, call: u64) -> Option<&mut Waker> {
        match &mut self.calls.get_mut(&call)?.waiter {
            Waiter::Caller(waiter) => Some(waiter),
            _ => None,
        }
    }

    /// How much to receive next.
    pub(crate) fn needs(&self) -> usize {
        self.machine.needs()
    }

    /// The caller is gone; a late reply is dropped. Of one that has come, what is to be dropped
    /// where nothing is locked.
    pub(crate) fn abandon(&mut self, call: u64) -> Option<Arc<dyn ObjectNumbers>> {
        let mut entry = self.calls.remove(&call)?;
        match entry.reply.take() {
            Some(Ok(Answered { body, objects })) => {
                let result = Ok(body);
                // The table of objects gives back its own.
                let caps = self.machine.capnp().map(|_| Caps::default());
                self.deliver_late(Reply { call, result, caps }, &entry);
                return objects;
            }
            Some(Err(_)) => return None,
            None if entry.read.is_some() => {
                self.cancel(call, entry);
                return None;
            }
            None => self.open -= 1,
        }
        self.machine.abandon(call);
        self.transmit();
        if self.machine.exclusive() {
            // Nobody else can use the connection before an answer comes that nobody waits for.
            self.broken.get_or_insert_with(|| {
                Status::new(
                    Code::Unavailable,
                    "the connection belonged to a call that was given up",
                )
            });
        }
        None
    }

    /// The caller is gone; a late reply may bring objects.
    fn cancel(&mut self, call: u64, mut entry: Entry) {
        if let Some(machine) = self.machine.native() {
            machine.cancel(call as u32);
            entry.waiter = Waiter::Nobody;
            self.calls.insert(call, entry);
            self.transmit();
        } else {
            self.open -= 1;
            self.machine.abandon(call);
        }
    }

    /// No further call can be sent. Those that have been may still be answered, or the peer may
    /// have said that it did not start them: whoever receives finds out.
    pub(crate) fn cut(&mut self, why: &Status) {
        self.broken.get_or_insert_with(|| why.clone());
        self.out.clear();
        let unsent = |entry: &Entry| entry.queued == self.taken && entry.reply.is_none();
        let unsent: Vec<u64> = self
            .calls
            .iter()
            .filter_map(|(call, entry)| unsent(entry).then_some(*call))
            .collect();
        for call in unsent {
            let result = Err(why.clone().with_execution(Execution::NotSent));
            let caps = None;
            self.deliver(Reply { call, result, caps });
        }
    }

    /// Gives the connection up; the callers that still wait get the reason.
    pub(crate) fn fail(&mut self, why: &Status) {
        self.cut(why);
        self.passed.clear();
        self.calls.retain(|_, entry| {
            if entry.reply.is_none() {
                entry.reply = Some(Err(why.clone()));
                match &entry.waiter {
                    Waiter::Caller(_) => entry.wake(&mut self.wake_list),
                    Waiter::Promise(slot) => *slot.lock() = RemoteState::Failed(why.clone()),
                    Waiter::Notified | Waiter::Nobody => {}
                }
            }
            matches!(entry.waiter, Waiter::Notified)
        });
        self.streams.fail_all(why);
        self.open = 0;
    }

    /// Why the connection is no longer used; also where the server said that it takes no further
    /// call.
    pub(crate) fn broken(&self) -> bool {
        self.broken.is_some() || (self.closing() && self.open == 0)
    }

    /// Returns whether the server takes no further call on this connection.
    fn closing(&self) -> bool {
        self.refused || self.machine.closing()
    }

    /// Wakes those who wait for something: one of them, or all.
    pub(crate) fn wake(&mut self, all: bool) {
        let callers = self.calls.values().filter_map(Entry::caller);
        let waiting = callers.chain(self.streams.waiting());
        let most = if all { usize::MAX } else { 1 };
        let waiting = waiting.take(most).cloned();
        waiting.for_each(|waker| self.wake_list.push(waker));
    }

    /// Returns whether several callers wait for replies.
    #[cfg(feature = "async")]
    pub(crate) fn crowded(&self) -> bool {
        self.open > 1
    }

    pub(crate) fn idle(&self) -> bool {
        self.open == 0
    }
}

/// Returns whether a server refuses a call because it goes down. Its own wire says that in a frame
/// of its own.
fn goes_down(reply: &Reply) -> bool {
    reply.result.as_ref().is_err_and(|status| {
        status.code() == Code::Unavailable && status.execution() == Execution::NotStarted
    })
}

/// The object that a call was to return: its number.
fn promised(method: &str, first: Option<u64>) -> Result<u32, Status> {
    match first.and_then(owner) {
        Some(Owner::Sender(number)) => Ok(number),
        _ => {
            let what = format!("`{method}` returned no object of the other end's");
            Err(Status::new(Code::FailedPrecondition, what))
        }
    }
}
