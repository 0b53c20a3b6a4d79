//! The messages of a request, within what those of all requests of a connection may cost.

use super::head::refused;
use crate::grpc::{Broken, Messages};
use crate::peer::share::{Charge, Share};
use crate::server::http::no_single_message;
use crate::web::Plain;
use crate::{Code, Status};
use bytes::{Bytes, BytesMut};
use dovetail_protocol::Execution;
use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Messages that arrive on the streams of one connection at the same time: so many of the largest.
const LARGEST_AT_A_TIME: usize = 4;

/// The messages of a request.
pub(super) struct Request<'a> {
    messages: Messages,
    /// Bytes that a message may have.
    most: usize,
    arriving: Arriving<'a>,
    /// Bytes of messages that have been taken, and not handed on.
    taken: usize,
    charge: Charge,
}

/// Why a call is over before there is an answer.
pub(super) enum Stop {
    Refused(Status),
    /// Its caller has gone, or the connection.
    Gone,
}

impl From<Status> for Stop {
    fn from(status: Status) -> Self {
        Stop::Refused(status)
    }
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Http(_) => Stop::Gone,
            Broken::Message(why) => Stop::Refused(why),
        }
    }
}

impl<'a> Request<'a> {
    /// `all` are the bytes of messages that have arrived in part, on all streams of the connection;
    /// what is held is charged to `share`.
    pub(super) fn new(
        messages: Messages,
        most: usize,
        all: &'a Cell<usize>,
        share: Option<&Arc<Share>>,
    ) -> Self {
        Request {
            messages,
            most,
            arriving: Arriving {
                all,
                mine: 0,
                most: most.saturating_mul(LARGEST_AT_A_TIME),
            },
            taken: 0,
            charge: Charge::new(share),
        }
    }

    /// See [`Messages::poll_next`].
    pub(super) fn poll_next(
        &mut self,
        waiting: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Plain>, Stop>> {
        let polled = self.messages.poll_next(waiting, context);
        let partial = self.messages.partial();
        self.arriving.set(partial)?;
        self.hold(partial + waiting)?;
        polled.map_err(Stop::from)
    }

    async fn next(&mut self) -> Result<Option<Plain>, Stop> {
        let next = poll_fn(|context| self.poll_next(0, context)).await?;
        if let Some(Plain { message, .. }) = &next {
            self.taken += message.len();
            self.hold(0)?;
        }
        Ok(next)
    }

    /// Charges the client for what is held of the request.
    fn hold(&mut self, bytes: usize) -> Result<(), Status> {
        let held = self.charge.follow(self.taken + bytes);
        held.map_err(|over| {
            self.charge.refused();
            Status::from(over).with_execution(Execution::NotStarted)
        })
    }

    /// The message of a request that has one.
    pub(super) async fn single(&mut self) -> Result<Plain, Stop> {
        let message = self.next().await?;
        let message = message.ok_or_else(|| no_single_message(true))?;
        match self.next().await? {
            None => Ok(message),
            Some(_) => Err(no_single_message(false).into()),
        }
    }

    /// The first message, where there is one.
    pub(super) async fn first(&mut self) -> Result<Plain, Stop> {
        Ok(self.next().await?.unwrap_or_default())
    }

    /// All that comes, where it is one message without a prefix.
    pub(super) async fn body(&mut self) -> Result<Bytes, Stop> {
        let mut body = BytesMut::new();
        while let Some(piece) = poll_fn(|context| self.messages.poll_piece(context)).await? {
            let length = body.len() + piece.len();
            self.arriving.set(length)?;
            self.hold(length)?;
            if length > self.most {
                let what = format!("a message of more than {} bytes", self.most);
                return Err(refused(Code::ResourceExhausted, what).into());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }
}

/// Bytes of a message that has arrived in part.
struct Arriving<'a> {
    all: &'a Cell<usize>,
    mine: usize,
    most: usize,
}

impl Arriving<'_> {
    /// As many as there are now. A client that sends many large messages at once, and ends none, is
    /// told so.
    fn set(&mut self, bytes: usize) -> Result<(), Status> {
        self.all
            .set((self.all.get() + bytes).saturating_sub(self.mine));
        self.mine = bytes;
        let most = self.most;
        match self.all.get() > most && bytes > 0 {
            true => {
                let what = format!("messages of more than {most} bytes arrive at the same time");
                Err(refused(Code::ResourceExhausted, what))
            }
            false => Ok(()),
        }
    }
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        self.all.set(self.all.get().saturating_sub(self.mine));
    }
}
