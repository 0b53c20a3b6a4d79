//! The messages that come on a stream of HTTP/2.

use crate::web::{Plain, plain};
use crate::{Code, Status};
use bytes::Bytes;
use dovetail_protocol::envelope::{Assembler, FrameError};
use dovetail_protocol::grpc::{InvalidText, Text};
use dovetail_protocol::{ConnectionLimits, Execution};
use h2::RecvStream;
use http::HeaderMap;
use std::task::{Context, Poll, ready};

/// While so many bytes wait to be taken, no further message is: the credit is for what comes, which
/// may be far less than what it decompresses to.
const ENOUGH: usize = 1 << 20;

/// Takes messages off a stream, and gives its other end credit for more.
pub(crate) struct Messages {
    body: RecvStream,
    assembler: Assembler,
    coding: Option<Bytes>,
    /// The decoder where the body is base64.
    text: Option<Text>,
    limits: ConnectionLimits,
    /// The bytes that have come and are not looked at.
    piece: Bytes,
    /// Bytes that have come, and for which there is no new credit yet.
    held: usize,
    /// The message behind all others.
    end: Option<Bytes>,
}

/// Why there is no next message.
pub(crate) enum Broken {
    Http(h2::Error),
    /// The bytes are no message.
    Message(Status),
}

impl From<h2::Error> for Broken {
    fn from(error: h2::Error) -> Self {
        Broken::Http(error)
    }
}

impl From<Status> for Broken {
    fn from(status: Status) -> Self {
        Broken::Message(status)
    }
}

impl From<FrameError> for Broken {
    fn from(error: FrameError) -> Self {
        Status::from(error).into()
    }
}

impl From<InvalidText> for Broken {
    fn from(error: InvalidText) -> Self {
        let status = Status::new(Code::InvalidArgument, error.to_string());
        status.with_execution(Execution::NotStarted).into()
    }
}

impl Messages {
    /// Reads a body whose messages keep to these limits. Compressed ones are decompressed by
    /// `coding`.
    pub(crate) fn new(coding: Option<Bytes>, body: RecvStream, limits: ConnectionLimits) -> Self {
        Messages {
            body,
            assembler: Assembler::new(limits.message_bytes),
            coding,
            text: None,
            limits,
            piece: Bytes::new(),
            held: 0,
            end: None,
        }
    }

    /// Makes a reader of an answer, which a message with this flag ends.
    pub(crate) fn ending_with(self, flag: u8) -> Self {
        let assembler = self.assembler.ending_with(flag);
        Messages { assembler, ..self }
    }

    /// Makes a reader of a body that is base64.
    pub(crate) fn in_text(self) -> Self {
        let text = Some(Text::default());
        Messages { text, ..self }
    }

    /// The next message; `None` at the end. Of earlier ones so many bytes are still waiting to be
    /// taken: for those there is no credit yet, and where they are [`ENOUGH`], whoever takes them
    /// wakes the caller. What is incomplete waits for nobody, so that a message may be longer than
    /// the window.
    pub(crate) fn poll_next(
        &mut self,
        waiting: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Plain>, Broken>> {
        if waiting > ENOUGH {
            return Poll::Pending;
        }
        loop {
            if let Some(frame) = self.assembler.take(&mut self.piece)? {
                let end = frame.end;
                let message = plain(frame, self.coding.as_deref(), &self.limits)?;
                match (end, &self.end) {
                    (_, Some(_)) => return Poll::Ready(Err(behind_the_end().into())),
                    (true, None) => self.end = Some(message.message),
                    (false, None) => return Poll::Ready(Ok(Some(message))),
                }
                continue;
            }
            let taken = self.held.saturating_sub(waiting);
            // An error says that nobody waits for credit any longer.
            let _ = self.body.flow_control().release_capacity(taken);
            self.held -= taken;
            match ready!(self.body.poll_data(context)) {
                Some(piece) => {
                    let piece = piece?;
                    self.held += piece.len();
                    self.piece = match &mut self.text {
                        Some(text) => text.read(&piece)?,
                        None => piece,
                    };
                }
                None => {
                    self.text.as_ref().map_or(Ok(()), Text::end)?;
                    return Poll::Ready(Ok(self.assembler.end().map(|()| None)?));
                }
            }
        }
    }

    /// The next piece of a body that is no messages; `None` at the end.
    pub(crate) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, Broken>> {
        let Some(piece) = ready!(self.body.poll_data(context)).transpose()? else {
            return Poll::Ready(Ok(None));
        };
        // An error says that nobody waits for credit any longer.
        let _ = self.body.flow_control().release_capacity(piece.len());
        Poll::Ready(Ok(Some(piece)))
    }

    /// How many bytes are kept of a message that has come in part.
    pub(crate) fn partial(&self) -> usize {
        self.assembler.partial()
    }

    /// Takes the message behind all others, where there was one.
    pub(crate) fn take_end(&mut self) -> Option<Bytes> {
        self.end.take()
    }

    /// Returns the trailers behind the messages; nothing where they were the end.
    pub(crate) async fn trailers(&mut self) -> Result<HeaderMap, Broken> {
        Ok(self.body.trailers().await?.unwrap_or_default())
    }
}

#[cold]
fn behind_the_end() -> Status {
    let status = Status::new(Code::Internal, "a message behind the end of the answer");
    status.with_execution(Execution::MayHaveRun)
}
