//! The task of a connection that an async channel has made: it sends what all callers have queued
//! in one piece, and hands out what comes.

use super::failures::{lost, misbehaved};
use super::options::Options;
use crate::dispatch::CallTasks;
use crate::peer::link::{Link, Queued};
use crate::peer::table::Table;
use crate::transport::{AsyncSocket, Polling, SpinPolicy};
use crate::{Address, Status, buffers};
use bytes::BytesMut;
use std::io;
use std::sync::{Arc, Weak};
use tokio::task::yield_now;

/// Connects, and starts the task. `target` is the server, for display.
pub(super) async fn connect(
    address: &Address,
    target: String,
    options: &Options,
) -> io::Result<Arc<Link>> {
    let socket = match &options.process {
        Some(process) => AsyncSocket::Process(process.open_for_test()?),
        None => options.secure(AsyncSocket::connect(address).await?).await?,
    };
    let queued = Arc::new(Queued::default());
    let table = Table::new(&options.peer(), socket.ports());
    let link = Link::new(
        target,
        table,
        options.decoding,
        queued.clone(),
        options.around(),
    );
    let task = Task {
        socket,
        link: Arc::downgrade(&link),
        queued,
        calls: CallTasks::new(options.local.clone()),
        out: Vec::new(),
        sent: 0,
        mute: false,
        spin_policy: SpinPolicy::new(options.polling),
    };
    tokio::spawn(task.run());
    Ok(link)
}

struct Task {
    socket: AsyncSocket,
    link: Weak<Link>,
    queued: Arc<Queued>,
    /// The server's calls.
    calls: CallTasks,
    /// The bytes that are being sent. The buffer takes turns with the one of the table.
    out: Vec<u8>,
    sent: usize,
    /// Nothing can be sent any longer. What the server had to say before is still to be received.
    mute: bool,
    spin_policy: SpinPolicy,
}

/// An event that a connection waits for.
enum TaskEvent {
    /// Something is queued to be sent, or nobody uses the connection any longer.
    Queued,
    Sent(io::Result<usize>),
    Received(io::Result<usize>),
}

impl Task {
    /// Ends when the connection is lost, or when no channel holds it any longer.
    async fn run(mut self) {
        let mut input = BytesMut::new();
        loop {
            let (needs, waits) = match self.link.upgrade() {
                Some(link) => {
                    let table = link.lock();
                    (table.needs(), !table.idle())
                }
                None => return,
            };
            let event = self.wait(&mut input, needs, waits).await;
            let Some(link) = self.link.upgrade() else {
                return;
            };
            match event {
                TaskEvent::Queued => self.send(&link).await,
                TaskEvent::Sent(sent) => self.sent(sent, &link),
                TaskEvent::Received(received) => {
                    if let Err(why) = self.take_in(received, &mut input, &link) {
                        link.give_up(&why);
                        return link.turn.notify_waiters();
                    }
                    link.turn.notify_waiters();
                }
            }
        }
    }

    /// Receives, polling only where somebody waits for an answer, and sends at the same time.
    async fn wait(&mut self, input: &mut BytesMut, needs: usize, waits: bool) -> TaskEvent {
        let mut idle = SpinPolicy::new(Polling::Never);
        let spin_policy = match waits {
            true => &mut self.spin_policy,
            false => &mut idle,
        };
        let rest = self.out.get(self.sent..).unwrap_or_default();
        tokio::select! {
            biased;
            () = self.queued.0.notified(), if rest.is_empty() && !self.mute => TaskEvent::Queued,
            sent = self.socket.send_some(rest), if !rest.is_empty() => TaskEvent::Sent(sent),
            received = self.socket.receive(input, needs, spin_policy) => TaskEvent::Received(received),
        }
    }

    /// Sends what is queued; what the socket does not take at once leaves while the task waits.
    async fn send(&mut self, link: &Link) {
        if link.lock().crowded() {
            // Whoever else is about to call comes along: tokio runs this task before them.
            yield_now().await;
        }
        let empty = std::mem::take(&mut self.out);
        self.out = link.lock().take_out(empty);
        if !self.out.is_empty() {
            let sent = self.socket.try_send(&self.out);
            self.sent(sent, link);
        }
    }

    fn sent(&mut self, sent: io::Result<usize>, link: &Link) {
        match sent {
            Ok(sent) => self.sent += sent,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => {
                link.lock().cut(&lost(&link.target, &e));
                self.mute = true;
            }
        }
        if self.mute || self.sent == self.out.len() {
            self.sent = 0;
            buffers::sent(&mut self.out);
        }
    }

    /// Takes in what was received: hands out replies, starts what the server calls.
    fn take_in(
        &self,
        received: io::Result<usize>,
        input: &mut BytesMut,
        link: &Arc<Link>,
    ) -> Result<(), Status> {
        let target = &link.target;
        match received {
            Ok(0) => Err(match link.lock().end(input) {
                Ok(()) => lost(target, &"the server closed it"),
                Err(fault) => lost(target, &fault),
            }),
            Ok(_) => {
                let received = link.receive(input, self.calls.directory(), None);
                for called in received.called {
                    self.calls.take_in(called, link);
                }
                received
                    .understood
                    .map_err(|fault| misbehaved(target, &fault))
            }
            Err(e) => Err(lost(target, &e)),
        }
    }
}
