//! A connection that any number of threads share, and that has none of its own.
//!
//! ```text
//!   caller ─ lock: encode, queue ─► is somebody sending?  yes: it takes mine along
//!                                                         no:  I send until the queue is empty
//!          ─ wait                ─► has the server called? yes: I run a handler, then look again
//!                                   is somebody reading?  yes: sleep until my reply is handed to me
//!                                                         no:  I read, hand out replies, then hand the
//!                                                              reading to another that waits
//! ```

use super::calls::Aside;
use crate::block_on::waker;
use crate::client::failures::{lost, misbehaved, too_late};
use crate::client::options::Options;
use crate::client::pool::Connected;
use crate::dispatch::Calls;
use crate::peer::answer::Answered;
use crate::peer::link::{Flush, Link};
use crate::peer::machine::Called;
use crate::peer::outgoing::{Outgoing, Queued};
use crate::peer::streams::{NativeCall, StreamCall};
use crate::peer::table::{Table, Usable};
use crate::transport::{Receiver, Stream, Wait};
use crate::{Code, Status, buffers};
use bytes::BytesMut;
use dovetail_protocol::Execution;
use dovetail_wire::Encode;
use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

/// A connection that nobody used for so long is looked at before it is trusted with a call.
const DOUBTFUL: Duration = Duration::from_secs(1);

/// How long a server that takes nothing is waited for before one looks again what it has sent.
const STUCK: Duration = Duration::from_millis(1);

/// A connection that any number of callers share. Each call takes a clone of it.
#[derive(Clone)]
pub(crate) struct BlockingConnection(Arc<Ends>);

/// The link of a connection, and its driver.
pub(crate) struct Ends {
    pub(super) link: Arc<Link>,
    pub(super) driver: Arc<Driver>,
}

/// Sends and receives on a connection: whichever caller is there does so.
pub(crate) struct Driver {
    stream: Arc<dyn Stream>,
    /// Locked before the table of the connection, where both are.
    roles: Mutex<Roles>,
    /// Somebody sends, until he finds nothing queued: it becomes false only where the table is
    /// locked.
    sending: AtomicBool,
    last_used: LastUsed,
    /// Taken by whoever reads.
    receiving: Mutex<Receiving>,
    /// Notified when a caller that waits for its turn may have it.
    turn: Condvar,
    /// Answers the server's calls.
    pub(super) calls: Calls,
    /// How long the server may take nothing of what is sent to it between calls.
    limits: Duration,
}

struct Receiving {
    receiver: Receiver,
    input: BytesMut,
    /// How much to receive next.
    needs: usize,
}

/// The roles of the callers.
pub(super) struct Roles {
    reading: bool,
    /// Callers that wait for their turn.
    queueing: usize,
    /// Those that sleep while another one reads.
    asleep: usize,
    /// The server's calls, for the next caller that waits.
    pub(super) called: VecDeque<Called>,
    /// Threads that run handlers. They may be those that wait for replies, too.
    pub(super) busy: usize,
    /// Handlers that wait, each on a thread.
    pub(super) aside: Vec<Aside>,
    /// There is a thread that waits as long as they do.
    pub(super) attended: bool,
}

/// When a connection was last used, to the millisecond.
struct LastUsed {
    made: Instant,
    since: AtomicU64,
}

impl LastUsed {
    fn now() -> Self {
        LastUsed {
            made: Instant::now(),
            since: AtomicU64::new(0),
        }
    }

    /// It is used now. How long ago it was used before.
    fn again(&self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.made).as_millis() as u64;
        let before = self.since.load(Ordering::Relaxed);
        if since != before {
            self.since.store(since, Ordering::Relaxed);
        }
        Duration::from_millis(since.saturating_sub(before))
    }
}

/// How long to receive.
#[derive(Clone, Copy)]
enum Until {
    /// Until nothing is left to read.
    Empty,
    Deadline(Instant),
}

/// The next step for a caller that waits.
enum Next {
    Serve(Called),
    Read,
    /// Somebody else reads.
    Sleep,
}

impl Driver {
    pub(super) fn roles(&self) -> MutexGuard<'_, Roles> {
        lock(&self.roles)
    }

    fn next(&self) -> Next {
        let mut roles = self.roles();
        match roles.called.pop_front() {
            Some(called) => Next::Serve(called),
            None if roles.reading => {
                roles.asleep += 1;
                Next::Sleep
            }
            None => {
                roles.reading = true;
                Next::Read
            }
        }
    }

    /// Returns whether the server has called something meanwhile.
    fn stop_reading(&self, link: &Link) -> bool {
        let mut roles = self.roles();
        roles.reading = false;
        let called = !roles.called.is_empty();
        self.wake_a_reader(link, roles);
        called
    }

    /// Somebody must read as long as somebody waits. Who is woken needs the roles, which are no
    /// longer locked then.
    fn wake_a_reader(&self, link: &Link, roles: MutexGuard<'_, Roles>) {
        if !roles.reading && roles.asleep > 0 {
            // A caller that is busy with a handler does not read.
            let all = roles.busy > 0 || !roles.called.is_empty();
            drop(roles);
            link.lock().wake(all);
        }
    }

    /// Sends these bytes, and whatever is queued meanwhile.
    fn send(&self, link: &Link, mut out: Vec<u8>, deadline: Instant) {
        loop {
            match self.send_all(link, &out, deadline) {
                Ok(()) => {}
                // Part of a message may have left: nothing can follow it.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    self.give_up(link, &lost(&link.target, &error));
                }
                Err(error) => link.lock().cut(&lost(&link.target, &error)),
            }
            buffers::sent(&mut out);
            let mut table = link.lock();
            if table.out.is_empty() || table.broken() {
                if table.out.capacity() == 0 {
                    table.out = out;
                }
                return self.sending.store(false, Ordering::Release);
            }
            out = table.take_out(out);
        }
    }

    /// Sends all of it, and reads where the server does not take it: it may wait until what it has
    /// sent itself is read.
    fn send_all(&self, link: &Link, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        let mut wait = Wait::Poll;
        while !bytes.is_empty() {
            match self.stream.send(bytes, wait) {
                Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::TimedOut && !left(deadline).is_zero() => {
                    self.look(link, Until::Empty);
                }
                Err(e) => return Err(e),
            }
            if !bytes.is_empty() {
                wait = Wait::Until(Some(deadline.min(Instant::now() + STUCK)));
            }
        }
        Ok(())
    }

    /// Takes in what has come, where nobody reads.
    fn look(&self, link: &Link, until: Until) {
        if std::mem::replace(&mut self.roles().reading, true) {
            return;
        }
        while self.receive(link, until) {}
        self.stop_reading(link);
    }

    /// Receives once, for who has the reading; false where that is to be left now: the time is
    /// over, the connection has ended, or the server has called something.
    fn receive(&self, link: &Link, until: Until) -> bool {
        let mut receiving = lock(&self.receiving);
        let receiving = &mut *receiving;
        let (input, needs) = (&mut receiving.input, receiving.needs);
        let (stream, receiver) = (&*self.stream, &mut receiving.receiver);
        let received = match until {
            Until::Empty => receiver.take(stream, input, needs),
            Until::Deadline(deadline) => receiver.receive(stream, input, needs, || deadline),
        };
        let nothing = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock];
        let late = matches!(&received, Err(e) if nothing.contains(&e.kind()));
        let goes_on = !late && self.take_in(link, received, receiving, until);
        receiving.receiver.relax(&mut receiving.input);
        goes_on
    }

    fn give_up(&self, link: &Link, why: &Status) {
        link.give_up(why);
        self.end();
    }

    /// The connection has ended, and with it the handlers that wait.
    fn end(&self) {
        self.stream.shutdown();
        self.stop(|_| true);
    }

    /// Keeps what the server calls for whoever waits next. True where there is something.
    fn keep(&self, called: Vec<Called>) -> bool {
        let mut roles = self.roles();
        roles.called.extend(called);
        self.offer_turn(&roles);
        !roles.called.is_empty()
    }

    fn offer_turn(&self, roles: &Roles) {
        if roles.queueing > 0 {
            self.turn.notify_all();
        }
    }

    /// Takes in what was received. False where there is something else to do than to receive more.
    fn take_in(
        &self,
        link: &Link,
        received: io::Result<usize>,
        receiving: &mut Receiving,
        until: Until,
    ) -> bool {
        let (target, mut all) = (&link.target, Vec::new());
        let outcome = match received {
            Ok(0) => Err(match link.lock().end(&mut receiving.input) {
                Ok(()) => lost(target, &"the server closed it"),
                Err(error) => lost(target, &error),
            }),
            Ok(_) => {
                let services = self.calls.directory();
                let deadline = match until {
                    Until::Empty => None,
                    Until::Deadline(deadline) => Some(deadline),
                };
                let received = link.receive(&mut receiving.input, services, deadline);
                receiving.needs = received.needs;
                all = received.called;
                received
                    .understood
                    .map_err(|fault| misbehaved(target, &fault))
            }
            Err(error) => Err(lost(target, &error)),
        };
        let goes_on = outcome.is_ok();
        if let Err(why) = outcome {
            self.give_up(link, &why);
        }
        goes_on & !self.keep(all)
    }
}

impl Flush for Driver {
    fn take(&self, table: &mut Table) -> Vec<u8> {
        // A thread that sends already takes the queue along.
        match table.broken() || self.sending.swap(true, Ordering::AcqRel) {
            true => Vec::new(),
            false => table.take_out(Vec::new()),
        }
    }

    fn flush(&self, link: &Link, taken: Vec<u8>, deadline: Option<Instant>) {
        if !taken.is_empty() {
            let deadline = deadline.unwrap_or_else(|| Instant::now() + self.limits);
            self.send(link, taken, deadline);
        }
    }

    fn parted(&self, link: &Link) {
        let roles = self.roles();
        self.offer_turn(&roles);
        self.wake_a_reader(link, roles);
        // The server may not hear of it before there is room for what it has sent.
        self.look(link, Until::Empty);
    }

    fn released(&self) {
        self.end();
    }
}

impl Deref for BlockingConnection {
    type Target = Ends;

    fn deref(&self) -> &Ends {
        &self.0
    }
}

impl Connected for BlockingConnection {
    fn usable(&self) -> Usable {
        self.link.lock().usable()
    }

    fn gives_way(&self, there: &Self) -> bool {
        Arc::ptr_eq(&self.link, &there.link) && self.link.lock().give_way()
    }
}

impl BlockingConnection {
    pub(super) fn new(stream: Arc<dyn Stream>, target: String, options: &Options) -> Self {
        let table = Table::new(&options.peer(), stream.ports());
        let driver = Arc::new(Driver {
            stream,
            sending: AtomicBool::new(false),
            last_used: LastUsed::now(),
            roles: Mutex::new(Roles {
                reading: false,
                queueing: 0,
                asleep: 0,
                called: VecDeque::new(),
                busy: 0,
                aside: Vec::new(),
                attended: false,
            }),
            receiving: Mutex::new(Receiving {
                receiver: Receiver::new(options.polling),
                input: BytesMut::new(),
                needs: table.needs(),
            }),
            turn: Condvar::new(),
            calls: Calls::new(options.local.clone(), true),
            limits: options.timeout,
        });
        let link = Link::new(
            target,
            table,
            options.decoding,
            driver.clone(),
            options.around(),
        );
        Self::of_ends(link, driver)
    }

    pub(super) fn of_ends(link: Arc<Link>, driver: Arc<Driver>) -> Self {
        BlockingConnection(Arc::new(Ends { link, driver }))
    }

    /// The connection with this link, where a blocking client has made it.
    pub(crate) fn of(link: &Arc<Link>) -> Option<Self> {
        let driver = link.driver().downcast().ok()?;
        Some(Self::of_ends(link.clone(), driver))
    }

    /// Whether it is to be trusted with a call: asks the socket where it was idle for long.
    pub(super) fn is_alive(&self, now: Instant) -> bool {
        if self.driver.last_used.again(now) <= DOUBTFUL || !self.is_idle() {
            return true;
        }
        // More than what is there, which does not show that the other process is gone.
        self.driver.look(&self.link, Until::Deadline(now));
        !self.link.lock().broken()
    }

    /// Returns whether nobody waits for anything.
    fn is_idle(&self) -> bool {
        !self.driver.roles().reading && self.link.lock().idle()
    }

    /// Sends a call whose answer somebody else takes in.
    pub(super) fn queue(
        &self,
        call: &Outgoing<'_, impl Encode>,
        deadline: Instant,
    ) -> Result<Option<Queued>, Status> {
        self.link
            .with_until(Some(deadline), |table| table.call(call, waker))
    }

    /// Begins a call with streams, which as a whole has to end before `until`.
    pub(super) fn open(
        &self,
        call: &Outgoing<'_, impl Encode>,
        deadline: Instant,
        until: Option<Instant>,
    ) -> Result<StreamCall, Status> {
        let name = call.method.map_or("", |method| method.name);
        let compress = call.compress;
        match self.queue(call, deadline)? {
            // It was a number of 32 bits when it was given.
            Some(Queued(Some(number))) => {
                let call = NativeCall::new(self.link.clone(), number as u32);
                let mut call = StreamCall::native(call.until(until), name);
                call.compress(compress);
                Ok(call)
            }
            _ => Err(Status::new(Code::Internal, "a call without an answer")),
        }
    }

    /// Sends a call and waits for its answer; `None` for a one-way call that has none.
    pub(super) fn call(
        &self,
        call: &Outgoing<'_, impl Encode>,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<Option<Answered>, Status> {
        let queued = loop {
            match self.queue(call, deadline)? {
                Some(Queued(queued)) => break queued,
                None => self.wait_for_turn(call.name, timeout, deadline)?,
            }
        };
        let Some(number) = queued else {
            return match self.link.lock().broken() {
                true => Err(lost(&self.link.target, &"it broke while the call was sent")),
                false => Ok(None),
            };
        };
        let take = |_: &Context<'_>| match self.link.lock().take(number) {
            Some(reply) => Poll::Ready(reply),
            None => Poll::Pending,
        };
        match self.wait_for(deadline, take) {
            Some(reply) => reply.map(Some),
            None => {
                // The server is told, where the wire has a word for it.
                drop(self.link.part(|table| table.abandon(number)));
                Err(too_late(call.name, timeout, Execution::MayHaveRun))
            }
        }
    }

    /// Waits until other calls are answered on a connection that takes one at a time.
    fn wait_for_turn(
        &self,
        method: &str,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<(), Status> {
        let mut roles = self.driver.roles();
        roles.queueing += 1;
        let waited = self
            .driver
            .turn
            .wait_timeout_while(roles, left(deadline), |_| !self.link.lock().turn());
        let (mut roles, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        roles.queueing -= 1;
        match waited.timed_out() {
            true => Err(too_late(method, timeout, Execution::NotSent)),
            false => Ok(()),
        }
    }

    /// Waits for something that whoever reads finds, reading where nobody else does, and running
    /// what the server calls; `None` where the time is over. `poll` leaves a waker where it is
    /// worth to look again.
    pub(super) fn wait<R>(
        &self,
        deadline: Instant,
        mut poll: impl FnMut(&Context<'_>) -> Poll<R>,
    ) -> Option<R> {
        match poll(&Context::from_waker(&waker())) {
            Poll::Ready(found) => Some(found),
            Poll::Pending => self.wait_for(deadline, poll),
        }
    }

    /// Waits for something that is hardly there already.
    fn wait_for<R>(
        &self,
        deadline: Instant,
        mut poll: impl FnMut(&Context<'_>) -> Poll<R>,
    ) -> Option<R> {
        let waker = waker();
        let context = Context::from_waker(&waker);
        loop {
            match self.driver.next() {
                Next::Serve(called) => self.serve(called),
                Next::Sleep => {
                    thread::park_timeout(left(deadline));
                    self.driver.roles().asleep -= 1;
                }
                Next::Read => {
                    if let Some(found) = self.read(deadline, &context, &mut poll) {
                        return Some(found);
                    }
                }
            }
            let late = left(deadline).is_zero();
            match poll(&context) {
                Poll::Ready(found) => return Some(found),
                Poll::Pending if late => return None,
                Poll::Pending => {}
            }
        }
    }

    /// Reads for all, until this caller has what it waits for or no time left; then another one
    /// reads. What the server has called before comes first.
    fn read<R>(
        &self,
        deadline: Instant,
        context: &Context<'_>,
        poll: &mut impl FnMut(&Context<'_>) -> Poll<R>,
    ) -> Option<R> {
        let found = loop {
            // Also before the first time: whoever read before may have found it meanwhile.
            if let Poll::Ready(found) = poll(context) {
                break Some(found);
            }
            if !self.driver.receive(&self.link, Until::Deadline(deadline)) {
                break None;
            }
        };
        if self.driver.stop_reading(&self.link) {
            self.serve_all();
        }
        found
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
