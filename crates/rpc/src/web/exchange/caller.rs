//! A call with streams at its caller, over gRPC.

use super::super::message::{exception_field, reply_of};
use super::super::{Protocol, Style};
use super::{End, Exchange, State};
use crate::streams::ended;
use crate::{Code, Method, Status};
use bytes::Bytes;
use dovetail_protocol::grpc::Coding;
use dovetail_protocol::{Codec, Failure};
use dovetail_wire::{Encoding, Limits};
use std::sync::{Arc, Mutex};

impl Exchange {
    /// At the caller. `result` where the server's items come behind a result: the types say so.
    pub(crate) fn at_caller(
        method: &'static Method,
        decoding: Limits,
        encoding: Limits,
        (coding, packs): (Option<Coding>, bool),
        result: bool,
    ) -> Arc<Self> {
        let state = State {
            result,
            ..State::default()
        };
        Arc::new(Exchange {
            method,
            decoding,
            encoding,
            style: Style {
                protocol: Protocol::Grpc,
                codec: Codec::Proto,
                coding,
                packs,
            },
            end: End::Caller,
            state: Mutex::new(state),
        })
    }

    /// Queues a message.
    pub(crate) fn queue(&self, message: Bytes) {
        self.push(&mut self.lock(), message);
    }

    /// The headers of the answer have come.
    pub(crate) fn answer_begins(&self) {
        let mut state = self.lock();
        state.begun = true;
        if self.method.kind.server_streams() && !state.result {
            state.answer(Ok(Bytes::new()));
        }
    }

    /// The server has said how the call ended.
    pub(crate) fn callee_ends(&self, outcome: Result<(), Failure>) {
        let mut state = self.lock();
        match outcome {
            Ok(()) => {
                if !state.answered {
                    let last = state.last.take().ok_or_else(no_message);
                    let answer = last.map(|message| reply_of(message, Some(self.method)));
                    state.answer(answer);
                }
                state.inbox.end(Ok(None));
            }
            Err(Failure { status, details }) => {
                let of_call = exception_field(&self.method.exceptions(), &details);
                let of_stream = || exception_field(&self.method.stream_exceptions(), &details);
                match (state.answered, of_call) {
                    (false, Some(exception)) => state.answer(Ok(exception)),
                    (answered, _) => match of_stream() {
                        Some(exception) if answered || !state.result => {
                            if !answered {
                                state.answer(Ok(Bytes::new()));
                            }
                            let end = Some((Encoding::Protobuf, exception));
                            state.inbox.end(Ok(end));
                        }
                        _ if answered => state.inbox.end(Err(status.with_details(details))),
                        _ => state.answer(Err(status.with_details(details))),
                    },
                }
            }
        }
        state.inbox.fail(&ended());
    }

    /// The method, for people.
    pub(crate) fn method(&self) -> &'static str {
        self.method.name
    }

    /// True where the call is over, whoever ended it.
    pub(crate) fn is_left(&self) -> bool {
        !self.lock().inbox.is_open()
    }
}

#[cold]
fn no_message() -> Status {
    crate::grpc::misbehaved(Code::Internal, &"no message")
}
