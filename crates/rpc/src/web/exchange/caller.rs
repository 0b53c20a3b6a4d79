//! A call with streams at its caller, over HTTP/2.

use super::super::Style;
use super::super::message::exception_field;
use super::{Exchange, ExchangeEnd, ExchangeState};
use crate::Status;
use crate::grpc::no_single_message;
use crate::method::Method;
use crate::peer::streams::{Body, ended};
use bytes::Bytes;
use dovetail_protocol::Failure;
use dovetail_wire::{Encoding, Limits};
use std::sync::{Arc, Mutex};

impl Exchange {
    /// At the caller. `result` where the server's items come behind a result: the types say so.
    pub(crate) fn at_caller(
        method: &'static Method,
        decoding: Limits,
        encoding: Limits,
        style: Style,
        result: bool,
    ) -> Arc<Self> {
        let state = ExchangeState {
            result,
            ..ExchangeState::default()
        };
        Arc::new(Exchange {
            method,
            decoding,
            encoding,
            style,
            end: ExchangeEnd::Caller,
            state: Mutex::new(state),
        })
    }

    /// Queues a message.
    pub(crate) fn queue(&self, message: Bytes) {
        self.push(&mut self.lock(), message);
    }

    /// The answer begins: it is no failure.
    pub(crate) fn answer_begins(&self) {
        let mut state = self.lock();
        let first = !std::mem::replace(&mut state.begun, true);
        if first && self.method.kind.server_streams() && !state.result {
            state.answer(Ok(nothing()));
        }
    }

    /// The answer of a server that sends no stream.
    fn single(&self, state: &mut ExchangeState) -> Result<Body, Status> {
        match (state.last.take(), state.messages) {
            (Some(message), 1) => Ok(self.style.form(Some(self.method)).body(message)),
            (_, messages) => Err(no_single_message(messages)),
        }
    }

    /// The server has said how the call ended.
    pub(crate) fn callee_ends(&self, outcome: Result<(), Failure>) {
        let mut state = self.lock();
        match outcome {
            Ok(()) => {
                if !state.answered {
                    let answer = self.single(&mut state);
                    state.answer(answer);
                }
                state.inbox.end(Ok(None));
            }
            Err(Failure { status, details }) => {
                let of_call = exception_field(&self.method.exceptions(), &details);
                let of_stream = || exception_field(&self.method.stream_exceptions(), &details);
                match (state.answered, of_call) {
                    (false, Some(exception)) => {
                        state.answer(Ok((Encoding::Protobuf, exception)));
                    }
                    (answered, _) => match of_stream() {
                        Some(exception) if answered || !state.result => {
                            if !answered {
                                state.answer(Ok(nothing()));
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

    /// The method, for display.
    pub(crate) fn method(&self) -> &'static str {
        self.method.name
    }

    /// Returns whether the call is over, whoever ended it.
    pub(crate) fn is_left(&self) -> bool {
        !self.lock().inbox.is_open()
    }
}

/// The reply without a result.
fn nothing() -> Body {
    (Encoding::Protobuf, Bytes::new())
}
